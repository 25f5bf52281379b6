"""Traffic on the emulated network against what `dgraph.topology.simulate` says of it.

Every slot has a process that does nothing but send and receive bytes (``python -m
benchmarks.hierarchy.patterns node``), so what is seen is the network's, not an engine's. A
director in slot 0 names an instant, all start at it, and the last byte that arrives anywhere
ends a stage.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import statistics
import sys
import time
from typing import Any

import numpy as np

from benchmarks.hierarchy.netlab import Netlab
from dgraph.topology import Topology
from dgraph.topology.machine import Machine, Traffic
from dgraph.topology.simulate import simulate

__all__ = ["FORWARDED", "as_machine", "compare", "patterns"]

#: Pairs (source, target) and bytes of each: one stage.
Stage = list[tuple[int, int, int]]

_PEERS, _DIRECTOR = 6100, 6200

#: Seconds of the one process that all frames above level 0 pass, one after the other, before
#: links take them: its time on a core for 48 small frames and their acknowledgements, less that
#: for none, is 2.3 ms, half of it for acknowledgements, which come when the frames are there.
FORWARDED = 2.4e-5

#: Seconds between the word of the director and the start; runs of each pattern.
AHEAD, TURNS = 0.1, 5


def patterns(slots: int = 8) -> dict[str, list[Stage]]:
    """Return stages of traffic by name: what routings make of it, and what is hard."""
    half = slots // 2

    def everyone(size: int) -> Stage:
        return [(s, t, size) for s in range(slots) for t in range(slots) if s != t]

    gather = [(1, 0, 10**6), (3, 2, 10**6), (5, 4, 10**6), (7, 6, 10**6)]
    across = [(s, t, 10**6) for s in (0, 2, 4, 6) for t in (0, 2, 4, 6) if s != t]
    scatter = [(t, s, size) for s, t, size in gather]
    return {
        "one frame across": [[(0, half, 1000)]],
        "all to all, 1 kB": [everyone(1000)],
        "all to all, 100 kB": [everyone(100_000)],
        "all to all, 500 kB": [everyone(500_000)],
        "hot spot, 1 MB": [[(s, 0, 10**6) for s in range(1, slots)]],
        "rail across, 3 MB": [[(s, s + half, 3 * 10**6) for s in range(half)]],
        "monitor across, 8 MB": [[(0, half, 8 * 10**6), (half, 0, 8 * 10**6)]],
        "near pairs, 5 MB": [[(0, 2, 5 * 10**6), (1, 3, 5 * 10**6)]],
        "monitor, three stages": [gather, across, scatter],
    }


def as_machine(netlab: Netlab) -> Machine:
    """Return the network as a machine.

    What it does to frames and bytes beside what it was told to was measured. A forwarded packet
    takes 0.15 ms more than its latency, a bridge passes 220 MB/s, headers are 1.5 % of the
    bytes, and to send or receive a frame takes a process 0.1 ms. See also `FORWARDED`.
    """
    levels = len(netlab.latency)
    return Machine(
        latency=tuple(each + 1.5e-4 for each in netlab.latency),
        overhead=(1e-4,) * levels,
        copy=(1 / 220e6,) * levels,
        link=tuple(1.015 / rate if rate else 0.0 for rate in netlab.rate),
    )


def compare(netlab: Netlab, turns: int = TURNS) -> list[dict[str, Any]]:
    """Return for each pattern the seconds that are seen and those that are simulated.

    Their ratio is that to the fastest turn: neighbours on the cores only add.
    """
    wanted = patterns(netlab.slots)
    node = f"{sys.executable} -m benchmarks.hierarchy.patterns node"
    text = json.dumps([list(wanted.values()), turns])
    seen = netlab.run(["--at", "all", node], "benchmarks.hierarchy.patterns", "direct", text)
    tree = Topology.from_fanouts(netlab.fanouts[::-1])
    machine = as_machine(netlab)
    rows = []
    for (name, stages), times in zip(wanted.items(), seen, strict=True):
        simulated = simulate(
            tree, [Traffic.of(*np.array(stage).T) for stage in stages], machine
        )
        far = sum(
            int(tree.level(source, target)) > 0
            for stage in stages
            for source, target, _ in stage
        )
        seconds = simulated.seconds + far * FORWARDED
        rows.append(
            {
                "pattern": name,
                "median": statistics.median(times),
                "least": min(times),
                "simulated": seconds,
                "ratio": seconds / min(times),
            }
        )
    return rows


# What runs inside the network


class Node:
    """A process in a slot: connected to all others, it sends and receives as it is told."""

    def __init__(self) -> None:
        self.slot = int(os.environ["NETLAB_SLOT"])
        addresses = os.environ["NETLAB_ADDRESSES"].split(",")
        with socket.create_server(("0.0.0.0", _PEERS), backlog=64) as listener:
            self.to = {
                slot: self._dial(address, _PEERS)
                for slot, address in enumerate(addresses)
                if slot != self.slot
            }
            for out in self.to.values():
                out.sendall(bytes([self.slot]))
            self.come: dict[int, socket.socket] = {}
            for _ in self.to:
                come, _ = listener.accept()
                self.come[come.recv(1)[0]] = come
        for each in (*self.to.values(), *self.come.values()):
            each.setblocking(False)
        self.director = self._dial(addresses[0], _DIRECTOR).makefile("rw")

    @staticmethod
    def _dial(address: str, port: int) -> socket.socket:
        for _ in range(600):
            try:
                found = socket.create_connection((address, port))
            except OSError:
                time.sleep(0.05)
                continue
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return found
        raise TimeoutError(f"nobody listens at {address}:{port}")

    def serve(self) -> None:
        """Do stage after stage until the director is gone."""
        for line in self.director:
            start, rows = json.loads(line)
            self.director.write(f"{self.stage(start, rows)}\n")
            self.director.flush()

    def stage(self, start: float, rows: Stage) -> float:
        """Send and receive; return the instant at which the last byte came."""
        out = {self.to[t]: memoryview(bytes(size)) for s, t, size in rows if s == self.slot}
        due = {self.come[s]: size for s, t, size in rows if t == self.slot}
        room, last = bytearray(1 << 20), start
        while time.monotonic() < start:
            time.sleep(max(0.0, min(1e-3, start - time.monotonic())))
        with selectors.DefaultSelector() as selector:
            for each in out:
                selector.register(each, selectors.EVENT_WRITE)
            for each in due:
                selector.register(each, selectors.EVENT_READ)
            while out or due:
                for key, _ in selector.select():
                    peer: Any = key.fileobj
                    if peer in out:
                        out[peer] = out[peer][peer.send(out[peer]) :]
                        finished = not out[peer]
                    else:
                        due[peer] -= peer.recv_into(room, min(len(room), due[peer]))
                        finished, last = not due[peer], time.monotonic()
                    if finished:
                        (out if peer in out else due).pop(peer)
                        selector.unregister(peer)
        return last


def direct(text: str) -> list[list[float]]:
    """Let all nodes do each pattern so many times; return the seconds of each time."""
    wanted, turns = json.loads(text)
    with socket.create_server(("0.0.0.0", _DIRECTOR), backlog=64) as listener:
        count = len(os.environ["NETLAB_ADDRESSES"].split(","))
        nodes = [listener.accept()[0].makefile("rw") for _ in range(count)]
    found: list[list[float]] = [[] for _ in wanted]
    for turn in range(turns + 1):  # the first one only warms the connections
        for times, stages in zip(found, wanted, strict=True):
            seconds = sum(_direct_stage(nodes, stage) for stage in stages)
            times += [seconds] * (turn > 0)
    return found


def _direct_stage(nodes: list[Any], stage: Stage) -> float:
    start = time.monotonic() + AHEAD
    for node in nodes:
        node.write(json.dumps([start, stage]) + "\n")
        node.flush()
    return max(float(node.readline()) for node in nodes) - start


if __name__ == "__main__":
    if sys.argv[1] == "node":
        Node().serve()
    else:
        print(json.dumps(direct(sys.argv[2])))

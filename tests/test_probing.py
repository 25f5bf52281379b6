"""Links are probed: between processes, over doors, by the command, on an emulated network."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client

import dgraph as dg
from dgraph.cli import main
from dgraph.engine import doors
from dgraph.engine.launch import read_options
from dgraph.engine.socket_door import answer_socket, by_socket
from dgraph.errors import DgraphError
from dgraph.exchange.shelf import ShelfEnd
from dgraph.exchange.transport.meeting import listen
from dgraph.exchange.transport.shm import LONG
from dgraph.topology import CostModel, Probe, Topology
from dgraph.topology.probed import SIZES, WIRE
from tests import gangs
from tests.clusters import asynchronously, cluster
from tests.peers import watch_shelves

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.usefixtures("probes")


def with_slow_sockets(probe: Probe) -> Probe:
    """Return a probe in which comms are faster than Unix sockets."""
    slow = [
        replace(link, seconds=tuple(1.0 + time for time in link.seconds))
        if link.transport in ("shm", "unix")
        else link
        for link in probe.links
    ]
    return replace(probe, links=tuple(slow))


def test_a_probe_of_two_processes(probes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    edges = np.array([[1, 2], [2, 3]])
    with cluster(2, 2) as client:
        with (
            dask.config.set({"dgraph.cost": "probed"}),
            pytest.raises(FileNotFoundError, match=r"call dgraph.topology.probe"),
        ):
            dg.from_edges(edges, client=client)
        found = dg.topology.probe(client, seconds=0.02, sizes=SIZES[:7], out=out)
        levels = [(link.level, link.transport) for link in found.links]
        assert levels == [
            (0, "reference"), (1, "shm"), (1, "unix"), (1, "comm")
        ]  # fmt: skip
        for link in found.links:
            assert link.sizes[:2] == SIZES[:2]
            assert all(time > 0 for time in link.seconds)
            assert link.alpha > 0
        assert Probe.read(out) == found
        tree = Topology.discover(client)
        assert CostModel.of("probed", tree) == CostModel.from_probe(found)
        assert len(list(probes.iterdir())) == 1
        for cost in ("probed", str(out)):  # later runs reckon with it
            with (
                dask.config.set({"dgraph.cost": cost, "dgraph.routing": "auto"}),
                dg.from_edges(edges, client=client) as g,
            ):
                assert read_options(g.topology).cost == CostModel.from_probe(found)
                assert client.compute(dg.bfs(g, 1).distance.sum()).result() == 3
        with_slow_sockets(found).save(out)  # they take what is the fastest of what works
        members = gangs.members_of(client)
        for asked, transport, comms in (
            (str(out), "auto", 1),
            (str(out), "unix", 0),
            (None, "auto", 0),
        ):
            with dask.config.set({"dgraph.cost": asked, "dgraph.transport": transport}):
                assert gangs.run(client, members, gangs.comms).values == (comms,) * 4
        threads = client.run(lambda: [thread.name for thread in threading.enumerate()])
        assert all("dgraph-probe" not in names for names in threads.values())


def test_what_a_probe_cannot_do() -> None:
    for wrong in ({"sizes": (2, 4)}, {"sizes": (1,)}, {"seconds": 0}, {"topology": 3}):
        with pytest.raises(DgraphError):
            dg.topology.probe(None, **wrong)


def test_an_asynchronous_client_awaits() -> None:
    async def work(client: Client) -> Probe:
        found: Probe = await dg.topology.probe(client, seconds=0.01, keep=False)
        return found

    assert [link.transport for link in asynchronously(work).links] == ["reference"]


@pytest.mark.parametrize("token", [b"x" * doors.TOKEN, b"y" * doors.TOKEN])
def test_a_door_lets_in_who_shows_the_token(tmp_path: Path, token: bytes) -> None:
    path = tmp_path / "door"
    listener = listen(path)
    listener.settimeout(doors.PATIENCE)
    guard = threading.Thread(
        target=answer_socket, args=(listener, b"x" * doors.TOKEN, path, 60)
    )
    guard.start()
    data = memoryview(bytes(1 << 21))
    with doors._by_socket(os.fspath(path), token, data) as trip:
        if token.startswith(b"x"):
            assert trip(1) > 0
            assert trip(1 << 21) > 0
        else:
            with pytest.raises(ConnectionError):
                [trip(1) for _ in range(2)]
    guard.join()
    assert not path.exists()


def test_sizes_that_would_take_too_long_are_left_out() -> None:
    sizes, times = doors._clock(lambda size: 1e-3 * size, [1, 2, 4, 8, 1000, 2000], 0.05)
    assert sizes == [1, 2, 4, 8]
    assert times == pytest.approx([5e-4, 15e-4, 35e-4, 75e-4])


def test_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "hosts.csv"
    path.write_text("host,rack\na,r0\nb,r0\nc,r1\nd\n")

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["topology", *arguments])
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    code, out, err = run("show", str(path))
    assert code == 0
    assert "r0: a, b" in out
    assert "hosts.csv (csv): 4 slots, height 1" in out
    assert err == "dgraph: hosts.csv: d has no place: a domain of its own\n"
    path.write_text("host,rack\na,r0,x\n")
    assert run("show", str(path), "--format", "csv")[::2] == (
        2,
        "dgraph: hosts.csv, line 2: expected a host and 1 names, got 'a' and 2\n",
    )
    assert run("show", str(tmp_path / "nowhere"))[0] == 2


def test_the_command_line_on_a_cluster(tmp_path: Path) -> None:
    out = tmp_path / "probe.json"
    environment = {**os.environ, "DASK_DGRAPH__PROBES": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment.pop("DGRAPH_TOPOLOGY", None)

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "dgraph", "topology", *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "reference" in run("probe", "--threads", "2", "--seconds", "0.01", "--out", str(out))
    assert Probe.read(out).height == 0
    assert len(list(tmp_path.iterdir())) == 2
    assert run("show", "--threads", "2").startswith("one process: 2 slots")


DRIVER = """
import json, os
from distributed import Client
import dgraph as dg

hosts = "host,domain\\nw0,d0\\nw1,d1\\n"
with Client("tcp://10.199.1.1:8786") as client:
    client.wait_for_workers(2, timeout=100)
    found = dg.topology.probe(client, topology=hosts, keep=False, seconds=0.3)
    print("PROBE", json.dumps(found.to_dict()))
"""


def unusable(shared: Path) -> str | None:
    """Return why there can be no emulated network here."""
    path = shared / "netlab" / "netlab.py"
    if not path.exists():
        return f"needs {path}"
    spec = importlib.util.spec_from_file_location("netlab", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    reason: str | None = module.usable()
    return reason


def in_netlab(shared: Path, *words: str, **environment: str) -> str:
    """Run an emulated network to its end, which takes everything away again."""
    with subprocess.Popen(
        [sys.executable, str(shared / "netlab" / "netlab.py"), *words],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=200)
        finally:
            process.terminate()
    assert "driver.py" not in err, err
    if process.returncode:
        pytest.skip(f"the emulated network cannot be built here: {err[-200:]}")
    return out


@pytest.mark.slow
@pytest.mark.limit(240)
def test_a_probe_finds_what_an_emulated_network_was_set_to(
    shared: Path, tmp_path: Path
) -> None:
    """How near it comes is for a quiet machine; here it must not find another network."""
    if reason := unusable(shared):
        pytest.skip(f"the emulated network {reason}")
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER)
    command = f"{sys.executable} -m dask"
    scheduler = f"{command} scheduler --host {{address}} --port 8786 --no-dashboard"
    worker = (
        f"DGRAPH_HOST=w{{slot}} {command} worker tcp://{{address0}}:8786 --host {{address}} "
        "--nthreads 1 --no-nanny --no-dashboard"
    )
    out = in_netlab(
        shared,
        *("--tree", "2,1", "--latency", "0,20ms", "--rate", "0,10MB"),
        *("--at", "0", f"{scheduler} 2>/dev/null", "--at", "all", f"{worker} 2>/dev/null"),
        *("--", sys.executable, str(driver)),
        PYTHONPATH=str(ROOT),
    )
    (line,) = (each for each in out.splitlines() if each.startswith("PROBE"))
    found = Probe.from_dict(json.loads(line.removeprefix("PROBE")))
    network = found.network(3)
    assert network is not None
    assert network.transport == WIRE
    assert 0.02 <= network.alpha < 0.06  # a busy machine only adds
    assert 1e6 < 1 / network.beta < 5e7
    assert found.link(3, "comm").alpha >= 0.02
    assert np.argmax(found.costs(3)[0]) == 3


@pytest.mark.parametrize("can_open", [True, False])
def test_a_door_with_memory_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_open: bool
) -> None:
    taken = watch_shelves(monkeypatch)

    def open_(offer: Any) -> ShelfEnd:
        raise PermissionError

    if not can_open:
        monkeypatch.setattr(ShelfEnd, "open", open_)
    path, data = tmp_path / "door", memoryview(bytes(1 << 20))
    sizes = [1, LONG, 1 << 20, LONG, 7]
    listener = listen(path)
    listener.settimeout(doors.PATIENCE)
    guard = threading.Thread(target=answer_socket, args=(listener, b"x" * 32, path, 60))
    guard.start()
    with by_socket(os.fspath(path), b"x" * 32, data, 60, with_memory=True) as trip:
        assert all(trip(size) > 0 for size in sizes)
    guard.join(60)
    assert not guard.is_alive()
    assert taken == ([size for size in sizes if size >= LONG] if can_open else [])


def test_nothing_is_left_of_a_door_to_which_nobody_came(tmp_path: Path) -> None:
    path = tmp_path / "door"
    with closing(listen(path)) as listener:
        listener.settimeout(0.01)
        answer_socket(listener, b"", path, 60)
    assert not path.exists()

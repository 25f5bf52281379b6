"""Measure the links of a cluster: latency and rate by level and transport.

For each level of the topology one pair of slots is taken, and between their workers every
transport is measured that they could use, one after the other::

    client ──task──> worker B   opens a door: `dgraph.engine.doors`
           ──task──> worker A   sends 1 B to 16 MiB through it, each answered by one byte
           <─────── sizes, times ── fit ──> alpha, beta: `dgraph.topology.probed`
"""

from __future__ import annotations

import contextvars
import os
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from distributed import Client

from dgraph.clients import call, find_client
from dgraph.engine.discovery import Given, as_topology, settle
from dgraph.engine.doors import (
    COMM,
    MPI,
    PATIENCE,
    REFERENCE,
    SHM,
    TCP,
    TOKEN,
    UNIX,
    Times,
    hand_over,
    open_door,
    walk,
)
from dgraph.engine.members import find_members
from dgraph.engine.spec import Member
from dgraph.errors import OptionError
from dgraph.events import Note, notify
from dgraph.topology import Topology
from dgraph.topology.probed import SIZES, WIRE, Link, Probe, fit, keep

__all__ = ["pairs", "probe"]


def probe(
    client: Client | None = None,
    *,
    topology: Given = None,
    seconds: float = 1.0,
    sizes: Sequence[int] = SIZES,
    out: str | os.PathLike[str] | None = None,
    keep: bool = True,
) -> Any:
    """Measure latency and rate by level and transport.

    Parameters
    ----------
    client : distributed.Client, optional
        Default: the current one, else a cluster is started in this process and kept.
    topology : Topology, path or text, optional
        As in `from_edges`.
    seconds : float
        To spend on each level and transport, about. Sizes that would take longer are left out.
    sizes : sequence of int
        Bytes of messages, ascending from 1 on.
    out : path, optional
        Write the result there too, as JSON.
    keep : bool
        Keep it for later runs on these hosts, which use it with ``dgraph.cost: probed``.

    Returns
    -------
    dgraph.topology.Probe
        Shows as a table. An awaitable of it if the client is asynchronous.

    Examples
    --------
    >>> found = probe(seconds=0.01, keep=False)
    >>> [(link.level, link.transport) for link in found.links]
    [(0, 'reference')]
    """
    given = as_topology(topology)
    sizes = tuple(sizes)
    if len(sizes) < 2 or sizes[0] != 1 or list(sizes) != sorted(set(sizes)):
        raise OptionError(f"expected sizes that ascend from 1 on, got {list(sizes)}")
    if not 0 < seconds < PATIENCE:
        raise OptionError(f"seconds must be above 0 and below {PATIENCE:g}, not {seconds!r}")
    client = find_client(client)

    async def measure() -> Probe:
        members = await find_members(client)
        tree = settle(members, given)
        links = await _Prober(client, members, tree, sizes, seconds).links()
        hosts = tuple(sorted(set(tree.slot_names)))
        found = Probe(tree.height, hosts, tuple(links), tree.level_names)
        _store(found, out, keep)
        return found

    return call(client, measure)


def _store(found: Probe, out: str | os.PathLike[str] | None, wanted: bool) -> None:
    if wanted:
        path = keep(found)
        notify(Note(f"the probe is kept in {path}" if path else "the probe could not be kept"))
    if out is not None:
        found.save(out)


def pairs(tree: Topology, owners: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Return for each level a pair of slots, of two workers if there are such.

    Parameters
    ----------
    tree : Topology
    owners : sequence of int
        For each slot its worker.

    Examples
    --------
    >>> pairs(Topology.from_fanouts([2, 2]), [0, 0, 1, 1])
    {0: (0, 1), 1: (0, 2)}
    """
    found: dict[int, tuple[int, int]] = {}
    owner = np.asarray(owners)
    for slot in np.unique(owner, return_index=True)[1]:
        level = tree.levels(int(slot))
        apart = owner != owner[slot]
        for wanted in set(range(tree.height + 1)) - found.keys():
            others = np.flatnonzero((level == wanted) & (np.arange(tree.slots) != slot))
            if len(others):
                other = others[np.argmax(apart[others])]
                found[wanted] = int(slot), int(other)
        if len(found) > tree.height:
            break
    return dict(sorted(found.items()))


class _Prober:
    """Measures one link after the other."""

    def __init__(
        self,
        client: Client,
        members: Sequence[Member],
        tree: Topology,
        sizes: tuple[int, ...],
        seconds: float,
    ) -> None:
        self.client, self.members, self.tree = client, members, tree
        self.sizes, self.seconds = sizes, seconds
        self.owners = [n for n, them in enumerate(members) for _ in them.slots]

    async def links(self) -> list[Link]:
        """Return what was measured, level by level."""
        chosen = pairs(self.tree, self.owners)
        chosen.setdefault(0, (0, 0))  # one slot for each process: threads of one all the same
        links = []
        for level, (one, other) in sorted(chosen.items()):
            here, there = self.members[self.owners[one]], self.members[self.owners[other]]
            for transport in _transports(here, there):
                sizes, times = await self._measure(here, there, transport)
                alpha, beta = fit(sizes, times)
                if transport == REFERENCE:
                    beta = 0.0  # nothing is copied
                pair = (one, other)
                links.append(
                    Link(level, transport, pair, tuple(sizes), tuple(times), alpha, beta)
                )
        return links

    async def _measure(self, here: Member, there: Member, transport: str) -> Times:
        times: Times
        if transport == REFERENCE:
            times = await self._on(here, hand_over, self.sizes, self.seconds / 10)
        else:
            token = secrets.token_bytes(TOKEN)
            visitor = here.place and here.place.rank
            door = await self._on(there, open_door, transport, token, visitor)
            times = await self._on(here, walk, door, self.sizes, self.seconds)
        return times

    async def _on(self, member: Member, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a task on a worker; in a context of its own, free of the user's annotations."""
        return await contextvars.Context().run(
            self.client.submit,
            function,
            *arguments,
            workers=[member.address],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )


def _transports(here: Member, there: Member) -> list[str]:
    if here.process == there.process:
        return [REFERENCE]
    are_ranks = here.place and there.place and here.place.world == there.place.world
    by_mpi = [MPI] if are_ranks else []
    if here.host == there.host:
        return [*by_mpi, SHM, UNIX, COMM]
    if here.tcp and there.tcp:
        return [*by_mpi, TCP, COMM, WIRE]
    encrypted = all(them.address.startswith("tls://") for them in (here, there))
    return [*by_mpi, COMM, *([WIRE] if encrypted else [])]

"""Which workers take part in the runs of a graph, and which slots each of them hosts."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Hashable, Mapping, Sequence
from itertools import accumulate, pairwise
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

from distributed import Client

from dgraph.config import Options
from dgraph.engine.pauses import Pauses
from dgraph.engine.plugin import Plugin
from dgraph.engine.returning import RESTART, describe_late, late_workers, paused_workers
from dgraph.engine.spec import Member
from dgraph.errors import ClusterWarning, JoinTimeoutError, OptionError, RunError
from dgraph.events import Note, notify
from dgraph.exchange.transport.world import Place
from dgraph.topology import Topology
from dgraph.warn import warn

__all__ = ["find_members", "lay_out", "topology_of"]

Identity = Mapping[str, Any]

#: Seconds in which a worker answers that is not stuck.
PROMPT = 2

#: Seconds between two looks for workers that are just starting.
PAUSE = 0.05

#: Seconds after which who has no worker is told so, and what there is to do.
LONELY = 3.0
START = "Start some (cluster.scale, dask worker), or wait for them (client.wait_for_workers)"

#: The workers that somebody has waited for in vain, by client: nobody does so again.
_given_up: WeakKeyDictionary[Client, set[str]] = WeakKeyDictionary()


async def find_members(
    client: Client,
    slots: int | None = None,
    virtual_slots: int | None = None,
    options: Options | None = None,
) -> tuple[Member, ...]:
    """Install the plugin and choose the workers of a graph.

    Parameters
    ----------
    client : distributed.Client
    slots : int, optional
        Use only so many slots, on as few workers as possible. Default: every thread of every
        worker is a slot.
    virtual_slots : int, optional
        Run that many slots on all threads, one after another if need be.
    options : Options, optional
        For the time limit. Default: as the configuration says.

    Raises
    ------
    OptionError
        If there are fewer threads than `slots`.
    JoinTimeoutError
        If there is no worker, or one does not answer.
    RunError
        If one cannot import dgraph, or all are paused for their memory and stay so.

    Warns
    -----
    ClusterWarning
        If workers that were just lost do not come back soon, or that are paused do not go
        on: there are fewer slots.
    """
    limit = (options or Options.read()).join_timeout
    try:
        identities = await asyncio.wait_for(
            _identities(client, slots, min(RESTART, limit / 2)), limit
        )
    except TimeoutError:
        raise JoinTimeoutError(await _why_none(client.scheduler, limit)) from None
    return lay_out(identities, slots, virtual_slots)


async def _identities(
    client: Client, slots: int | None, patience: float
) -> dict[str, Identity]:
    """Return who the workers are, by address, once there is at least one that can work.

    Workers that were just lost get some time to come back, unless `slots` need none of them or
    somebody has waited for them before, in vain.
    """
    given_up = _given_up.setdefault(client, set())
    with contextlib.suppress(OSError):  # a worker that is just leaving
        await client.register_plugin(Plugin())
    scheduler: Any = client.scheduler
    began = monotonic()
    strange: dict[str, float] = {}
    said = False
    pauses = Pauses()
    while True:
        found = await scheduler.broadcast(msg={"op": "dgraph_identity"}, on_error="ignore")
        now = monotonic()
        # a worker that has just come back learns it while it starts
        strange = {
            address: strange.get(address, now)
            for address, identity in found.items()
            if identity is None
        }
        still = [address for address, since in strange.items() if now - since > PROMPT]
        if still:
            raise RunError(
                f"worker {still[0]} does not know dgraph: install the client's version of "
                "dask-dgraph on all workers, and see their logs"
            )
        if not found and now - began > LONELY and not said:
            said = True
            notify(Note(f"waits for a worker: the cluster has none. {START}", loud=True))
        ready = {address: who for address, who in found.items() if who and who["ready"]}
        if ready and not strange:
            threads = sum(int(who["threads"]) for who in ready.values())
            enough = slots is not None and threads >= slots
            given_up.difference_update(ready)
            late = [] if enough else await late_workers(scheduler, found)
            if late and (given_up.issuperset(late) or monotonic() - began > patience):
                told = describe_late(late, paused_workers(found), threads)
                warn(told, ClusterWarning)
                given_up.update(late)
                late = []
            if not late:
                return await _confirm_hosts(scheduler, ready)
        if not ready:
            await pauses.check(scheduler, found)
        await asyncio.sleep(PAUSE)


async def _confirm_hosts(
    scheduler: Any, identities: dict[str, Identity]
) -> dict[str, Identity]:
    """Let workers that seem to be on one host really connect to the first of them."""
    first: dict[str, Identity] = {}
    asked = {}
    for address, identity in identities.items():
        other = first.setdefault(identity["host"], identity)
        if other["process"] != identity["process"]:
            asked[address] = scheduler.broadcast(
                msg={"op": "dgraph_reach", "door": other["door"]}, workers=[address]
            )
    answers = await asyncio.gather(*asked.values())
    for address, answer in zip(asked, answers, strict=True):
        if not answer[address]:
            own = f"{identities[address]['host']}-{identities[address]['process']}"
            identities[address] = {**identities[address], "host": own}
    return identities


async def _why_none(scheduler: Any, limit: float) -> str:
    """Say why there is no graph after so many seconds."""
    addresses = list(await asyncio.wait_for(scheduler.ncores(), PROMPT))
    if not addresses:
        return f"expected a worker within {limit:g} s, got a cluster that has none. {START}"
    silent = ", ".join(await _silent(scheduler, addresses))
    return (
        f"expected an answer from every worker within {limit:g} s, got none from "
        f"{silent or 'the scheduler'}: end or restart what does not answer"
    )


async def _silent(scheduler: Any, addresses: Sequence[str]) -> list[str]:
    """Return the workers that do not answer."""
    asked = (
        asyncio.wait_for(
            scheduler.broadcast(msg={"op": "dgraph_identity"}, workers=[address]), PROMPT
        )
        for address in addresses
    )
    answers = await asyncio.gather(*asked, return_exceptions=True)
    return [
        address
        for address, answer in zip(addresses, answers, strict=True)
        if isinstance(answer, BaseException)
    ]


def lay_out(
    identities: Mapping[str, Identity],
    slots: int | None = None,
    virtual_slots: int | None = None,
) -> tuple[Member, ...]:
    """Deal slots to workers: those of one process, and of one host, get neighbouring numbers.

    Parameters
    ----------
    identities : mapping of address to {"process", "host", "threads"}
        And "place", the fields of a Place, of ranks of an MPI job; "about", what the
        environment says; "tcp", whether sockets can be taken from its comms.
    slots, virtual_slots : int, optional
        See :func:`find_members`.

    Examples
    --------
    >>> identities = {
    ...     f"tcp://10.0.0.{host}:{port}": {"process": port, "host": host, "threads": 2}
    ...     for host, port in ((1, 1), (2, 3), (1, 2), (2, 4))
    ... }
    >>> [member.slots for member in lay_out(identities)]
    [(0, 1), (2, 3), (4, 5), (6, 7)]
    >>> [member.address for member in lay_out(identities, slots=3)]
    ['tcp://10.0.0.1:1', 'tcp://10.0.0.1:2']
    """
    addresses = _neighbours_together(identities)
    threads = [int(identities[address]["threads"]) for address in addresses]
    if slots is not None:
        threads = _fewest(threads, slots)
    counts = threads if virtual_slots is None else _spread(virtual_slots, threads)
    members, start = [], 0
    for address, lanes, count in zip(addresses, threads, counts, strict=True):
        if count:
            identity = identities[address]
            numbers = tuple(range(start, start + count))
            start += count
            members.append(
                Member(
                    address,
                    identity["process"],
                    identity["host"],
                    min(lanes, count),
                    numbers,
                    _place(identity),
                    tuple(identity.get("about", {}).items()),
                    bool(identity.get("tcp")),
                )
            )
    return tuple(members)


def topology_of(members: Sequence[Member]) -> Topology:
    """Return the levels process, shared memory, host and network over the slots of members.

    And those of the hardware inside of shared memory, if MPI tells of them.
    """
    return Topology.of_workers(
        (
            len(member.slots),
            member.process,
            member.host,
            *((None,) if member.place is None else (member.place.memory, *member.place.inner)),
        )
        for member in members
    )


def _neighbours_together(identities: Mapping[str, Identity]) -> list[str]:
    """Return the addresses by host, shared memory, process and address, or rank, if any.

    Hosts are in the sequence of their first addresses, or ranks.
    """
    places = {address: _place(identity) for address, identity in identities.items()}
    deepest = max((len(place.inner) for place in places.values() if place), default=0)

    def number(address: str) -> tuple[int, list[str | int]]:
        place = places[address]
        return (-1 if place is None else place.rank, _natural(address))

    def domains(address: str) -> list[Hashable]:
        identity, place = identities[address], places[address]
        memory = () if place is None else (place.world, place.memory)
        inner = () if place is None else place.inner
        within = [(*memory, *inner[:depth]) for depth in range(deepest + 1)]
        return [identity["host"], *within, identity["process"]]

    ordered = sorted(identities, key=number)
    firsts: dict[Any, int] = {}
    for position, address in enumerate(ordered):
        for domain in enumerate(domains(address)):
            firsts.setdefault(domain, position)
    return sorted(
        ordered,
        key=lambda address: [firsts[domain] for domain in enumerate(domains(address))],
    )


def _place(identity: Identity) -> Place | None:
    """Return where a worker stands in an MPI job."""
    found = identity.get("place")
    return None if found is None else Place(*found[:4], *map(tuple, found[4:]))


def _natural(address: str) -> list[str | int]:
    """Return a key that sorts numbers inside text by their value.

    Examples
    --------
    >>> sorted(["tcp://h10:1", "tcp://h9:20", "tcp://h9:3"], key=_natural)
    ['tcp://h9:3', 'tcp://h9:20', 'tcp://h10:1']
    """
    parts: Sequence[str] = re.split(r"(\d+)", address)
    return [int(part) if part.isdigit() else part for part in parts]


def _fewest(threads: Sequence[int], slots: int) -> list[int]:
    """Return how many of the threads of each worker to use, largest workers first.

    Examples
    --------
    >>> _fewest([2, 4, 2], 5)
    [1, 4, 0]
    """
    if not 0 < slots <= sum(threads):
        raise OptionError(
            f"slots must be 1 to {sum(threads)}, the threads of all workers, not {slots}; "
            "virtual_slots= runs more slots than there are threads"
        )
    used = [0] * len(threads)
    for worker in sorted(range(len(threads)), key=lambda worker: -threads[worker]):
        used[worker] = min(threads[worker], slots - sum(used))
    return used


def _spread(slots: int, threads: Sequence[int]) -> list[int]:
    """Return how many slots each worker gets, in proportion to its threads.

    Examples
    --------
    >>> _spread(5, [2, 2]), _spread(1, [2, 2])
    ([3, 2], [1, 0])
    """
    if slots < 1:
        raise OptionError(f"virtual_slots must be at least 1, not {slots}")
    total = sum(threads)
    ends = [-(-slots * before // total) for before in accumulate(threads)]
    return [end - start for start, end in pairwise([0, *ends])]

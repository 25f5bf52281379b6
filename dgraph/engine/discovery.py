"""Where a graph's topology comes from.

The first of these that says something is taken, and `Topology.source` and an event say which:

1. what the user gives: ``topology=`` of `from_edges`, a Topology, a path or a text;
2. the environment variable ``DGRAPH_TOPOLOGY`` of the client, a path or a text;
3. a file: ``file=`` of `discover`, or the option ``dgraph.topology``;
4. ``SLURM_TOPOLOGY_ADDR`` of the workers, which Slurm sets;
5. a listing of Kubernetes nodes or cloud instances: ``nodes=`` of `discover`;
6. ranks of an MPI job that share memory, processes and hosts, as the workers find them;
7. none of them: one process, which is flat.

A source of 2 to 5 that fits another cluster is left out with a warning; what the user gives
must fit. What describes hosts is laid over the workers by the hosts' names, see
`dgraph.topology.lay`; the levels process and host come below.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import dask
from distributed import Client

from dgraph.clients import call, find_client
from dgraph.engine.members import find_members, topology_of
from dgraph.engine.spec import Member
from dgraph.errors import OptionError, OptionTypeError, TopologyError, TopologyWarning
from dgraph.events import Note, notify
from dgraph.plurals import counted
from dgraph.topology import Reading, Topology
from dgraph.topology.host import names_of
from dgraph.topology.lay import Laid, MismatchError, lay
from dgraph.topology.sources import slurm_env
from dgraph.topology.sources.text import Text
from dgraph.warn import warn

__all__ = ["VARIABLE", "Given", "as_topology", "discover", "settle"]

Given: TypeAlias = "Topology | str | os.PathLike[str] | None"

VARIABLE = "DGRAPH_TOPOLOGY"

#: What a user may write instead of leaving ``topology=`` out.
DISCOVER = "discover"


def discover(
    client: Client | None = None,
    *,
    topology: Given = None,
    file: str | os.PathLike[str] | None = None,
    nodes: str | os.PathLike[str] | None = None,
    slots: int | None = None,
    virtual_slots: int | None = None,
) -> Any:
    """Find the topology of a cluster; the docstring of this module says where it is looked for.

    Parameters
    ----------
    client : distributed.Client, optional
        Default: the current one, else a cluster is started in this process and kept.
    topology : Topology, path or text, optional
        As in `from_edges`.
    file : str or path, optional
        A description in any format of `dgraph.topology.sources`.
    nodes : str or path, optional
        A listing of nodes or instances, which is used if Slurm says nothing.
    slots, virtual_slots : int, optional
        As in `from_edges`.

    Returns
    -------
    Topology
        Over the slots of all workers; `source` says what it was made of. An awaitable of it if
        the client is asynchronous.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> tree = Topology.discover()
    >>> tree.height, tree.source
    (0, 'one process')
    """
    given = as_topology(topology)
    client = find_client(client)

    async def find() -> Topology:
        members = await find_members(client, slots, virtual_slots)
        return settle(members, given, file=file, nodes=nodes)

    return call(client, find)


def as_topology(given: Any) -> Topology | None:
    """Return the topology that a user gives, read if need be; None: it is to be discovered.

    Examples
    --------
    >>> as_topology("discover") is None
    True
    >>> as_topology("SwitchName=s Nodes=a[1-4]").slots
    4
    """
    if given is None or given == DISCOVER:
        return None
    if isinstance(given, Topology):
        return given
    if isinstance(given, str | os.PathLike):
        return Topology.read(given)
    raise OptionTypeError(
        f"topology must be a dgraph.topology.Topology, a path, a text or {DISCOVER!r}, not a "
        f"{type(given).__name__}: make one with its from_fanouts, from_paths or read"
    )


def settle(
    members: Sequence[Member],
    topology: Given = None,
    *,
    file: Given = None,
    nodes: Given = None,
) -> Topology:
    r"""Return the topology over the slots of members.

    Parameters
    ----------
    members : sequence of Member
    topology : Topology, path or text, optional
        What the user gives.
    file, nodes : path or text, optional
        See `discover`.

    Raises
    ------
    OptionError
        If it has another number of slots, or names none of the hosts.

    Examples
    --------
    >>> members = [Member(f"tcp://{h}:1", "pid 1", h, 2, (0, 1), None) for h in ("a", "b")]
    >>> settle(members, "host,rack\na,r0\nb,r1").levels(0)
    array([0, 0, 3, 3])
    """
    tree = _settle(members, topology, file, nodes)
    if tree.source not in (*_PLAIN, _RANKS):
        levels = counted(tree.height + 1, "level")
        notify(Note(f"topology: {tree.source}; {counted(tree.slots, 'slot')}, {levels}"))
    return tree


def _settle(members: Sequence[Member], topology: Given, file: Given, nodes: Given) -> Topology:
    if (tree := as_topology(topology)) is not None:
        return _fit(members, tree, "topology=")
    workers = [(them.address, dict(them.about), None) for them in members]

    def by_slurm() -> Topology | None:
        if not any(slurm_env.ADDRESS in about for _, about, _ in workers):
            return None
        try:
            reading = slurm_env.of_workers(workers, Text("", slurm_env.ADDRESS))
        except TopologyError as error:  # not the user's fault, nor worth failing for
            raise MismatchError(str(error)) from None
        _warn(reading.warnings)
        return _lay(members, reading, f"{slurm_env.ADDRESS} of the workers")

    def by_file(word: str, given: Given) -> Callable[[], Topology | None]:
        def read() -> Topology | None:
            try:
                tree = as_topology(given)
            except (TopologyError, OptionTypeError) as error:
                raise type(error)(f"{word}: {error}") from None
            return None if tree is None else _fit(members, tree, word)

        return read

    for find in (
        by_file(VARIABLE, os.environ.get(VARIABLE) or None),
        by_file("file=", file),
        by_file("dgraph.topology", dask.config.get("dgraph.topology", None)),
        by_slurm,
        by_file("nodes=", nodes),
    ):
        try:
            if (tree := find()) is not None:
                return tree
        except MismatchError as error:  # it is of another cluster
            _warn([f"{error}; it is not used"])
    found = topology_of(members)
    ranks = any(them.place is not None for them in members)
    names = tuple(names_of(about, address)[0] for address, about, _ in workers)
    return replace(
        found,
        source=_RANKS if ranks else _PLAIN[min(found.height, 2)],
        slot_names=tuple(
            name for name, them in zip(names, members, strict=True) for _ in them.slots
        ),
    )


_PLAIN = ("one process", "processes of one host", "processes and hosts")
_RANKS = "MPI split: ranks that share memory, processes and hosts"


def _fit(members: Sequence[Member], tree: Topology, word: str) -> Topology:
    """Lay the slots of members on a topology of hosts, or check that there are as many."""
    slots = sum(len(them.slots) for them in members)
    reading, source = tree.reading, tree.source or "given"
    if reading is not None and reading.unit == "host":
        names = [name for them in members for name in names_of(dict(them.about), them.address)]
        known = not reading.paths or any(_knows(tree, name) for name in names)
        if known or tree.slots != slots:
            return _lay(members, reading, f"{word} {source}")
    if tree.slots != slots:
        raise MismatchError(
            f"topology has {counted(tree.slots, 'slot')}, the graph {slots}: pass slots= or "
            "virtual_slots=, or a topology of as many"
        )
    return replace(tree, source=f"{word} {source}")


def _knows(tree: Topology, name: str) -> bool:
    try:
        tree.slot_of(name)
    except OptionError:
        return False
    return True


def _lay(members: Sequence[Member], reading: Reading, source: str) -> Topology:
    hosts = reading.details.get("hosts", {})
    workers = [
        Laid(
            len(them.slots),
            them.process,
            them.host,
            [
                *([hosts[them.address]] if them.address in hosts else []),
                *names_of(dict(them.about), them.address),
            ],
        )
        for them in members
    ]
    tree, missing = lay(workers, reading, source)
    _warn(f"{source}: it has no host {name}, which is a domain of its own" for name in missing)
    return tree


def _warn(texts: Any) -> None:
    for text in texts:
        warn(text, TopologyWarning)

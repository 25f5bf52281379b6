"""What a run is: frozen, picklable, made on the client and sent to every worker of the run."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from dgraph.config import Options
from dgraph.exchange.transport.world import Place
from dgraph.topology import Topology

__all__ = ["Member", "RunSpec", "SlotProgram"]

#: What runs on every slot, ``async def program(ctx, held, *arguments)``, at its module's top.
SlotProgram = Callable[..., Coroutine[Any, Any, Any]]


@dataclass(frozen=True, slots=True)
class Member:
    """A worker that takes part in a run, and the slots it hosts.

    Parameters
    ----------
    address : str
        Its Dask address.
    process : str
        The same for two members only if they are one process.
    host : str
        The same for two members only if a Unix socket can join them (boot id and network
        namespace, not the host's name).
    threads : int
        Threads it may use for its slots.
    slots : tuple of int
        Ascending.
    place : Place or None
        Where it stands in an MPI job over which it can exchange.
    about : tuple of (str, str)
        What its environment says of where it is, see `dgraph.topology.host.whereabouts`.
    tcp : bool
        Whether its comms are plain TCP, of which sockets can be taken.
    """

    address: str
    process: str
    host: str
    threads: int
    slots: tuple[int, ...]
    place: Place | None = None
    about: tuple[tuple[str, str], ...] = ()
    tcp: bool = False


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run of a slot program on all slots of a graph.

    Parameters
    ----------
    run : str
        Unique; names sockets, keys and events.
    token : bytes
        Random; a peer that joins presents it.
    algorithm : str
        For records and errors.
    program : coroutine function
        Module level, called as ``program(ctx, held, *arguments)`` on every slot, where `held`
        is what the plugin holds for the slot: its Shard, or its list of EdgeChunks.
    arguments : tuple
    graph : str
        Whose shards (or chunks) the program gets.
    holds : {"shard", "chunks"}
        What the program gets.
    keeps : {"shard", "frame", "value"}
        What becomes of what it returns: the slot's shard of `graph`; a pandas DataFrame
        that waits to be taken as a partition; a small value for the client.
    members : tuple of Member
    topology : Topology
    options : Options
    scores : tuple of int
        How heavy the vertices of each slot are, for the election of monitors; empty: all alike.
    agreed : frozenset of str
        What the slots have agreed on about the graph in runs that have ended.
    """

    run: str
    token: bytes
    algorithm: str
    program: SlotProgram
    arguments: tuple[Any, ...]
    graph: str
    holds: str
    keeps: str
    members: tuple[Member, ...]
    topology: Topology
    options: Options
    scores: tuple[int, ...] = ()
    agreed: frozenset[str] = frozenset()

    @property
    def slots(self) -> int:
        """The number of slots of the run."""
        return sum(len(member.slots) for member in self.members)

"""What a placement strategy is told and asked.

A `Strategy` looks at blocks of vertices. An `EdgeStrategy` looks at edges as well: the build
spreads the graph in a cheap way first, asks the strategy on these shards, and lays the graph
out again as it says. A `Chooser` looks at what lies there already, and says which one it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.context import Context
from dgraph.shard import Shard
from dgraph.topology import Topology
from dgraph.vertices.ids import Ids

__all__ = [
    "Base",
    "Chooser",
    "EdgeStrategy",
    "Given",
    "Look",
    "Strategy",
    "Totals",
    "VertexBlock",
    "name_of",
    "no_measure",
]


class Given(NamedTuple):
    """Rows of a table of owners that the user brought, in any sequence.

    Parameters
    ----------
    ids : Ids
    slots : integer array beside `ids`
    """

    ids: Ids
    slots: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class VertexBlock:
    """Vertices of consecutive orders, of which one slot is asked.

    Parameters
    ----------
    order : integer array
        Ascending, without gaps.
    rank : integer array
        Position in the vertex order: higher degree first, then smaller id.
    degree : integer array
        As the contract counts it; in + out where the graph is directed.
    ids : Ids
        The users' ids; ascending, as the orders are.
    given : Given, optional
        For `Frame`: the rows of the user's table whose ids lie between those of this block.
    """

    order: NDArray[Any]
    rank: NDArray[Any]
    degree: NDArray[Any]
    ids: Ids
    given: Given | None = None

    def __len__(self) -> int:
        """Return the number of vertices."""
        return len(self.order)


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """What a strategy measured on every block.

    Parameters
    ----------
    block : int
        Which row is that of the block in hand.
    measures : int64 array of shape (blocks, k)
        By ascending order of the blocks' vertices.
    """

    block: int
    measures: NDArray[np.int64]


@runtime_checkable
class Strategy(Protocol):
    """A value that gives vertices their owner slots.

    The same vertices get the same owners however they are cut into blocks.
    """

    def measure(self, block: VertexBlock) -> NDArray[np.int64]:
        """Return the few numbers about a block that every slot will need; may be none."""
        ...

    def slots_of(self, block: VertexBlock, slots: int, totals: Totals) -> NDArray[np.int32]:
        """Return the owner, from 0 to ``slots - 1``, of each vertex of a block."""
        ...


class Base(Strategy, Protocol):
    """A strategy that spreads the vertices while another one looks at their edges."""

    def is_alone(self, edges: int) -> bool:
        """Tell whether slot 0 gets all vertices of a graph with at most so many edges."""
        ...


@runtime_checkable
class EdgeStrategy(Protocol):
    """A value that gives vertices their owner slots after it has seen their edges."""

    @property
    def base(self) -> Base:
        """How the vertices are spread while it thinks: in runs of the order of ids."""
        ...

    def on(self, topology: Topology) -> EdgeStrategy:
        """Return the strategy for a domain tree."""
        ...

    async def place(self, ctx: Context, shard: Shard) -> NDArray[np.int32]:
        """Return the owner of each master of a draft; on all slots at the same time.

        A draft is a shard whose masters are a run of the order of ids. It is undirected: an
        edge stands in the rows of both ends, which are in no particular sequence.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What a `Chooser` may look at: the vertices of a block, and edges before they have owners.

    Parameters
    ----------
    block : VertexBlock
        That of this slot.
    filed : Filed
        The edges that met on this slot, whoever's they are.
    degrees : Degrees
        How many vertices of each degree every block has.
    num_edges : int
        Of the whole graph.
    num_vertices : int
    """

    block: VertexBlock
    filed: Any
    degrees: Any
    num_edges: int
    num_vertices: int


@runtime_checkable
class Chooser(Protocol):
    """A value that first says by which strategy the vertices get their owners.

    Whether a value is one is asked once for a build, not on every slot: that takes 50 us.
    """

    def on(self, topology: Topology) -> Any:
        """Return the chooser, or what it chooses, for a domain tree."""
        ...

    def at_most(self, edges: int) -> Any:
        """Return the chooser, or what it chooses for a graph of at most so many edges."""
        ...

    async def choose(self, ctx: Context, look: Look) -> Strategy | EdgeStrategy:
        """Return the strategy, the same one on all slots; on all of them at the same time."""
        ...


def no_measure() -> NDArray[np.int64]:
    """Return the measure of a strategy that needs none.

    >>> no_measure()
    array([], dtype=int64)
    """
    return np.empty(0, np.int64)


def name_of(strategy: Strategy | EdgeStrategy) -> str:
    """Return what users call a strategy: its NAME, or that of its class."""
    return str(getattr(strategy, "NAME", type(strategy).__name__.lower()))

"""From what a user passes as ``placement=`` to a strategy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dgraph.build.strategy import EdgeStrategy, Strategy
from dgraph.errors import OptionError
from dgraph.keywords import hint
from dgraph.placement.adp import Adp
from dgraph.placement.auto import Auto
from dgraph.placement.chunk import Chunk
from dgraph.placement.degree import Degree
from dgraph.placement.fennel import Fennel
from dgraph.placement.frame import Frame
from dgraph.placement.hash import Hash
from dgraph.placement.hierarchy import Hierarchy
from dgraph.placement.metis import Metis
from dgraph.placement.topox import TopoX
from dgraph.placement.twod import TwoD
from dgraph.placement.xtree import XTree
from dgraph.topology import Topology

NAMED: dict[str, Callable[[], Strategy | EdgeStrategy]] = {
    "degree": Degree,
    "hash": Hash,
    "chunk": Chunk,
    "2d": TwoD,
    "hierarchy": Hierarchy,
    "metis": Metis,
    "fennel": Fennel,
    "xtree": XTree,
    "adp": Adp,
    "topox": TopoX,
    "auto": Auto,
}


def resolve(placement: Any) -> Strategy | EdgeStrategy:
    """Return the strategy that is meant.

    Parameters
    ----------
    placement : str, Strategy or frame
        A name, an object of `dgraph.placement`, or a table of two columns (vertex, slot):
        pandas, Dask, pyarrow or polars.

    Raises
    ------
    OptionError
        If it is none of these.

    Examples
    --------
    >>> resolve("chunk")
    Chunk(alpha=None)
    """
    if isinstance(placement, str) and placement in NAMED:
        return NAMED[placement]()
    if isinstance(placement, Strategy | EdgeStrategy) and not isinstance(placement, type):
        return placement
    if hasattr(placement, "columns") and len(placement.columns) == 2:
        return Frame(placement)
    names = ", ".join(map(repr, NAMED))
    got = repr(placement) if isinstance(placement, str) else f"a {type(placement).__name__}"
    raise OptionError(
        f"placement must be one of {names}, an object of dgraph.placement or a frame of two "
        f"columns (vertex, slot), not {got}{hint(placement, NAMED)}"
    )


def settled(strategy: Strategy | EdgeStrategy, topology: Topology) -> Strategy | EdgeStrategy:
    """Return the strategy as slots are told of it: with the domain tree, without a table."""
    if isinstance(strategy, Frame):
        return Frame()
    return strategy.on(topology) if isinstance(strategy, EdgeStrategy) else strategy

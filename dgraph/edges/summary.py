"""The client's judgement on the receipts of all partitions, before the graph is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dgraph.edges.receipt import Receipt
from dgraph.errors import EdgeTypeError, EdgeValueError, PrecisionWarning
from dgraph.warn import warn

__all__ = ["Nulls", "SelfLoops", "Summary", "combine"]

#: Of a partition's number and a row in it: names the file and line, or returns nothing.
Locate = Callable[[int, int], str]
Nulls = Literal["error", "drop"]
SelfLoops = Literal["keep", "drop", "error"]


@dataclass(frozen=True, slots=True)
class Summary:
    """What all partitions hold together.

    Parameters
    ----------
    dtype : str
        Of the ids, in which every one of them fits: "int64", "uint8", ..., or "str".
    rows : int
        Rows of edges that were read.
    nulls : int
        Of those, the rows that lack an id or weight and are left out.
    self_loops : int
        Of the rest, the self-loops.
    rounded : int
        Weights that are integers which float64 does not hold.
    low, high : int or None
        The least and the greatest id of edges and vertices; None if there is none, or if they
        are strings.
    """

    dtype: str
    rows: int
    nulls: int
    self_loops: int
    low: int | None
    high: int | None
    rounded: int = 0

    @property
    def edges(self) -> int:
        """Rows that became edges, self-loops and parallels included."""
        return self.rows - self.nulls


def combine(
    receipts: Sequence[Receipt],
    *,
    vertices: Sequence[Receipt] = (),
    nulls: Nulls = "error",
    self_loops: SelfLoops = "keep",
    locate: Locate | None = None,
) -> Summary:
    """Check all partitions together and decide what the ids are.

    Parameters
    ----------
    receipts : sequence of Receipt
        Of the edges, in the order of the partitions.
    vertices : sequence of Receipt
        Of declared or placed vertices.
    nulls, self_loops
        The policies of `dgraph.from_edges`.
    locate : function of a partition's number and a row in it, optional
        Names the file and line of an edge, or returns nothing.

    Raises
    ------
    EdgeTypeError
        If a partition could not be read, or if the partitions' ids are of different kinds.
    EdgeValueError
        If a policy forbids what a partition holds; says how many rows, and where the first is.

    Examples
    --------
    >>> combine([Receipt(0, 3, id_dtypes=("int8",), kind="int", low=-1, high=5), Receipt(1)])
    Summary(dtype='int8', rows=3, nulls=0, self_loops=0, low=-1, high=5, rounded=0)
    >>> combine([Receipt(0, 4, nulls=2, first_null=1, null_column="target")])
    Traceback (most recent call last):
        ...
    dgraph.errors.EdgeValueError: 2 edges have a missing id or weight, the first in row 1 \
(counted from 0), column 'target': fill them in, or pass nulls="drop" (--nulls drop)
    """
    both = [*receipts, *vertices]
    for receipt in both:
        if receipt.error is not None:
            error, receipt.error = receipt.error, None  # or it would hold itself by this frame
            try:
                raise error
            finally:
                del error
    _check_kinds(both)
    if nulls == "error":
        remedy = 'fill them in, or pass nulls="drop" (--nulls drop)'
        _check_nulls(receipts, "edges have a missing id or weight", remedy, locate)
        _check_nulls(vertices, "vertices have a missing id", "fill them in or drop them")
    _check_infinite(receipts, locate)
    if self_loops == "error":
        _check_loops(receipts)
    low = min((each.low for each in both if each.low is not None), default=None)
    high = max((each.high for each in both if each.high is not None), default=None)
    return Summary(
        dtype=_common_dtype(both, low, high),
        rows=sum(receipt.rows for receipt in receipts),
        nulls=sum(receipt.nulls for receipt in receipts),
        self_loops=sum(receipt.self_loops for receipt in receipts),
        low=low,
        high=high,
        rounded=_rounded(receipts),
    )


def _check_kinds(receipts: Iterable[Receipt]) -> None:
    """Raise if some partitions hold integers and others strings."""
    first: Receipt | None = None
    for receipt in receipts:
        if receipt.kind is None:
            continue
        first = first or receipt
        if receipt.kind != first.kind:
            one, other = first, receipt
            names = [f"partition {each.partition}" for each in (one, other)]
            if receipt.origin:
                one, other = receipt, first
                names = [receipt.origin, first.origin or "the edges"]
            raise EdgeTypeError(
                f"{names[0]} has ids of dtype {_dtypes(one)} and {names[1]} of "
                f"{_dtypes(other)}, expected one kind in all columns: convert them to integers "
                "or to strings"
            )


def _dtypes(receipt: Receipt) -> str:
    return " and ".join(dict.fromkeys(receipt.dtypes))


def _check_nulls(
    receipts: Sequence[Receipt], what: str, remedy: str, locate: Locate | None = None
) -> None:
    found = _find_first(receipts, lambda receipt: receipt.first_null, locate)
    if found is None:
        return
    where, receipt = found
    count = sum(each.nulls for each in receipts)
    raise EdgeValueError(
        f"{_count(count, what)}, the first in {where}, column {receipt.null_column!r}: {remedy}"
    )


def _check_infinite(receipts: Sequence[Receipt], locate: Locate | None) -> None:
    found = _find_first(receipts, lambda receipt: receipt.first_infinite, locate)
    if found is not None:
        count = sum(receipt.infinite for receipt in receipts)
        raise EdgeValueError(
            f"{_count(count, 'edges have an infinite weight')}, the first in {found[0]}: leave "
            "them out or give them a finite weight"
        )


def _rounded(receipts: Sequence[Receipt]) -> int:
    """Count the weights that are not what the user gave, and warn of them."""
    count = sum(receipt.rounded for receipt in receipts)
    if count:
        first = next(receipt.first_rounded for receipt in receipts if receipt.rounded)
        what = f"{count} weights are integers" if count > 1 else "1 weight is an integer"
        warn(
            f"{what} above 2**53 that float64, the type of weights, does not hold, the first "
            f"{first}, and was rounded: scale the weights down, or round them yourself",
            PrecisionWarning,
        )
    return count


def _check_loops(receipts: Sequence[Receipt]) -> None:
    count = sum(receipt.self_loops for receipt in receipts)
    if count:
        first = next(receipt.first_loop for receipt in receipts if receipt.self_loops)
        raise EdgeValueError(
            f"{_count(count, 'edges are self-loops')}, the first at vertex {first!r}: remove "
            'them, or pass self_loops="drop" or "keep" (--self-loops)'
        )


_SINGULAR = {
    "edges": "edge", "vertices": "vertex", "have": "has", "are": "is a",
}  # fmt: skip


def _count(count: int, what: str) -> str:
    """Put a number before a plural, or make the plural a singular.

    >>> _count(1, "edges have an id"), _count(2, "edges have an id")
    ('1 edge has an id', '2 edges have an id')
    >>> _count(1, "edges are self-loops")
    '1 edge is a self-loop'
    """
    if count != 1:
        return f"{count} {what}"
    noun, verb, rest = what.split(" ", 2)
    rest = rest.removesuffix("s") if verb == "are" else rest
    return f"1 {_SINGULAR[noun]} {_SINGULAR[verb]} {rest}"


def _find_first(
    receipts: Sequence[Receipt],
    row: Callable[[Receipt], int | None],
    locate: Locate | None = None,
) -> tuple[str, Receipt] | None:
    """Return where the first row of a kind is, and the receipt of its partition.

    That is a line of a file, or else its number, counted over all partitions.
    """
    before = 0
    for receipt in receipts:
        first = row(receipt)
        if first is not None:
            line = "" if locate is None else locate(receipt.partition, first)
            inside = f"row {first} of partition {receipt.partition}, " * (len(receipts) > 1)
            return line or f"row {before + first} ({inside}counted from 0)", receipt
        before += receipt.rows
    return None


def _common_dtype(receipts: Sequence[Receipt], low: int | None, high: int | None) -> str:
    """Return the dtype of all ids; where there is none, that of the columns, or int64."""
    filled = [receipt for receipt in receipts if receipt.kind is not None]
    names = {name for receipt in filled or receipts for name in receipt.id_dtypes}
    if not names or "str" in names:
        return "str" if names == {"str"} else "int64"
    dtype = np.result_type(*map(np.dtype, sorted(names)))
    if dtype.kind != "f":
        return dtype.name
    low, high = low or 0, high or 0  # signed and uint64 met: the values decide
    if low < 0 and high >= 2**63:
        raise EdgeTypeError(
            f"ids go from {low} to {high}, expected that all fit int64 or all fit uint64: "
            "convert them to strings"
        )
    return "int64" if high < 2**63 else "uint64"

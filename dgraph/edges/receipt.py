"""What a worker reports of one partition: small, picklable, enough to judge all of them."""

from __future__ import annotations

from dataclasses import dataclass

from dgraph.errors import DgraphError

__all__ = ["Receipt"]


@dataclass(slots=True)
class Receipt:
    """What is known of one partition once it was read.

    Rows are counted from 0 within the partition, before any is dropped.

    Parameters
    ----------
    partition : int
    rows : int
        Rows that came.
    dtypes : tuple of str
        Of the id columns, as the user knows them.
    id_dtypes : tuple of str
        The same as `Ids.dtype`, where it is known: "int64", "uint8", ..., "str".
    kind : "int", "str" or None
        Of the ids; None: there is none.
    nulls : int
        Rows without an id or weight; they are not in the chunk.
    first_null : int or None
        The first of them.
    null_column : str
        The column that lacks its value there.
    infinite : int
        Rows with an infinite weight.
    first_infinite : int or None
    self_loops : int
        Rows whose two ids are equal.
    first_loop : int, str or None
        The id of one of them: the first.
    low, high : int or None
        The least and the greatest id, of integers.
    rounded : int
        Weights that are integers which float64 does not hold.
    first_rounded : int
        The first of them.
    origin : str
        What messages call the table of vertices that it is of; empty: it is of the edges.
    error : DgraphError or None
        Why the partition could not be read; then the other fields mean nothing.
    """

    partition: int
    rows: int = 0
    dtypes: tuple[str, ...] = ()
    id_dtypes: tuple[str, ...] = ()
    kind: str | None = None
    nulls: int = 0
    first_null: int | None = None
    null_column: str = ""
    infinite: int = 0
    first_infinite: int | None = None
    self_loops: int = 0
    first_loop: int | str | None = None
    low: int | None = None
    high: int | None = None
    rounded: int = 0
    first_rounded: int = 0
    origin: str = ""
    error: DgraphError | None = None

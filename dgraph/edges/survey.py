"""What the ids of delimited text are: integers, if every one of them is written as one.

One id that is no integer, anywhere, makes all of them strings, so all blocks are surveyed
before the first is parsed. The survey costs about as much as reading the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dgraph.edges.blocks import Block, OpenQuoteError, Scanner
from dgraph.edges.dtypes import nullable
from dgraph.edges.scan import tally
from dgraph.errors import EdgeValueError

__all__ = ["IdPlan", "Survey", "decide", "describe", "survey"]

#: Bytes of a file that are read again to count the lines before a place in it.
NEAR = 1 << 22


@dataclass(frozen=True, slots=True)
class IdPlan:
    """The dtypes of the columns that text is parsed into.

    Parameters
    ----------
    source, target : str
        Name of an integer dtype of NumPy, of a nullable one ("Int64"), or "str".
    weight : str
        Name of a floating dtype.
    """

    source: str = "int64"
    target: str = "int64"
    weight: str = "float64"


@dataclass(slots=True)
class Survey:
    """What the ids of one block look like.

    Parameters
    ----------
    rows : int
    integers : bool
        Whether every id is written as Python writes an integer.
    low, high : int
        The least and the greatest of 0 and the integers.
    missing : tuple of int
        Rows without a source, and without a target.
    text : str
        The first id that is not written so, and its place; empty if there is none.
    too_large : str
        Names an integer that no integer dtype holds, and its place; empty if there is none.
    open_quote : bool
        The block ends inside quotes, so it must not be cut off there; nothing else is known.
    wrong : str
        Why a line cannot be read, and which; nothing else is known.
    """

    rows: int = 0
    integers: bool = True
    low: int = 0
    high: int = 0
    missing: tuple[int, int] = (0, 0)
    text: str = ""
    too_large: str = ""
    open_quote: bool = False
    wrong: str = ""


def survey(block: Block) -> Survey:
    """Look at all ids of a block."""
    scanner = Scanner(block, integers=True)
    found = Survey()
    seen = np.array([[0, 0, 0, -1, -1, 0]] * 2)
    high = np.zeros((2, 1), np.uint64)
    try:
        for rows, clean in scanner.batches():
            found.rows += rows
            if clean:
                numbers = scanner.numbers[:, :rows]
                found.low = min(found.low, int(numbers.min()))
                found.high = max(found.high, int(numbers.max()))
            else:
                for side in (0, 1):
                    scanner.apply(tally, rows, side, seen[side], high[side])
    except OpenQuoteError:
        return Survey(open_quote=True)
    except EdgeValueError as error:  # it stands only if the file may be cut where it was
        return Survey(wrong=str(error))
    _add(found, seen, high, scanner)
    return found


def _add(
    found: Survey, seen: NDArray[np.int64], high: NDArray[np.uint64], scanner: Scanner
) -> None:
    missing, others, low, too_large = seen.T[:4]
    found.missing = int(missing[0]), int(missing[1])
    found.integers = not others.any()
    found.low = min(found.low, int(low.min()))
    found.high = max(found.high, int(high.max()))
    where = int(too_large.max())
    if where >= 0:
        digits = re.match(rb"[+-]?\d+", bytes(scanner.buffer[where : where + 1000]))
        assert digits is not None
        found.too_large = f"{digits.group().decode()} in {scanner.place(where)}"
    if not found.integers:
        found.text = _first_text(seen, scanner)


def _first_text(seen: NDArray[np.int64], scanner: Scanner) -> str:
    """Name the first id of a block that is no integer; its line, if that is cheap to find."""
    start, length = min((int(where), int(size)) for *_, where, size in seen if where >= 0)
    field = bytes(scanner.buffer[start : start + min(length, 40)]).decode("utf-8", "replace")
    if scanner.origin + start > NEAR:
        return f"{field!r} in {scanner.block.file.path}, after byte {scanner.origin + start}"
    return f"{field!r} in {scanner.place(start)}"


def describe(surveys: Sequence[Survey] | None) -> str:
    """Say what the ids were taken for, and why.

    >>> describe([Survey(), Survey(integers=False, text="'NA' in line 7 of roads.csv")])
    "strings: 'NA' in line 7 of roads.csv is not written as an integer"
    """
    if surveys is None:
        return "as dtype= says"
    text = next((each.text for each in surveys if not each.integers), None)
    if text is None:
        return "integers: every one of both columns is written as one"
    return f"strings: {text} is not written as an integer"


def decide(surveys: Sequence[Survey]) -> IdPlan:
    """Decide what the ids of all blocks are, both columns together.

    Raises
    ------
    EdgeValueError
        If they are integers that do not all fit int64, nor all uint64.

    Examples
    --------
    >>> decide([Survey(high=2**63), Survey(missing=(0, 1))])
    IdPlan(source='uint64', target='UInt64', weight='float64')
    >>> decide([Survey(high=7), Survey(integers=False)]).source
    'str'
    """
    if not all(each.integers for each in surveys):
        return IdPlan("str", "str")
    too_large = next((each.too_large for each in surveys if each.too_large), "")
    low = min((each.low for each in surveys), default=0)
    high = max((each.high for each in surveys), default=0)
    if too_large or (low < 0 and high >= 2**63):
        raise EdgeValueError(
            f"ids go from {low} to {too_large or high}, expected that all fit int64 or all fit "
            'uint64: pass dtype="str" to read them as text'
        )
    dtype = "int64" if high < 2**63 else "uint64"
    source, target = (
        nullable(dtype) if any(each.missing[side] for each in surveys) else dtype
        for side in (0, 1)
    )
    return IdPlan(source, target)

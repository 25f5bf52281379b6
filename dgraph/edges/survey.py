"""What the ids of delimited text are: integers, if every one of them is written as one.

One id that is no integer, anywhere, makes all of them strings, so all blocks are surveyed
before the first is parsed. The survey costs about as much as reading the bytes.

A column of numbers of which some are decimal (1, 2.0) is rather one of floats, which are no
ids: the 2.0 that a program made of 2, for want of an integer that can be missing, is another
vertex, and the user is warned. With one word in the column, anywhere, they are names, such as
versions; where most are integers and few are words, the words may be faults, and the user is
warned of the first. Integers that are padded with zeros are names beyond doubt.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dgraph.edges.blocks import Block, OpenQuoteError, Scanner
from dgraph.edges.dtypes import nullable
from dgraph.edges.scan import tally
from dgraph.errors import EdgeValueError, IdWarning
from dgraph.warn import warn

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
    names : tuple of str
        What the columns are called.
    integers : bool
        Whether every id is written as Python writes an integer.
    low, high : int
        The least and the greatest of 0 and the integers.
    missing : tuple of int
        Rows without a source, and without a target.
    text : str
        The first id that is not written so, and its place; empty if there is none.
    words : tuple of bool
        Whether there is a source, and a target, that is neither such an integer nor decimal.
    decimals : tuple of str
        The first source, and target, that is decimal; empty if there is none before a word.
    others : tuple of int
        Sources, and targets, that are not written as integers.
    padded : tuple of bool
        Whether there is a source, and a target, such as 007.
    firsts : tuple of str
        The first source, and target, that is not written as an integer, and its place; empty
        if there is none.
    doubted : tuple of int
        For each of the lines that the layout has under this name how often its ids occur.
    too_large : str
        Names an integer that no integer dtype holds, and its place; empty if there is none.
    open_quote : bool
        The block ends inside quotes, so it must not be cut off there; nothing else is known.
    wrong : str
        Why a line cannot be read, and which; nothing else is known.
    """

    rows: int = 0
    names: tuple[str, str] = ("source", "target")
    integers: bool = True
    low: int = 0
    high: int = 0
    missing: tuple[int, int] = (0, 0)
    text: str = ""
    words: tuple[bool, bool] = (False, False)
    decimals: tuple[str, str] = ("", "")
    others: tuple[int, int] = (0, 0)
    padded: tuple[bool, bool] = (False, False)
    firsts: tuple[str, str] = ("", "")
    doubted: tuple[int, ...] = ()
    too_large: str = ""
    open_quote: bool = False
    wrong: str = ""


def survey(block: Block) -> Survey:
    """Look at all ids of a block."""
    scanner = Scanner(block, integers=True)
    found = Survey()
    seen = np.array([[0, 0, 0, -1, -1, 0, 0, 0, 0, 0]] * 2)
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
                _count_doubted(found, scanner, rows)
    except OpenQuoteError:
        return Survey(open_quote=True)
    except EdgeValueError as error:  # it stands only if the file may be cut where it was
        return Survey(wrong=str(error))
    _add(found, seen, high, scanner)
    return found


def _count_doubted(found: Survey, scanner: Scanner, rows: int) -> None:
    """Add how often the ids of doubted lines occur in a batch; what is often is not doubted."""
    lines = scanner.block.layout.doubted
    counts = found.doubted or (0,) * len(lines)
    found.doubted = tuple(
        count if count > 2 else count + scanner.occurrences(rows, words)
        for count, words in zip(counts, lines, strict=True)
    )


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
    firsts, decimals = seen[:, 4:6].tolist(), seen[:, 7:9].tolist()
    if not found.integers:
        found.text = _shown(min(first for first in firsts if first[1]), scanner)
    found.others = int(others[0]), int(others[1])
    found.words = bool(seen[0, 6]), bool(seen[1, 6])
    found.padded = bool(seen[0, 9]), bool(seen[1, 9])
    found.firsts = _shown(firsts[0], scanner), _shown(firsts[1], scanner)
    found.decimals = _shown(decimals[0], scanner), _shown(decimals[1], scanner)
    layout = scanner.block.layout
    first, second = (
        layout.names[at] if at < len(layout.names) else name
        for at, name in zip(layout.columns, found.names, strict=False)
    )
    found.names = first, second


def _shown(span: Sequence[int], scanner: Scanner) -> str:
    """Show a field of a block, and where it stands; its line, if that is cheap to find.

    A span is where it starts, and its length; if that is 0 there is none, and nothing is shown.
    """
    start, length = span
    if not length:
        return ""
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


def decide(surveys: Sequence[Survey], given: Container[str] = ()) -> IdPlan:
    """Decide what the ids of all blocks are, both columns together.

    Parameters
    ----------
    surveys : sequence of Survey
    given : container of str
        Of "source" and "target" those whose dtype is given, whatever they hold.

    Raises
    ------
    EdgeValueError
        If they are integers that do not all fit int64, nor all uint64.

    Warns
    -----
    IdWarning
        If a column holds nothing but numbers, and some are decimal; if most that it holds are
        integers, none of them padded with zeros.

    Examples
    --------
    >>> decide([Survey(high=2**63), Survey(missing=(0, 1))])
    IdPlan(source='uint64', target='UInt64', weight='float64')
    >>> decide([Survey(high=7), Survey(integers=False)]).source
    'str'
    """
    for side, name in enumerate(("source", "target")):
        if name not in given and (doubt := _doubt(surveys, side)):
            warn(doubt, IdWarning)
            break
    if not all(each.integers for each in surveys):
        return IdPlan("str", "str")
    too_large = next((each.too_large for each in surveys if each.too_large), "")
    low = min((each.low for each in surveys), default=0)
    high = max((each.high for each in surveys), default=0)
    if too_large or (low < 0 and high >= 2**63):
        raise EdgeValueError(
            f"ids go from {low} to {too_large or high}, expected that all fit int64 or all fit "
            'uint64: pass dtype="str" (--dtype str) to read them as text'
        )
    dtype = "int64" if high < 2**63 else "uint64"
    source, target = (
        nullable(dtype) if any(each.missing[side] for each in surveys) else dtype
        for side in (0, 1)
    )
    return IdPlan(source, target)


def _doubt(surveys: Sequence[Survey], side: int) -> str:
    """Say why the ids of a column may be integers, though they are read as strings.

    >>> doubt = _doubt([Survey(9, others=(1, 0), firsts=("'x' in line 7 of a.csv", ""))], 0)
    >>> doubt.partition(", so")[0]
    "column 'source' holds integers but for 1 of 9 ids, 'x' in line 7 of a.csv"
    """
    name = next((each.names[side] for each in surveys), "")
    decimal = next((each.decimals[side] for each in surveys if each.decimals[side]), "")
    if decimal and not any(each.words[side] for each in surveys):
        return (
            f"column {name!r} holds floats, such as {decimal}, so that all ids are read as "
            'strings, 2 and 2.0 as two vertices: write them as integers, or pass dtype="str" '
            "(--dtype str) if they are names"
        )
    others = sum(each.others[side] for each in surveys)
    rows = sum(each.rows - each.missing[side] for each in surveys)
    if not 0 < 2 * others < rows or any(each.padded[side] for each in surveys):
        return ""
    first = next(each.firsts[side] for each in surveys if each.firsts[side])
    return (
        f"column {name!r} holds integers but for {others} of {rows} ids, "
        f"{'the first ' * (others > 1)}{first}, so that all ids are read as strings: correct "
        'what is wrong, or pass dtype="str" (--dtype str) if they are names'
    )

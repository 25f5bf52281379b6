"""First lines of text that are in doubt: titles, and names that could as well be ids.

A line of words above lines of words may be an edge or the names of the columns. Of an edge one
end or the other occurs in a second edge, nearly always; names do so hardly ever. So, while the
ids of a file are surveyed, those of the first lines are counted::

    carrier,hub      taken for an edge: neither word occurs again, as ids of all of the next
    Ann,Bob          three lines do, or of both if there are two: so these are rather names
    Bob,Cid
    Cid,Ann
    hub,n1           taken for names, as hub has no digit: but it occurs again as an id
    n2,n3
    ...
    n7,hub

An edge that shares no vertex with others, above some that do, is doubted in vain, unless it is
written as they are (``node1,node2``). One line below tells nothing, as its ids need not occur
again.

The reading stays what it was, so that it does not hang on the last line of a file; the user is
warned.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dgraph.edges.header import find_header, is_number
from dgraph.errors import EdgeValueError
from dgraph.plurals import counted

__all__ = ["check_first_line", "doubt_of_first_line", "doubted_lines", "occurrences"]

#: Lines after the first one whose ids are counted as well.
_NEXT = 3

#: So many of them there must be: one alone shares its ids with no other, whatever it is.
_LEAST = 2

Line = tuple[list[bytes], int]


def check_first_line(lines: Sequence[Line], names: bool, path: str) -> None:
    """Raise if the first line is a title above the others.

    Parameters
    ----------
    lines : sequence of (fields, number of fields)
        The first lines of data; fields are without empty ones at the end of a line.
    names : bool
        Whether the first line is taken for names.
    path : str

    Raises
    ------
    EdgeValueError

    Examples
    --------
    >>> below = [([b"a", b"b"], 2), ([b"1", b"2"], 2)]
    >>> check_first_line([([b"Roads"], 1), *below], False, "f.csv")
    Traceback (most recent call last):
        ...
    dgraph.errors.EdgeValueError: the first line of f.csv, 'Roads', has 1 field and those \
below have 2: if it is a title, take it out or begin it with #; else name sep= (--sep), or \
columns= by their positions
    """
    (first, count), *others = lines
    counts = {number for _, number in others}
    shown = " ".join(field.decode("utf-8", "replace") for field in first)[:60]
    if len(others) > 1 and len(counts) == 1 and min(counts) > 1 and _differs(lines):
        raise EdgeValueError(
            f"the first line of {path}, {shown!r}, has {counted(count, 'field')} and those "
            f"below have {min(counts)}: if it is a title, take it out or begin it with #; else "
            "name sep= (--sep), or columns= by their positions"
        )
    if not names and len(first) == 1 < len(others) and not is_number(first[0]):
        fields = [each for each, _ in others]
        if (
            len(fields[0]) > 1
            and find_header(fields, [b",".join(each) for each in fields]).names
        ):
            raise EdgeValueError(
                f"the first line of {path} has one field that is not empty, {shown!r}, and "
                "names of columns stand below it: if it is a title, take it out or begin it "
                "with #"
            )


def _differs(lines: Sequence[Line]) -> bool:
    """Tell whether the first line has another number of fields, separators at ends apart.

    >>> _differs([([b"a", b"b"], 2), ([b"1", b"2"], 3)])
    False
    >>> _differs([([b"a"], 1), ([b"1", b"2"], 2)])
    True
    """
    (first, count), *others = lines
    filled = {len(fields) for fields, _ in others}
    return count not in {number for _, number in others} and len(first) not in filled


def doubted_lines(
    fields: Sequence[Sequence[bytes]], columns: Sequence[int]
) -> tuple[tuple[bytes, ...], ...]:
    """Return the ids of the first lines whose occurrences are to be counted.

    >>> doubted_lines([[b"from", b"x"], [b"1", b"2"], [b"3"]], (1, 0, -1))
    ((b'x', b'from'), (b'2', b'1'), (b'3',))
    """
    return tuple(
        tuple(line[at] for at in columns[:2] if at < len(line) and line[at])
        for line in fields[: 1 + _NEXT]
    )


def occurrences(
    buffer: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    words: Sequence[bytes],
) -> int:
    """Count the fields that are one of some words.

    Parameters
    ----------
    buffer : array of uint8
    starts, lengths : arrays of int64
        Of the fields in `buffer`.
    words : sequence of bytes

    Examples
    --------
    >>> text = np.frombuffer(b"Ann Bob", np.uint8)
    >>> occurrences(text, np.array([0, 4]), np.array([3, 3]), [b"Bob", b"Bobby"])
    1
    """
    found = 0
    for word in set(words):
        places = starts[lengths == len(word)]
        for at, byte in enumerate(word):
            places = places[buffer[places + at] == byte]
        found += len(places)
    return found


def doubt_of_first_line(
    path: str, doubted: Sequence[Sequence[bytes]], names: bool, counts: Sequence[int]
) -> str:
    """Say that the first line may not be what it was taken for, if so.

    Parameters
    ----------
    path : str
    doubted : sequence of sequence of bytes
        What `doubted_lines` returns.
    names : bool
        Whether the first line was taken for names.
    counts : sequence of int
        For each of these lines how often its ids occur in all lines that were taken for edges.

    Returns
    -------
    str
        A sentence; empty if there is no doubt.

    Examples
    --------
    >>> lines = [[b"carrier", b"hub"], [b"Ann", b"Bob"], [b"Bob", b"Cid"], [b"Cid", b"Ann"]]
    >>> print(doubt_of_first_line("a.csv", lines, False, [2, 4, 4, 4]))
    the first line of a.csv, 'carrier' and 'hub', was read as an edge, but neither is the end \
of another one, as ids of the next lines are: call read_edges with header=True (--header) if \
they are names of columns, with header=False (--no-header) if not
    >>> doubt_of_first_line("a.csv", lines, False, [2, 2, 4, 4])
    ''
    """
    shown = " and ".join(repr(word.decode("utf-8", "replace")) for word in doubted[0])
    if names:
        if not counts or not counts[0]:
            return ""
        return (
            f"the first line of {path}, {shown}, was taken for names of columns, but ids below "
            "are called so too: call read_edges with header=False (--no-header) if it is an "
            "edge, with header=True (--header) if not"
        )
    again = [count > len(line) for line, count in zip(doubted, counts, strict=True)]
    if len(doubted[0]) < 2 or len(again) <= _LEAST or again[0] or not all(again[1:]):
        return ""
    return (
        f"the first line of {path}, {shown}, was read as an edge, but neither is the end of "
        "another one, as ids of the next lines are: call read_edges with header=True "
        "(--header) if they are names of columns, with header=False (--no-header) if not"
    )

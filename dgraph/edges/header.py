"""Whether the first line of delimited text holds names, and how that is known.

A line of words above lines of words may be either, so the reason is told::

    source,target    names: these two are what such columns are called (`dgraph.edges.ends`)
    person,likes     names: all below have digits (p17, q4); or none of them occurs again, and
    ...              they are words for ends of edges
    node1,node2      names, unless what stands below is written so, too (node7)
    Ann,Bob          an edge: Ann occurs again below, or nothing speaks against it
    Ann,Bob,1_000    an edge: names above numbers do not begin with a digit; the weight is wrong

What the first lines do not settle is held against the whole file by `dgraph.edges.doubt`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dgraph.edges.ends import find_pair, is_pair, is_word

__all__ = ["MISSING", "Decision", "find_header", "has_decimal_comma", "is_number"]

Rows = Sequence[Sequence[bytes]]

_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)|nan", re.I)
_DIGIT = re.compile(rb"\d")
_DECIMAL_COMMA = re.compile(rb"[+-]?[\d.]*,\d+([eE][+-]?\d+)?")
_NAME = re.compile(r"\W*[^\W\d]")
_BREAKS = re.compile(rb'[\s,;:|"]')  # what a field is put in quotes for


#: What programs write for a weight that is missing.
MISSING = frozenset({"", "na", "n/a", "null", "none", "nan", "<na>"})


class Decision(NamedTuple):
    """Whether the first line holds names, and why.

    Parameters
    ----------
    names : bool
    why : str
        For a report.
    settled : bool
        Whether no line that comes later can speak against it.
    """

    names: bool
    why: str
    settled: bool = True


def is_number(field: bytes) -> bool:
    """Tell whether a field is written as a number.

    >>> is_number(b"-1.5e3"), is_number(b"p1")
    (True, False)
    """
    return _NUMBER.fullmatch(field) is not None


def has_decimal_comma(field: bytes) -> bool:
    """Tell whether a field is written as a number with a comma for its point.

    >>> [has_decimal_comma(field) for field in (b"-1,5", b"1.000,5", b"1,2,3")]
    [True, True, False]
    """
    return _DECIMAL_COMMA.fullmatch(field) is not None


def find_header(rows: Rows, lines: Sequence[bytes]) -> Decision:
    """Decide whether the first line holds names.

    Parameters
    ----------
    rows : list of lists of bytes
        The fields of the first lines, without quotes.
    lines : list of bytes
        The same lines as they stand.

    Examples
    --------
    >>> find_header([[b"a", b"b"], [b"1", b"2"]], [b"a,b", b"1,2"])
    Decision(names=True, why="names: 'a' stands above numbers", settled=False)
    >>> find_header([[b"Ann", b"Bob"], [b"Cid", b"Ann"]], [b"Ann,Bob", b"Cid,Ann"]).why
    "none: 'Ann' in the first line occurs again below, so it is an id"
    """
    first, others = rows[0], rows[1:]
    number = next(filter(is_number, first), None)
    if number is not None:
        return Decision(False, f"none: {_text(number)!r} in the first line is a number")
    texts = [_text(field).strip() for field in first]
    if (pair := find_pair(texts, technical=True)) is not None:
        one, two = (texts[at] for at in sorted(pair))
        why = f"names: {one!r} and {two!r} are names of columns"
        return Decision(True, why, settled=False)
    if len(others) > 1 and _differs_in_quotes(rows, lines):
        why = "names: the first line and the others differ in their quotes"
        return Decision(True, why, settled=False)
    ends = [at for at, field in enumerate(first) if field][:2]
    below = {field for row in others for field in row[: max(ends, default=0) + 1]}
    again = next((first[at] for at in ends if first[at] in below), None)
    if again is not None:
        return Decision(
            False,
            f"none: {_text(again)!r} in the first line occurs again below, so it is an id",
        )
    return _above_numbers(first, others, ends) or _between_words(first, others, ends)


def _above_numbers(
    first: Sequence[bytes], others: Rows, ends: Sequence[int]
) -> Decision | None:
    """Decide where numbers stand below; None if there are none, or only below nothing.

    >>> _above_numbers([b"Ann", b"Bob", b"1_000"], [[b"Cid", b"Dee", b"2"]], [0, 1]).why
    "none: '1_000' above numbers begins as one, and not as a name"
    """
    above = [
        at for at, field in enumerate(first) if field and _all_below(others, at, is_number)
    ]
    names = [at for at in above if _may_be_name(first[at])]
    wrong = [at for at in above if _begins_as_number(first[at])]
    if wrong and (set(wrong) & set(ends) or not set(names) & set(ends)):
        shown = _text(first[wrong[0]])
        return Decision(
            False, f"none: {shown!r} above numbers begins as one, and not as a name"
        )
    if names:
        why = f"names: {_text(first[names[0]])!r} stands above numbers"
        return Decision(True, why, settled=False)
    return None


def _between_words(first: Sequence[bytes], others: Rows, ends: Sequence[int]) -> Decision:
    """Decide where words stand above words.

    >>> _between_words([b"node1", b"node2"], [[b"node3", b"node4"]], [0, 1]).names
    False
    """
    words = [_text(first[at]) for at in ends]
    shown = ", ".join(map(repr, words))
    numbered = any(_all_below(others, at, _like(first[at])) for at in ends)
    if others and ends and not numbered and _are_names(words):
        why = f"names: {shown} are words for ends of edges, and no ids below"
        return Decision(True, why, settled=False)
    for at in ends:
        if len(others) > 1 and not _has_digit(first[at]) and _all_below(others, at, _has_digit):
            why = f"names: {_text(first[at])!r} has no digit, and all that stands below has"
            return Decision(True, why, settled=False)
    return Decision(
        False,
        f"none: {shown} in the first line were taken for ids, because nothing tells them from "
        "those below; pass header=True if they are names",
        settled=numbered,
    )


def _are_names(words: Sequence[str]) -> bool:
    return all(map(is_word, words)) or is_pair(words[0], words[-1])


def _like(name: bytes) -> Callable[[bytes], bool]:
    """Return what tells whether a field differs from a name in its digits only, if it has any.

    >>> like = _like(b"node1")
    >>> like(b"node17"), like(b"Ann"), _like(b"node")(b"node")
    (True, False, False)
    """
    shape = re.sub(rb"[0-9]+", rb"[0-9]+", re.escape(name))
    pattern = re.compile(shape)
    return lambda field: _has_digit(name) and pattern.fullmatch(field) is not None


def _all_below(rows: Rows, column: int, test: Callable[[bytes], bool]) -> bool:
    """Tell whether a column holds what passes the test and nothing else."""
    fields = [row[column] for row in rows if len(row) > column and row[column]]
    return bool(fields) and all(map(test, fields))


def _has_digit(field: bytes) -> bool:
    return _DIGIT.search(field) is not None


def _may_be_name(field: bytes) -> bool:
    """Tell whether a field above numbers may be the name of their column.

    >>> [_may_be_name(field) for field in (b"km", b"_2", b"w", b"1_000", b"$5", b"-", b"NA")]
    [True, True, True, False, False, False, False]
    """
    text = _text(field)
    return _NAME.match(text) is not None and text.lower() not in MISSING


def _begins_as_number(field: bytes) -> bool:
    return _NAME.match(_text(field)) is None and _has_digit(field)


def _differs_in_quotes(rows: Rows, lines: Sequence[bytes]) -> bool:
    """Tell whether the first line begins with a quote and no other has one, or vice versa.

    Quotes that a field needs, for a separator in it, tell nothing.
    """
    if lines[0].startswith(b'"'):
        return not (_BREAKS.search(rows[0][0]) or any(b'"' in line for line in lines[1:]))
    others = all(line.startswith(b'"') for line in lines[1:])
    needless = (row[0] for row in rows[1:] if row and not _BREAKS.search(row[0]))
    return b'"' not in lines[0] and others and any(needless)


def _text(field: bytes) -> str:
    return field.decode("utf-8", "replace")

"""Whether the first line of delimited text holds names, and how that is known.

A line of words above lines of words may be either, so the reason is told::

    source,target    names: these two are what such columns are called
    person,likes     names: all below have digits (p17, q4); or none of them occurs again, and
    ...              they are words for ends of edges
    Ann,Bob          an edge: Ann occurs again below, or nothing speaks against it
    Ann,Bob,1_000    an edge: names above numbers do not begin with a digit; the weight is wrong
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

__all__ = ["MISSING", "Decision", "find_header", "has_decimal_comma", "is_number"]

Rows = Sequence[Sequence[bytes]]

# Of these both, whatever stands below, are names.
_PAIRS = (
    ("source", "target"),
    ("src", "dst"),
    ("src", "dest"),
    ("source", "destination"),
    ("from", "to"),
    ("source_id", "target_id"),
    ("sourceid", "targetid"),
    ("fromnodeid", "tonodeid"),
    ("node1", "node2"),
)
# Of these are names if they do not occur again below.
_WORDS = re.compile(
    r"""
    source | target | src | dst | dest | destination | from | to | origin | head | tail |
    start | end | id | ids | node | nodes | vertex | vertices | entity | key | code |
    index | label | name | user | users | person | people | member | actor | author |
    writer | editor | employee | manager | boss | supervisor | customer | client |
    patient | friend | friends | neighbor | neighbour | parent | child | follower |
    followee | following | follows | followed | likes | liked | knows | known | trusts |
    trustee | truster | cites | cited | citing | calls | called | caller | callee |
    sender | receiver | recipient | buys | buyer | seller | rates | rated | rater |
    visits | visited | linked | owner | votes | voter | candidate | subject | object |
    interactor | i | j | u | v
    """,
    re.X,
)
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
    """

    names: bool
    why: str


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
    Decision(names=True, why="names: 'a' stands above numbers")
    >>> find_header([[b"Ann", b"Bob"], [b"Cid", b"Ann"]], [b"Ann,Bob", b"Cid,Ann"]).why
    "none: 'Ann' in the first line occurs again below, so it is an id"
    """
    first, others = rows[0], rows[1:]
    number = next(filter(is_number, first), None)
    if number is not None:
        return Decision(False, f"none: {_text(number)!r} in the first line is a number")
    lower = {_text(field).strip().lower() for field in first}
    for pair in _PAIRS:
        if lower.issuperset(pair):
            return Decision(True, f"names: {pair[0]!r} and {pair[1]!r} are names of columns")
    if len(others) > 1 and _differs_in_quotes(rows, lines):
        return Decision(True, "names: the first line and the others differ in their quotes")
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
        return Decision(True, f"names: {_text(first[names[0]])!r} stands above numbers")
    return None


def _between_words(first: Sequence[bytes], others: Rows, ends: Sequence[int]) -> Decision:
    """Decide where words stand above words."""
    shown = ", ".join(repr(_text(first[at])) for at in ends)
    if others and ends and all(_is_word(first[at]) for at in ends):
        return Decision(True, f"names: {shown} are words for ends of edges, and no ids below")
    for at in ends:
        if len(others) > 1 and not _has_digit(first[at]) and _all_below(others, at, _has_digit):
            return Decision(
                True, f"names: {_text(first[at])!r} has no digit, and all that stands below has"
            )
    return Decision(
        False,
        f"none: {shown} in the first line were taken for ids, because nothing tells them from "
        "those below; pass header=True if they are names",
    )


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


def _is_word(field: bytes) -> bool:
    """Tell whether a name is made of words for ends of edges.

    >>> [_is_word(field) for field in (b"Person_1", b"followerId", b"user name", b"Ann")]
    [True, True, True, False]
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", _text(field)).lower()
    parts = re.findall(r"[^\W\d_]+", spaced)
    return bool(parts) and all(map(_WORDS.fullmatch, parts))


def _text(field: bytes) -> str:
    return field.decode("utf-8", "replace")

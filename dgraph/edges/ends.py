"""Names of columns that are plainly the two ends of edges: from and to, src_ip and dst_ip.

A name is cut into words at ``_``, ``-``, blanks and capitals. Two names are a pair if they
differ in one word, and what they differ in is one::

    FromNodeId, ToNodeId              from and to
    origin_airport, dest_airport      origin and dest
    user_1, user_2                    1 and 2, of what can be an end
    start_time, end_time              no pair: times are no ends
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any

__all__ = ["doubt_of_ends", "find_pair", "is_pair", "is_word"]

_MOST = 64  # names that are looked at: there are two thousand pairs of them
# By the first line of a file these are names, whatever stands below.
_TECHNICAL = {
    ("source", "target"), ("source", "dest"), ("source", "destination"), ("source", "sink"),
    ("src", "dst"), ("src", "dest"), ("src", "tgt"), ("src", "trg"), ("src", "target"),
    ("from", "to"), ("origin", "destination"), ("origin", "dest"), ("orig", "dest"),
}  # fmt: skip
_SPOKEN = {
    ("head", "tail"), ("parent", "child"), ("sender", "receiver"), ("sender", "recipient"),
    ("follower", "followee"), ("citing", "cited"), ("caller", "callee"), ("payer", "payee"),
    ("buyer", "seller"), ("subject", "object"), ("predecessor", "successor"), ("u", "v"),
    ("i", "j"),
}  # fmt: skip
# Pairs only beside another word, which says what they are of.
_BESIDE = {("start", "end"), ("departure", "arrival"), ("1", "2"), ("0", "1"), ("a", "b")}
_NUMBERED = {("1", "2"), ("0", "1"), ("a", "b")}
_MEASURES = re.compile(
    """
    time | times | timestamp | ts | date | day | year | month | hour | lat | latitude | lon |
    lng | long | longitude | x | y | z | weight | value | amount | count | size | price |
    version
    """,
    re.X,
)
# Words for ends of edges: as names of columns they do not occur again below.
_WORDS = re.compile(
    r"""
    source | target | src | dst | tgt | dest | destination | from | to | orig | origin | head |
    tail | start | end | departure | arrival | id | ids | node | nodes | vertex | vertices |
    entity | key | code | index | label | name | user | users | person | people | member |
    actor | author | writer | editor | employee | manager | boss | supervisor | customer |
    client | patient | friend | friends | neighbor | neighbour | parent | child | follower |
    followee | following | follows | followed | likes | liked | knows | known | trusts |
    trustee | truster | cites | cited | citing | calls | called | caller | callee |
    sender | receiver | recipient | buys | buyer | seller | rates | rated | rater |
    visits | visited | linked | owner | votes | voter | candidate | subject | object |
    interactor | airport | station | stop | city | country | account | host | ip | address |
    page | article | paper | gene | protein | species | team | player | company | i | j | u | v
    """,
    re.X,
)


def _words(name: str) -> list[str]:
    """Return the words of a name, numbers among them.

    >>> _words("FromNodeId"), _words("user_1")
    (['from', 'node', 'id'], ['user', '1'])
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    return re.findall(r"[^\W\d_]+|\d+", spaced)


def is_word(name: str) -> bool:
    """Tell whether a name is made of words for ends of edges.

    >>> [is_word(name) for name in ("Person_1", "followerId", "user name", "Ann")]
    [True, True, True, False]
    """
    words = [word for word in _words(name) if not word.isdigit()]
    return bool(words) and all(map(_WORDS.fullmatch, words))


def is_pair(first: Any, second: Any, technical: bool = False) -> bool:
    """Tell whether two names are plainly those of source and target, in this sequence.

    Parameters
    ----------
    first, second
        Names; what is no string is none of a pair.
    technical : bool
        Whether to take only words that are hardly ever ids.

    Examples
    --------
    >>> is_pair("origin_airport", "dest_airport"), is_pair("srcip", "dstip")
    (True, True)
    >>> is_pair("user_a", "user_b"), is_pair("start_time", "end_time"), is_pair("a", "b")
    (True, False, False)
    """
    if not (isinstance(first, str) and isinstance(second, str)):
        return False
    known = _TECHNICAL if technical else _TECHNICAL | _SPOKEN | _BESIDE
    one, two, beside = _apart(_words(first), _words(second))
    if (one, two) not in known or any(map(_MEASURES.fullmatch, beside)):
        return False
    if (one, two) in _NUMBERED and not all(map(_WORDS.fullmatch, beside)):
        return False
    return bool(beside) or (one, two) not in _BESIDE


def _apart(first: Sequence[str], second: Sequence[str]) -> tuple[str, str, list[str]]:
    """Return the word in which two lists of words differ, and those that they share.

    >>> _apart(["src", "ip"], ["dst", "ip"]), _apart(["fromid"], ["toid"])
    (('src', 'dst', ['ip']), ('from', 'to', ['id']))
    """
    differ = [
        at for at, pair in enumerate(zip(first, second, strict=False)) if len({*pair}) > 1
    ]
    if len(first) != len(second) or len(differ) != 1:
        return "", "", []
    at = differ[0]
    one, two, beside = first[at], second[at], [*first[:at], *first[at + 1 :]]
    for source, target in _TECHNICAL:  # words written as one
        end = one.removeprefix(source)
        if end and one != end and two == target + end:
            return source, target, [*beside, end]
        start = one.removesuffix(source)
        if start and one != start and two == start + target:
            return source, target, [*beside, start]
    return one, two, beside


def find_pair(names: Sequence[Any], technical: bool = False) -> tuple[int, int] | None:
    """Return the positions of the first pair among the first names, None if there is none.

    >>> find_pair(["id", "to", "from"]), find_pair(["Ann", "Bob"])
    ((2, 1), None)
    """
    for one, two in combinations(range(min(len(names), _MOST)), 2):
        if is_pair(names[one], names[two], technical):
            return one, two
        if is_pair(names[two], names[one], technical):
            return two, one
    return None


def doubt_of_ends(names: Sequence[Any], taken: Sequence[int]) -> str:
    """Say that the first two columns were taken, though others are plainly the ends.

    Parameters
    ----------
    names : sequence
        Of all columns.
    taken : sequence of int
        Positions of those that were taken as source and target, because nobody named them.

    Returns
    -------
    str
        A sentence, empty if there is no such doubt.

    Examples
    --------
    >>> doubt_of_ends(["id", "from", "to"], [0, 1])
    "columns 'id' and 'from' were taken as source and target, though 'from' and 'to' are \
called so: pass source='from', target='to' (read_edges: columns=['from', 'to']; \
--source-column from --target-column to), or name the others to keep them"
    >>> doubt_of_ends(["u", "v", "from", "to"], [0, 1])
    ''
    """
    one, two = (names[at] for at in taken[:2])
    pair = find_pair(names)
    if pair is None or find_pair([one, two]) is not None:
        return ""
    source, target = (names[at] for at in pair)
    return (
        f"columns {one!r} and {two!r} were taken as source and target, though {source!r} and "
        f"{target!r} are called so: pass source={source!r}, target={target!r} (read_edges: "
        f"columns=[{source!r}, {target!r}]; --source-column {source} --target-column "
        f"{target}), or name the others to keep them"
    )

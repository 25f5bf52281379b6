"""Lines of ``Key=Value`` words, as Slurm writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dgraph.topology.sources.text import Notes, Text

__all__ = ["Record", "records"]

_WORD = re.compile(r'([A-Za-z_]+)=(?:"([^"]*)"|(\S*))')

#: Words, of which a quoted part may hold spaces.
_WORDS = re.compile(r'(?:"[^"]*"|\S)+')

#: Blanks round an equals sign; after one only if no key follows, for values may be empty.
_BLANKS = re.compile(r"\s+=\s*|=\s+(?=[^\s=]+(?:\s+[^\s=]|\s*$))")


@dataclass(frozen=True)
class Record:
    """One line: its number, and the values by key in lower case."""

    line: int
    values: Mapping[str, str] = field(default_factory=dict)

    def __contains__(self, key: str) -> bool:
        """Say whether the line has a key."""
        return key in self.values

    def __getitem__(self, key: str) -> str:
        """Return the value of a key, "" if the line lacks it."""
        return self.values.get(key, "")


def records(text: Text, known: Mapping[str, str], notes: Notes) -> Iterator[Record]:
    r"""Yield the lines; a key that is not known is left out with a warning.

    As Slurm reads them: there may be blanks round an equals sign, a value may be quoted, and a
    line that ends in a backslash goes on in the next one.

    Parameters
    ----------
    text : Text
    known : mapping
        The keys in lower case, and how they are written.
    notes : Notes

    Examples
    --------
    >>> text, notes = Text("switchname=a NODES=n1 Colour=red"), Notes()
    >>> [record.values for record in records(text, {"switchname": "", "nodes": ""}, notes)]
    [{'switchname': 'a', 'nodes': 'n1'}]
    >>> notes.all()
    ('line 1: unknown key Colour is ignored',)
    >>> text = Text('switchname = a \\\n  NODES="n1,n2"')
    >>> [record.values for record in records(text, {"switchname": "", "nodes": ""}, notes)]
    [{'switchname': 'a', 'nodes': 'n1,n2'}]
    """
    for number, line in _whole_lines(text):
        values: dict[str, str] = {}
        for word in _WORDS.findall(_BLANKS.sub("=", line)):
            match = _WORD.fullmatch(word)
            if not match:
                raise text.error(number, f"expected words such as Key=Value, got {word!r}")
            key = match[1].lower()
            if key not in known:
                notes.add(f"line {number}: unknown key {match[1]} is ignored")
            elif key in values:
                raise text.error(number, f"expected each key once, got {match[1]} twice")
            else:
                values[key] = match[2] or match[3] or ""
        yield Record(number, values)


def _whole_lines(text: Text) -> Iterator[tuple[int, str]]:
    """Yield lines with those that they go on in, each with the number of its first one."""
    first, begun = 0, ""
    for number, line in text.lines():
        first = first if begun else number
        begun += line.removesuffix("\\") + " "
        if not line.endswith("\\"):
            yield first, begun
            begun = ""
    if begun:
        yield first, begun

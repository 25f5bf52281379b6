"""Our own table: ``host,<outermost>,..,<innermost>``; the header names the levels."""

from __future__ import annotations

import csv
import re
from typing import Any

from dgraph.topology.reading import Reading
from dgraph.topology.sources.text import Notes, Text

NAME = "csv"

_FIRST = re.compile(r"\A\s*(?:#[^\n]*\n\s*)*\"?host\"?\s*(,|$)", re.MULTILINE)


def recognise(text: Text) -> bool:
    """Say whether a text looks like this format."""
    return bool(_FIRST.match(text.content))


def parse(text: Text, **options: Any) -> Reading:
    r"""Read a table of hosts.

    Examples
    --------
    >>> parse(Text("host,pod,rack\nw1,p0,r0\nw2,p0,r1")).paths
    {'w1': ('p0', 'r0'), 'w2': ('p0', 'r1')}
    """
    notes = Notes()
    rows = [(line, _cells(row, text, line)) for line, row in text.lines()]
    if not rows or rows[0][1][0] != "host":
        raise text.error(1, "expected a header host,<outermost>,..,<innermost>, got none")
    levels = tuple(rows[0][1][1:])
    if not all(levels) or len(set(levels)) < len(levels):
        raise text.error(rows[0][0], f"expected the name of each level once, got {levels}")
    paths: dict[str, tuple[str, ...]] = {}
    for line, (host, *names) in rows[1:]:
        if len(names) > len(levels) or not host:
            raise text.error(
                line,
                f"expected a host and {len(levels)} names, got {host!r} and {len(names)}",
            )
        if host in paths:
            raise text.error(line, f"host {host} is listed twice")
        while names and not names[-1]:
            names.pop()
        if not names:
            notes.add(f"{host} has no place: a domain of its own")
        paths[host] = tuple(
            name or f"({level})" for name, level in zip(names, levels, strict=False)
        )
    return Reading(NAME, paths, levels, notes.all())


def _cells(row: str, text: Text, line: int) -> list[str]:
    try:
        (cells,) = csv.reader([row], strict=True, skipinitialspace=True)
    except csv.Error as error:
        raise text.error(line, f"expected comma-separated names: {error}") from None
    return [cell.strip() for cell in cells]

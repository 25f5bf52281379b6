"""``scontrol show topology``: as topology.conf, but upper switches repeat the hosts below."""

from __future__ import annotations

import re
from typing import Any

from dgraph.topology.reading import Reading
from dgraph.topology.sources.blocks import join
from dgraph.topology.sources.hostlist import expand
from dgraph.topology.sources.pairs import Record, records
from dgraph.topology.sources.slurm_conf import KEYS, read_switches
from dgraph.topology.sources.text import Notes, Text

NAME = "scontrol"

_KEYS = (*KEYS, "Level", "AggregatedBlock", "BlockIndex", "BlockSize")

_FIRST = re.compile(
    r"^\s*(SwitchName=\S+\s+Level=|BlockName=\S+\s+BlockIndex=|AggregatedBlock=)",
    re.IGNORECASE | re.MULTILINE,
)


def recognise(text: Text) -> bool:
    """Say whether a text looks like this format."""
    return bool(_FIRST.search(text.content))


def parse(text: Text, **options: Any) -> Reading:
    """Read what scontrol shows.

    Examples
    --------
    >>> shown = '''SwitchName=s Level=1 LinkSpeed=1 Nodes=a[1-2] Switches=l1
    ... SwitchName=l1 Level=0 LinkSpeed=1 Nodes=a[1-2]'''
    >>> parse(Text(shown)).paths
    {'a1': ('s', 'l1'), 'a2': ('s', 'l1')}
    """
    notes = Notes()
    rows = list(records(text, {key.lower(): key for key in _KEYS}, notes))
    if any("switchname" in row for row in rows):
        return read_switches(rows, text, notes, NAME, repeats=True)
    return _read_blocks(rows, text, notes)


def _read_blocks(rows: list[Record], text: Text, notes: Notes) -> Reading:
    base: dict[str, list[str]] = {}
    upper: list[tuple[str, list[str], int]] = []
    for row in rows:
        if row["aggregatedblock"]:
            names = expand(row["aggregatedblock"], text, row.line)
            upper.append((join(names), names, row.line))
        elif row["blockname"]:
            if row["blockname"] in base:
                raise text.error(row.line, f"block {row['blockname']} is described twice")
            base[row["blockname"]] = expand(row["nodes"], text, row.line)
        else:
            raise text.error(row.line, "expected a line with BlockName= or AggregatedBlock=")
    above: dict[str, list[str]] = {name: [name] for name in base}
    for name, names, line in sorted(upper, key=lambda block: len(block[1])):
        _wrap(above, name, names, text, line)
    paths = {host: tuple(above[name]) for name, hosts in base.items() for host in hosts}
    return Reading(NAME, paths, warnings=notes.all())


def _wrap(
    above: dict[str, list[str]], name: str, names: list[str], text: Text, line: int
) -> None:
    """Put base blocks into a larger one, which is outermost so far."""
    unknown = [each for each in names if each not in above]
    if unknown:
        raise text.error(line, f"expected blocks that are described, got {unknown[0]}")
    outermost = {above[each][0] for each in names}
    inside = [each for each, path in above.items() if path[0] in outermost]
    if set(inside) != set(names):
        raise text.error(line, f"block {name} has a part of another block: expected a tree")
    for each in names:
        above[each].insert(0, name)

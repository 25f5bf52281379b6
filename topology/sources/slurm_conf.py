"""Slurm's ``topology.conf``: a tree of switches, blocks or rings.

Lines have SwitchName=, BlockName= or RingName=; ``scontrol show topology`` writes rings alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dgraph.topology.reading import Reading
from dgraph.topology.sources.blocks import paths_of_blocks
from dgraph.topology.sources.hostlist import expand
from dgraph.topology.sources.lattices import Cells, reading_of
from dgraph.topology.sources.pairs import Record, records
from dgraph.topology.sources.switches import Switch, paths_of
from dgraph.topology.sources.text import Notes, Text

NAME = "slurm"

KEYS = (
    *("SwitchName", "Nodes", "Switches", "LinkSpeed", "BlockName", "BlockSizes"),
    *("RingName", "RingSize"),
)

_FIRST = re.compile(
    r"^\s*(SwitchName|BlockName|BlockSizes|RingName)\s*=", re.IGNORECASE | re.MULTILINE
)


def recognise(text: Text) -> bool:
    """Say whether a text looks like this format."""
    return bool(_FIRST.search(text.content))


def parse(text: Text, **options: Any) -> Reading:
    r"""Read a topology.conf.

    Examples
    --------
    >>> conf = "SwitchName=l1 Nodes=a[1-2]\nSwitchName=l2 Nodes=b\n"
    >>> parse(Text(conf + "SwitchName=s Switches=l[1-2]")).paths
    {'a1': ('s', 'l1'), 'a2': ('s', 'l1'), 'b': ('s', 'l2')}
    """
    notes = Notes()
    rows = list(records(text, {key.lower(): key for key in KEYS}, notes))
    if any("switchname" in row for row in rows):
        return read_switches(rows, text, notes, NAME)
    if any("ringname" in row for row in rows):
        return _read_rings(rows, text, notes)
    return _read_blocks(rows, text, notes)


def read_switches(
    rows: Iterable[Record], text: Text, notes: Notes, name: str, *, repeats: bool = False
) -> Reading:
    """Read the lines of a tree of switches.

    Parameters
    ----------
    repeats : bool
        Whether upper switches repeat the hosts of the switches below them.
    """
    switches: dict[str, Switch] = {}
    speed: dict[str, int | str] = {}
    for row in rows:
        if not row["switchname"]:
            raise text.error(row.line, "expected a line with SwitchName=, got none")
        for each in expand(row["switchname"], text, row.line):
            if each in switches:
                raise text.error(
                    row.line,
                    f"switch {each} is described twice, first in line {switches[each].line}",
                )
            nodes = expand(row["nodes"], text, row.line)
            below = expand(row["switches"], text, row.line)
            switches[each] = Switch(each, row.line, nodes, below)
            if row["linkspeed"]:
                speed[each] = _number(row["linkspeed"])
    return reading_of_switches(switches, text, notes, name, speed, repeats=repeats)


def reading_of_switches(
    switches: dict[str, Switch],
    text: Text,
    notes: Notes,
    name: str,
    speed: dict[str, int | str] | None = None,
    *,
    repeats: bool = False,
) -> Reading:
    """Turn described switches into a reading; unknown children are dropped with a warning."""
    for switch in switches.values():
        for child in switch.switches:
            if child not in switches:
                notes.add(f"line {switch.line}: unknown switch {child} below {switch.name}")
        switch.switches = [child for child in switch.switches if child in switches]
    if repeats:
        _drop_covered(switches, text)
    paths, roots = paths_of(switches, text)
    if len(roots) > 1:
        notes.add(f"several roots, joined by a virtual one: {', '.join(roots)}")
    details: dict[str, Any] = {"link_speed": speed} if speed else {}
    return Reading(name, paths, warnings=notes.all(), details=details)


def _drop_covered(switches: dict[str, Switch], text: Text) -> None:
    """Take from every switch the hosts that a switch below it has."""
    below: dict[str, set[str]] = {}

    def covered(name: str, above: tuple[str, ...]) -> set[str]:
        if name in above:
            circle = " - ".join((*above[above.index(name) :], name))
            raise text.error(
                switches[name].line, f"expected a tree, got a cycle of switches: {circle}"
            )
        if name not in below:
            inner: set[str] = set()
            for child in switches[name].switches:
                inner |= covered(child, (*above, name))
            below[name] = inner | set(switches[name].nodes)
            switches[name].nodes = [n for n in switches[name].nodes if n not in inner]
        return below[name]

    for name in switches:
        covered(name, ())


def _read_blocks(rows: Iterable[Record], text: Text, notes: Notes) -> Reading:
    blocks: dict[str, list[str]] = {}
    sizes: list[int] = []
    line = None
    for row in rows:
        if row["blocksizes"]:
            sizes, line = block_sizes(row["blocksizes"], text, row.line), row.line
        elif row["blockname"]:
            if row["blockname"] in blocks:
                raise text.error(row.line, f"block {row['blockname']} is described twice")
            blocks[row["blockname"]] = expand(row["nodes"], text, row.line)
        else:
            raise text.error(row.line, "expected BlockName= or BlockSizes=, got neither")
    return Reading(NAME, paths_of_blocks(blocks, sizes, text, line), warnings=notes.all())


def _read_rings(rows: Iterable[Record], text: Text, notes: Notes) -> Reading:
    rings: dict[str, Cells] = {}
    for row in rows:
        if not row["ringname"]:
            raise text.error(row.line, "expected a line with RingName=, got none")
        if row["ringname"] in rings:
            raise text.error(row.line, f"ring {row['ringname']} is described twice")
        hosts = expand(row["nodes"], text, row.line)
        rings[row["ringname"]] = Cells([len(hosts)], hosts, row.line)
    return reading_of(rings, text, notes, NAME)


def block_sizes(value: str, text: Text, line: int | None) -> list[int]:
    """Read sizes such as ``4,8,16``."""
    try:
        return [int(size) for size in value.split(",")]
    except ValueError:
        raise text.error(line, f"expected block sizes such as 4,8,16, got {value!r}") from None


def _number(value: str) -> int | str:
    return int(value) if value.isdigit() else value

"""``scontrol show topology``: as topology.conf, but upper switches repeat the hosts below.

Of a 3D torus it shows which hosts are in it, in the order of Slurm's own table, not in which
cells: how many hops they are apart ``topology.yaml`` says. Its lines are those of Slurm 26.05::

    TorusName=pod1 Dims=4x4x2 Nodes=n[01-32]
      TorusName=pod1 PlacementDims=2x2x1(4) Anchors=8
"""

from __future__ import annotations

import math
import re
from typing import Any

from dgraph.topology.reading import Reading
from dgraph.topology.sources.blocks import join
from dgraph.topology.sources.hostlist import expand
from dgraph.topology.sources.pairs import Record, records
from dgraph.topology.sources.slurm_conf import KEYS, read_switches
from dgraph.topology.sources.text import Notes, Text

NAME = "scontrol"

_KEYS = (
    *(*KEYS, "Level", "AggregatedBlock", "BlockIndex", "BlockSize"),
    *("TorusName", "Dims", "PlacementDims", "Anchors"),
)

_FIRST = re.compile(
    r"^\s*(SwitchName=\S+\s+Level=|BlockName=\S+\s+BlockIndex=|AggregatedBlock=|TorusName=)",
    re.IGNORECASE | re.MULTILINE,
)

_DIMS = re.compile(r"(\d+)x(\d+)x(\d+)", re.IGNORECASE)


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
    if any("torusname" in row for row in rows):
        return _read_tori(rows, text, notes)
    return _read_blocks(rows, text, notes)


def _read_tori(rows: list[Record], text: Text, notes: Notes) -> Reading:
    paths: dict[str, tuple[str, ...]] = {}
    lines: dict[str, int] = {}
    for row in rows:
        name = row["torusname"]
        if not name:
            raise text.error(row.line, "expected a line with TorusName=, got none")
        if row["placementdims"]:  # where jobs may begin: no domain of hosts
            continue
        if name in lines:
            raise text.error(
                row.line, f"torus {name} is described twice, first in line {lines[name]}"
            )
        lines[name] = row.line
        cells = _cells(row, text)
        hosts = expand(row["nodes"], text, row.line)
        if not hosts:
            notes.add(f"line {row.line}: torus {name} has no hosts")
        if len(hosts) > cells:
            raise text.error(
                row.line, f"expected at most {cells} hosts in {row['dims']}, got {len(hosts)}"
            )
        for host in hosts:
            if paths.setdefault(host, (name,)) != (name,):
                first = paths[host][0]
                raise text.error(row.line, f"host {host} stands twice, in {first} and {name}")
    notes.add("the cells of hosts in a torus are not shown: hops are read from topology.yaml")
    return Reading(NAME, paths, warnings=notes.all())


def _cells(row: Record, text: Text) -> int:
    """Return how many cells a torus has."""
    match = _DIMS.fullmatch(row["dims"])
    sizes = [int(size) for size in match.groups()] if match else []
    if not sizes or not all(sizes):
        raise text.error(row.line, f"expected Dims such as 4x4x2, got {row['dims']!r}")
    return math.prod(sizes)


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

"""Rings and three-dimensional tori of hosts, as Slurm 26.05 describes them.

Each is one domain of the tree. How many hops its hosts are apart says ``metric="hops"`` of
`Topology.distance`, by what the reading's details tell of it::

    {"lattices": {"pod1": {"shape": [4, 4, 2], "hosts": ["n1", "n2", None, ...]}}}

The cells of a torus are counted with x fastest, those of a ring as its hosts are listed; None
is a cell without a host.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dgraph.topology.reading import Reading
from dgraph.topology.sources.hostlist import expand
from dgraph.topology.sources.located import expect, warn_of_unknown
from dgraph.topology.sources.text import Notes, Text

__all__ = ["Cells", "reading_of", "torus_of"]

_AXES = ("x", "y", "z")

#: More cells than a torus has: more is a slip of the pen.
MOST = 1 << 20


@dataclass
class Cells:
    """A ring or a torus, and the host in each of its cells.

    Parameters
    ----------
    shape : sequence of int
        Cells along each dimension, the fastest first; it wraps around in each.
    hosts : sequence of str or None
        By cell.
    line : int, optional
        Where it is described.
    """

    shape: Sequence[int]
    hosts: Sequence[str | None]
    line: int | None = None


def reading_of(lattices: Mapping[str, Cells], text: Text, notes: Notes, name: str) -> Reading:
    """Return what these say: every host is in a domain with the others of its ring or torus.

    Examples
    --------
    >>> rings = {"r": Cells([3], ["a", "b", "c"])}
    >>> reading_of(rings, Text(""), Notes(), "slurm").paths
    {'a': ('r',), 'b': ('r',), 'c': ('r',)}
    """
    paths: dict[str, tuple[str, ...]] = {}
    for lattice, cells in lattices.items():
        if not any(cells.hosts):
            raise text.error(cells.line, f"expected hosts in {lattice}, got none")
        for host in filter(None, cells.hosts):
            if host in paths:
                raise text.error(
                    cells.line, f"host {host} stands twice, in {paths[host][0]} and {lattice}"
                )
            paths[host] = (lattice,)
    details = {
        lattice: {"shape": list(cells.shape), "hosts": list(cells.hosts)}
        for lattice, cells in lattices.items()
    }
    return Reading(name, paths, warnings=notes.all(), details={"lattices": details})


def torus_of(record: Any, text: Text, notes: Notes) -> Cells:
    """Read a torus: its dimensions, and its hosts in one list or by region.

    Examples
    --------
    >>> torus = {"name": "t", "dims": {"x": 2, "y": 1, "z": 1}, "nodes": "n[1-2]"}
    >>> torus_of(torus, Text(""), Notes()).hosts
    ['n1', 'n2']
    """
    line = getattr(record, "line", None)
    warn_of_unknown(record, ("name", "dims", "nodes", "regions", "placements"), notes)
    shape = _triple(record, "dims", text, least=1)
    if math.prod(shape) > MOST:
        raise text.error(line, f"expected a torus of at most {MOST} cells, got {shape}")
    if ("nodes" in record) == ("regions" in record):
        raise text.error(line, "expected either nodes or regions of a torus")
    cells: list[str | None] = [None] * math.prod(shape)
    if "nodes" in record:
        _fill(cells, shape, (0, 0, 0), shape, record, text)
    else:
        for region in expect(record, "regions", list, text):
            anchor = _triple(region, "anchor", text, least=0)
            size = _triple(region, "dims", text, least=1)
            _fill(cells, shape, anchor, size, region, text)
    return Cells(shape, cells, line)


def _triple(record: Any, key: str, text: Text, *, least: int) -> tuple[int, ...]:
    """Return the numbers along x, y and z."""
    numbers = expect(record, key, dict, text)
    found = tuple(expect(numbers, axis, int, text, record) for axis in _AXES)
    if min(found) < least or any(isinstance(some, bool) for some in found):
        line = getattr(numbers, "line", None) or getattr(record, "line", None)
        raise text.error(line, f"expected numbers of at least {least} in {key}, got {found}")
    return found


def _fill(
    cells: list[str | None],
    shape: Sequence[int],
    anchor: Sequence[int],
    size: Sequence[int],
    record: Any,
    text: Text,
) -> None:
    """Put hosts into the cells of a region, x fastest."""
    line = getattr(record, "line", None)
    if any(a + s > whole for a, s, whole in zip(anchor, size, shape, strict=True)):
        raise text.error(
            line, f"expected a region inside of {tuple(shape)}, got {size} from {anchor} on"
        )
    hosts = expand(expect(record, "nodes", str, text), text, line)
    if len(hosts) != math.prod(size):
        raise text.error(
            line, f"expected {math.prod(size)} hosts for {tuple(size)}, got {len(hosts)}"
        )
    for number, host in enumerate(hosts):
        place = (number % size[0], number // size[0] % size[1], number // (size[0] * size[1]))
        x, y, z = (a + p for a, p in zip(anchor, place, strict=True))
        cell = x + shape[0] * (y + shape[1] * z)
        if cells[cell] is not None:
            raise text.error(line, f"expected regions apart, got two with cell {(x, y, z)}")
        cells[cell] = host

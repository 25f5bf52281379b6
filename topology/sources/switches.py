"""From switches and what hangs on each of them to every host's path.

Switches with the same children are one domain (spines of one fabric, rails of one rack); apart
from that every switch and every host has one parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from dgraph.topology.sources.text import Text

__all__ = ["Switch", "paths_of"]

Item = tuple[bool, str]  # whether it is a switch, and its name


@dataclass
class Switch:
    """A switch as it is described.

    Parameters
    ----------
    name : str
    line : int or None
        Where.
    nodes, switches : list of str
        What hangs on it.
    """

    name: str
    line: int | None = None
    nodes: list[str] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)


def paths_of(
    switches: Mapping[str, Switch], text: Text
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return each host's path, outermost first, and the names of the outermost domains.

    Parameters
    ----------
    switches : mapping of name to Switch
        The children of each are hosts or among the switches.
    text : Text
        For errors.

    Examples
    --------
    >>> tree = [Switch("l", nodes=["a", "b"]), Switch("s", switches=["l"])]
    >>> tree += [Switch("t", switches=["l"])]
    >>> paths_of({switch.name: switch for switch in tree}, Text(""))
    ({'a': ('s+t', 'l'), 'b': ('s+t', 'l')}, ['s+t'])
    """
    merged = _merge(switches, _upwards(switches, text))
    parents: dict[Item, str] = {}
    for name, (domain, children) in merged.items():
        if domain != name:
            continue
        for child in children:
            _adopt(parents, child, name, switches, merged, text)
    names = _join_names(merged)
    paths = {
        host: _path((False, host), parents, names)
        for switch in switches.values()
        for host in switch.nodes
    }
    roots = [
        names[name]
        for name, (domain, _) in merged.items()
        if domain == name and (True, name) not in parents
    ]
    return paths, roots


def _upwards(switches: Mapping[str, Switch], text: Text) -> list[str]:
    """Return the switches by ascending height, those of one height as they are described."""
    order = TopologicalSorter({switch.name: switch.switches for switch in switches.values()})
    height: dict[str, int] = {}
    try:
        for name in order.static_order():
            below = [height[child] for child in switches[name].switches]
            height[name] = 1 + max(below, default=-1)
    except CycleError as error:
        circle = error.args[1]
        raise text.error(
            switches[circle[0]].line,
            f"expected a tree, got a cycle of switches: {' - '.join(circle)}",
        ) from None
    return sorted(switches, key=height.__getitem__)


def _merge(
    switches: Mapping[str, Switch], upwards: list[str]
) -> dict[str, tuple[str, dict[Item, None]]]:
    """Return for each switch the first with the same children, and those children."""
    merged: dict[str, tuple[str, dict[Item, None]]] = {}
    alike: dict[frozenset[Item], str] = {}
    for name in upwards:
        switch = switches[name]
        hosts = dict.fromkeys((False, host) for host in switch.nodes)
        inner = dict.fromkeys((True, merged[child][0]) for child in switch.switches)
        children = {**hosts, **inner}
        first = alike.setdefault(frozenset(children), name) if children else name
        merged[name] = first, children
    return {name: merged[name] for name in switches}


def _adopt(
    parents: dict[Item, str],
    child: Item,
    parent: str,
    switches: Mapping[str, Switch],
    merged: Mapping[str, tuple[str, dict[Item, None]]],
    text: Text,
) -> None:
    other = parents.setdefault(child, parent)
    if other != parent:
        kind = "switch" if child[0] else "host"
        line = max((switches[name].line or 0 for name in (other, parent)), default=0)
        raise text.error(
            line or None,
            f"{kind} {child[1]} has two parents, {other} and {parent}, which have different "
            "children: expected a tree",
        )


def _join_names(merged: Mapping[str, tuple[str, dict[Item, None]]]) -> dict[str, str]:
    """Return the name of each domain: those of all its switches.

    Examples
    --------
    >>> _join_names({"s": ("s", {}), "l": ("l", {}), "t": ("s", {})})
    {'s': 's+t', 'l': 'l'}
    """
    members: dict[str, list[str]] = {}
    for name, (domain, _) in merged.items():
        members.setdefault(domain, []).append(name)
    return {domain: "+".join(names) for domain, names in members.items()}


def _path(item: Item, parents: Mapping[Item, str], names: Mapping[str, str]) -> tuple[str, ...]:
    path: list[str] = []
    while item in parents:
        item = (True, parents[item])
        path.append(names[item[1]])
    return tuple(reversed(path))

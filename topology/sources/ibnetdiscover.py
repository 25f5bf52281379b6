"""``ibnetdiscover``: the switches and adapters of an InfiniBand fabric.

A leaf is a switch with adapters. Leaves that share a host are the rails of one domain. A
switch above is as high as it is far from the nearest leaf.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dgraph.topology.reading import Reading
from dgraph.topology.sources.switches import Switch, paths_of
from dgraph.topology.sources.text import Notes, Text

NAME = "ibnetdiscover"

_FIRST = re.compile(r'^Switch\s+\d+\s+"S-', re.MULTILINE)
_HEAD = re.compile(r'(Switch|Ca|Rt)\s+\d+\s+"([^"]+)"\s*(?:#\s*"([^"]*)")?.*')
_PORT = re.compile(r'\[\d+\](?:\([^)]*\))?\s*"([SHR])-([^"]+)"\[[^\]]*\](?:\([^)]*\))?(.*)')
_SAID = re.compile(r'#\s*"([^"]*)"')
_KEY = re.compile(r"\w+=\S*")

# What stands in front of or instead of a host's name if the adapter was not told it.
_NO_HOST = re.compile(
    r"(MT\d+|mlx\d|HCA|hfi\d|qib\d|mthca|localhost|\(none\))\S*$", re.IGNORECASE
)


@dataclass
class _Found:
    """A switch: its name, line, hosts and neighbours (by GUID)."""

    name: str
    line: int
    hosts: dict[str, None] = field(default_factory=dict)
    near: dict[str, int] = field(default_factory=dict)


def recognise(text: Text) -> bool:
    """Say whether a text looks like this format."""
    return bool(_FIRST.search(text.content))


def parse(text: Text, **options: Any) -> Reading:
    """Read what ibnetdiscover has found.

    Examples
    --------
    >>> found = '''Switch 2 "S-1"  # "MF0;leaf1:X/U1" enhanced port 0
    ... [1] "H-a"[1](a)  # "n1 mlx5_0" lid 3 4xNDR
    ... [2] "H-b"[1](b)  # "n2 mlx5_0" lid 4 4xNDR'''
    >>> parse(Text(found)).paths
    {'n1': ('leaf1',), 'n2': ('leaf1',)}
    """
    notes = Notes()
    found = _scan(text, notes)
    height = _heights(found)
    rails = _rails(found)
    names = _names(found, rails)
    switches: dict[str, Switch] = {}
    for guid in _useful(found, height, rails):
        each, name = found[guid], names[rails[guid]]
        switch = switches.setdefault(name, Switch(name, each.line))
        switch.nodes += [host for host in each.hosts if host not in switch.nodes]
        for other in each.near:
            if height[other] == height[guid] and rails[other] != rails[guid]:
                pair = " and ".join(sorted((each.name, found[other].name)))
                notes.add(f"a link between {pair} is ignored: both are equally high")
            lower = names[rails[other]]
            if height[other] < height[guid] and lower in switches:
                switch.switches.append(lower)
        switch.switches = list(dict.fromkeys(switch.switches))
    paths, _ = paths_of(switches, text)
    return Reading(NAME, paths, warnings=notes.all())


def _scan(text: Text, notes: Notes) -> dict[str, _Found]:
    """Read the sections of switches; those of adapters repeat what these say."""
    found: dict[str, _Found] = {}
    current: _Found | None = None
    for number, raw in text.lines(comment=""):
        line = raw.strip()
        if line.startswith("#") or _KEY.fullmatch(line.split("#")[0].strip()):
            continue
        if head := _HEAD.fullmatch(line):
            current = None
            if head[1] == "Switch":
                guid = head[2].removeprefix("S-")
                current = found[guid] = _Found(_switch_name(head[3], guid), number)
        elif line.startswith("["):
            if current is not None:
                _read_port(line, current, text, number, notes)
        else:
            raise text.error(number, f"expected a switch, adapter or port, got {line!r:.60}")
    for each in found.values():
        for guid, number in each.near.items():
            if guid not in found:
                raise text.error(number, f"expected a section of switch S-{guid}, got none")
    return found


def _switch_name(said: str | None, guid: str) -> str:
    """Return the name in ``MF0;leaf1:MQM9701/U1``, else what was said, else the GUID."""
    name = (said or "").strip()
    if ";" in name:
        name = name.split(";", 1)[1].split(":", 1)[0]
    return name or guid


def _read_port(line: str, switch: _Found, text: Text, number: int, notes: Notes) -> None:
    match = _PORT.fullmatch(line)
    if not match:
        raise text.error(number, f'expected a port such as [1] "H-..."[1], got {line!r:.60}')
    kind, guid, rest = match.groups()
    said = _SAID.search(rest)
    if kind == "S":
        switch.near.setdefault(guid, number)
    elif kind == "H":
        words = (said[1] if said else "").split()
        if "Aggregation Node" in " ".join(words):
            return
        if not words or _NO_HOST.match(words[0]):
            notes.add(
                f"line {number}: an adapter without a host name: {' '.join(words) or guid}"
            )
        else:
            switch.hosts[words[0]] = None


def _heights(found: Mapping[str, _Found]) -> dict[str, int]:
    """Return each switch's number of links to the nearest leaf."""
    height = {guid: 0 for guid, each in found.items() if each.hosts}
    edge = list(height)
    while edge:
        nearest = {near: height[guid] + 1 for guid in edge for near in found[guid].near}
        edge = [guid for guid in nearest if guid not in height]
        height.update({guid: nearest[guid] for guid in edge})
    return {guid: height.get(guid, 0) for guid in found}


def _useful(
    found: Mapping[str, _Found], height: Mapping[str, int], rails: Mapping[str, str]
) -> list[str]:
    """Return, by height, the switches that have hosts or join two domains below.

    Others are leaves on which nothing hangs: they would seem to be above everything.
    """
    domain: dict[str, Any] = {}
    for guid in sorted(found, key=height.__getitem__):
        lower = {
            domain[near]
            for near in found[guid].near
            if height[near] < height[guid] and near in domain
        }
        if found[guid].hosts:
            domain[guid] = rails[guid]
        elif len(lower) > 1:
            domain[guid] = frozenset(lower)
    return list(domain)


def _rails(found: Mapping[str, _Found]) -> dict[str, str]:
    """Return for each switch the first leaf that it shares hosts with, if by many steps."""
    leader = {guid: guid for guid in found}

    def first(guid: str) -> str:
        while leader[guid] != guid:
            leader[guid] = guid = leader[leader[guid]]
        return guid

    position = {guid: at for at, guid in enumerate(found)}
    seen: dict[str, str] = {}
    for guid, each in found.items():
        for host in each.hosts:
            pair = sorted((first(guid), first(seen.setdefault(host, guid))), key=position.get)  # type: ignore[arg-type]
            leader[pair[1]] = pair[0]
    return {guid: first(guid) for guid in found}


def _names(found: Mapping[str, _Found], rails: Mapping[str, str]) -> dict[str, str]:
    """Return the name of each domain of rails, told apart by GUID if two are named alike."""
    members: dict[str, list[str]] = {}
    for guid, first in rails.items():
        members.setdefault(first, []).append(found[guid].name)
    names = {first: "+".join(each) for first, each in members.items()}
    return {
        first: name if list(names.values()).count(name) == 1 else f"{name} ({first})"
        for first, name in names.items()
    }

"""Topograph's instances: the network layers of each, the closest first."""

from __future__ import annotations

from typing import Any

from dgraph.topology.reading import Reading
from dgraph.topology.sources.located import expect, load, warn_of_unknown
from dgraph.topology.sources.text import Notes, Text

NAME = "topograph"


def recognise(text: Text) -> bool:
    """Say whether a text looks like this format."""
    return '"network_layers"' in text.content and '"instances"' in text.content


def parse(text: Text, **options: Any) -> Reading:
    """Read instances that topograph has found at any provider.

    Examples
    --------
    >>> parse(Text('{"instances": [{"id": "a", "network_layers": ["leaf", "spine"]}]}')).paths
    {'a': ('spine', 'leaf')}
    """
    notes = Notes()
    found = load(text)
    listed = expect(found, "instances", list, text)
    warn_of_unknown(found, ("instances",), notes)
    paths: dict[str, tuple[str, ...]] = {}
    for each in listed:
        name = expect(each, "id", str, text, found)
        warn_of_unknown(each, ("id", "network_layers", "labels"), notes)
        if name in paths:
            raise text.error(each.line, f"instance {name} is listed twice")
        layers = each.get("network_layers") or []
        if not isinstance(layers, list) or not all(isinstance(layer, str) for layer in layers):
            raise text.error(each.line, f'expected names in "network_layers": {layers!r:.60}')
        if not layers:
            notes.add(f"{name} has no network layers: a domain of its own")
        paths[name] = tuple(reversed(layers))
    return Reading(NAME, paths, warnings=notes.all())

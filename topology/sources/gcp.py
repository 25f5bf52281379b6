"""GCP instances: ``gcloud compute instances list --format json``, or ``physical_host``."""

from __future__ import annotations

from typing import Any

from dgraph.topology.reading import Reading
from dgraph.topology.sources.located import Located, expect, load
from dgraph.topology.sources.text import Notes, Text

NAME = "gcp"

LEVELS = ("cluster", "block", "subblock", "host")


def recognise(text: Text) -> bool:
    """Say whether a text looks like this format."""
    keys = ('"physicalHost"', '"physicalHostTopology"', '"physical_host"', '"resourceStatus"')
    return text.content.lstrip()[:1] in ("[", "{") and any(k in text.content for k in keys)


def parse(text: Text, **options: Any) -> Reading:
    """Read a list of instances.

    An instance says where it is in ``resourceStatus``, or in ``physical_host``, the attribute
    of the metadata service: ``/block/subblock/host``. Ids of sub-blocks and hosts are local.

    Examples
    --------
    >>> parse(Text('[{"name": "v", "zone": "zones/z", "physical_host": "/b/s/h"}]')).paths
    {'v': ('z', '(cluster)', 'b', 's', 'h')}
    """
    notes = Notes()
    found = load(text)
    listed = found if isinstance(found, list) else expect(found, "items", list, text)
    paths: dict[str, tuple[str, ...]] = {}
    for each in listed:
        name = expect(each, "name", str, text, listed)
        if name in paths:
            raise text.error(each.line, f"instance {name} is listed twice")
        zone = each.get("zone")
        above = [zone.rsplit("/", 1)[-1]] if isinstance(zone, str) and zone else []
        paths[name] = (*above, *_place(name, each, text, notes))
    return Reading(NAME, paths, warnings=notes.all())


def _place(name: str, instance: Located, text: Text, notes: Notes) -> list[str]:
    status = instance.get("resourceStatus") or {}
    if not isinstance(status, dict):
        raise text.error(instance.line, f'expected an object in "resourceStatus": {status!r}')
    where = status.get("physicalHostTopology")
    if isinstance(where, dict) and where:
        names = [
            expect(where, level, str, text, instance) if where.get(level) else f"({level})"
            for level in LEVELS
        ]
        while names and names[-1].startswith("("):
            names.pop()
        return names
    host = status.get("physicalHost") or instance.get("physical_host")
    if not host:
        notes.add(f"{name} has no placement")
        return []
    parts = str(host).strip("/").split("/")
    if len(parts) not in (3, 4) or not all(parts):
        raise text.error(instance.line, f"expected /block/subblock/host, got {host!r}")
    if len(parts) == 3:
        notes.add(f"{name} has physicalHost only, which does not tell the cluster")
        parts.insert(0, "(cluster)")
    return parts

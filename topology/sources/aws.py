"""``aws ec2 describe-instance-topology``: network nodes of every instance, the top first."""

from __future__ import annotations

from typing import Any

from dgraph.topology.reading import Reading
from dgraph.topology.sources.located import expect, load, warn_of_unknown
from dgraph.topology.sources.text import Notes, Text

NAME = "aws"

_KEYS = (
    "InstanceId",
    "InstanceType",
    "GroupName",
    "NetworkNodes",
    "CapacityBlockId",
    "AvailabilityZone",
    "ZoneId",
)


def recognise(text: Text) -> bool:
    """Say whether a text looks like this format."""
    return '"InstanceId"' in text.content and '"Instances"' in text.content


def parse(text: Text, **options: Any) -> Reading:
    """Read the answer of the command; an instance is known by its id.

    Examples
    --------
    >>> instance = '{"InstanceId": "i-1", "ZoneId": "z", "NetworkNodes": ["t", "l"]}'
    >>> parse(Text(f'{{"Instances": [{instance}]}}')).paths
    {'i-1': ('z', 't', 'l')}
    """
    notes = Notes()
    answer = load(text)
    listed = expect(answer, "Instances", list, text)
    warn_of_unknown(answer, ("Instances", "NextToken"), notes)
    if answer.get("NextToken"):
        notes.add("more pages (NextToken): the instances on the others are missing")
    paths: dict[str, tuple[str, ...]] = {}
    blocks: dict[str, str] = {}
    for each in listed:
        name = expect(each, "InstanceId", str, text, answer)
        if name in paths:
            raise text.error(each.line, f"instance {name} is listed twice")
        warn_of_unknown(each, _KEYS, notes)
        nodes = each.get("NetworkNodes") or []
        if not isinstance(nodes, list) or not all(isinstance(node, str) for node in nodes):
            raise text.error(each.line, f'expected names in "NetworkNodes", got {nodes!r:.60}')
        if not nodes:
            notes.add(f"{name} has no network nodes")
        zone = each.get("ZoneId") or each.get("AvailabilityZone")
        paths[name] = (*([zone] if isinstance(zone, str) else []), *nodes)
        if each.get("CapacityBlockId") not in (None, "", "null"):
            blocks[name] = each["CapacityBlockId"]
    details = {"capacity_blocks": blocks} if blocks else {}
    return Reading(NAME, paths, warnings=notes.all(), details=details)

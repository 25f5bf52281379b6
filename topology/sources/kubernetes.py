"""``kubectl get nodes -o json``: where the labels of nodes say that they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dgraph.topology.reading import Reading
from dgraph.topology.sources.located import expect, load
from dgraph.topology.sources.text import Notes, Text

NAME = "kubernetes"

REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
RACK = "topology.kubernetes.io/rack"

_TIER = re.compile(r"fabric\.topograph\.run/tier-(\d+)")


@dataclass(frozen=True)
class Family:
    """Labels that belong together, outermost first.

    Parameters
    ----------
    name : str
    labels : tuple of str
    local : bool
        Whether a value means something below its parent only, so that it may come again
        elsewhere.
    """

    name: str
    labels: tuple[str, ...]
    local: bool = False


_GPU_CLIQUE = "nvidia.com/gpu.clique"

FAMILIES = (
    Family(
        "network.topology.nvidia.com",
        tuple(
            f"network.topology.nvidia.com/{level}"
            for level in ("datacenter", "spine", "block", "accelerator")
        ),
    ),
    Family(
        "topology.k8s.aws",
        tuple(f"topology.k8s.aws/network-node-layer-{layer}" for layer in range(1, 5)),
    ),
    Family(
        "cloud.google.com",
        tuple(
            f"cloud.google.com/gce-topology-{level}" for level in ("block", "subblock", "host")
        ),
        local=True,
    ),
    Family(
        "oci.oraclecloud.com",
        tuple(f"oci.oraclecloud.com/host.{level}" for level in ("network_block_id", "rack_id")),
    ),
    Family(
        "cloud.provider.com",
        tuple(f"cloud.provider.com/topology-{level}" for level in ("block", "rack")),
    ),
    Family("nvidia.com/gpu.clique", (_GPU_CLIQUE,)),
    Family("topology.kubernetes.io/rack", (RACK,)),
)


def recognise(text: Text) -> bool:
    """Say whether a text looks like this format."""
    return '"metadata"' in text.content and '"items"' in text.content


def parse(text: Text, labels: Sequence[str] | None = None, **options: Any) -> Reading:
    """Read the labels of nodes.

    Parameters
    ----------
    text : Text
    labels : sequence of str, optional
        The labels to take below region and zone, outermost first. Default: the first family
        that any node has (see `FAMILIES`; before them those of topograph, tiers by number).

    Examples
    --------
    >>> node = '{"items": [{"metadata": {"name": "n", "labels": {"example.org/row": "r"}}}]}'
    >>> parse(Text(node), labels=["example.org/row"]).paths
    {'n': ('r',)}
    """
    notes = Notes()
    nodes = _labels_of_nodes(text)
    family = _family(nodes, labels)
    paths: dict[str, tuple[str, ...]] = dict.fromkeys(nodes, ())
    for label in (REGION, ZONE):
        _descend(paths, nodes, label, notes, local=False)
    if RACK not in family.labels and any(RACK in found for found in nodes.values()):
        _descend(dict(paths), nodes, RACK, notes, local=False)  # only to warn
    above = dict(paths)
    for label in family.labels:
        _descend(paths, nodes, label, notes, local=family.local)
    for name in nodes:
        if not paths[name]:
            notes.add(f"{name} has no labels that tell its place: a domain of its own")
        elif family.labels and paths[name] == above[name]:
            notes.add(f"{name} has no network labels")
    details = {"family": family.name or None}
    return Reading(NAME, paths, warnings=notes.all(), details=details)


def _labels_of_nodes(text: Text) -> dict[str, dict[str, str]]:
    found = load(text)
    nodes: dict[str, dict[str, str]] = {}
    for item in expect(found, "items", list, text):
        metadata = expect(item, "metadata", dict, text, found)
        name = expect(metadata, "name", str, text, item)
        labels = metadata.get("labels") or {}
        if not isinstance(labels, dict):
            raise text.error(metadata.line, f'expected an object in "labels": {labels!r:.60}')
        if name in nodes:
            raise text.error(metadata.line, f"node {name} is listed twice")
        nodes[name] = {label: str(value) for label, value in labels.items() if value}
    return nodes


def _family(nodes: dict[str, dict[str, str]], labels: Sequence[str] | None) -> Family:
    """Return the labels to take below region and zone."""
    if labels is not None:
        return Family("given", tuple(labels))
    present = {label for found in nodes.values() for label in found}
    tiers = {int(match[1]): label for label in present if (match := _TIER.fullmatch(label))}
    topograph = [tiers[tier] for tier in sorted(tiers, reverse=True)]
    topograph += [
        label
        for level in ("domain", "sub-domain")
        if (label := f"accelerator.topograph.run/{level}") in present
    ]
    for family in (Family("fabric.topograph.run", tuple(topograph)), *FAMILIES):
        if present.intersection(family.labels):
            return family
    return Family("", ())


def _descend(
    paths: dict[str, tuple[str, ...]],
    nodes: dict[str, dict[str, str]],
    label: str,
    notes: Notes,
    *,
    local: bool,
) -> None:
    """Add what a label says to the paths, unless one value lies in two domains."""
    parents: dict[str, tuple[str, ...]] = {}
    for name, found in nodes.items():
        value = found.get(label)
        if (
            value is not None
            and not local
            and parents.setdefault(value, paths[name]) != paths[name]
        ):
            notes.add(
                f"label {label} does not nest, {value} lies in {_shown(parents[value])} and in "
                f"{_shown(paths[name])}: it is not used"
            )
            return
    for name, found in nodes.items():
        if label in found:
            paths[name] += _parts(label, found[label])


def _parts(label: str, value: str) -> tuple[str, ...]:
    """Return the domains that a value names: a clique of GPUs is cluster.clique."""
    if label == _GPU_CLIQUE and "." in value:
        cluster, clique = value.rsplit(".", 1)
        return cluster, clique
    return (value,)


def _shown(path: tuple[str, ...]) -> str:
    return "/".join(path) or "no domain"

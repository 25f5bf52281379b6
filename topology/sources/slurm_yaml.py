"""Slurm's ``topology.yaml``: a list of topologies, of which one is taken."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from dgraph.topology.reading import Reading
from dgraph.topology.sources.blocks import paths_of_blocks
from dgraph.topology.sources.hostlist import expand
from dgraph.topology.sources.lattices import Cells, reading_of, torus_of
from dgraph.topology.sources.located import Listed, Located, expect, warn_of_unknown
from dgraph.topology.sources.slurm_conf import reading_of_switches
from dgraph.topology.sources.switches import Switch
from dgraph.topology.sources.text import Notes, Text

NAME = "slurm-yaml"

_FIRST = re.compile(r"^\s*-\s+topology\s*:", re.MULTILINE)
_KINDS = ("tree", "block", "ring", "torus3d", "flat")
_KEYS = ("topology", "cluster_default", *_KINDS)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """The safe loader, with mappings that know their lines."""


def _construct(loader: Any, node: Any) -> Located:
    found = Located(loader.construct_mapping(node, deep=True))
    found.line = node.start_mark.line + 1
    return found


def _construct_list(loader: Any, node: Any) -> Listed:
    found = Listed(loader.construct_sequence(node, deep=True))
    found.line = node.start_mark.line + 1
    return found


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _construct)
_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_SEQUENCE_TAG, _construct_list)


def recognise(text: Text) -> bool:
    """Say whether a text looks like this format."""
    return bool(_FIRST.search(text.content))


def parse(text: Text, name: str | None = None, **options: Any) -> Reading:
    """Read a topology.yaml.

    Parameters
    ----------
    text : Text
    name : str, optional
        Of the topology to take. Default: the first that is the cluster's default, else the
        first.

    Examples
    --------
    >>> listed = '''
    ... - topology: main
    ...   tree:
    ...     switches:
    ...       - {switch: s, children: "e[1-2]"}
    ...       - {switch: e1, nodes: "q[1-2]"}
    ...       - {switch: e2, nodes: q3}
    ... - topology: plain
    ...   flat: true'''
    >>> parse(Text(listed)).paths
    {'q1': ('s', 'e1'), 'q2': ('s', 'e1'), 'q3': ('s', 'e2')}
    >>> parse(Text(listed), name="plain").paths
    {}
    """
    chosen = _choose(_load(text), name, text)
    notes = Notes()
    warn_of_unknown(chosen, _KEYS, notes)
    kinds = [kind for kind in _KINDS if chosen.get(kind)]
    if len(kinds) != 1:
        raise text.error(
            chosen.line,
            f"expected one of {', '.join(_KINDS)} in topology {chosen['topology']}, got "
            f"{' and '.join(kinds) or 'none'}",
        )
    return _READ[kinds[0]](chosen, text, notes)


def _load(text: Text) -> list[Any]:
    try:
        found = yaml.load(text.content, _Loader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = getattr(error, "problem", None) or "it is nested too deeply"
        line = mark.line + 1 if mark else None
        raise text.error(line, f"expected YAML, got a fault: {problem}") from None
    if not isinstance(found, list) or not found:
        raise text.error(1, "expected a list of topologies, got something else")
    return found


def _choose(listed: list[Any], name: str | None, text: Text) -> Located:
    named = {expect(each, "topology", str, text, listed): each for each in listed}
    if name is not None:
        if name not in named:
            raise text.error(None, f"expected topology {name}, got {', '.join(named)}")
        found: Located = named[name]
        return found
    default = [each for each in listed if each.get("cluster_default") is True]
    chosen: Located = (default or listed)[0]
    return chosen


def _list(record: Mapping[str, Any], key: str, text: Text) -> str:
    value = record.get(key) or ""
    if not isinstance(value, str):
        raise text.error(getattr(record, "line", None), f"expected names in {key}: {value!r}")
    return value


def _read_tree(chosen: Located, text: Text, notes: Notes) -> Reading:
    tree = expect(chosen, "tree", dict, text)
    switches: dict[str, Switch] = {}
    for each in expect(tree, "switches", list, text):
        name = expect(each, "switch", str, text, tree)
        warn_of_unknown(each, ("switch", "children", "nodes", "link_speed"), notes)
        if name in switches:
            raise text.error(each.line, f"switch {name} is described twice")
        nodes = expand(_list(each, "nodes", text), text, each.line)
        below = expand(_list(each, "children", text), text, each.line)
        switches[name] = Switch(name, each.line, nodes, below)
    return reading_of_switches(switches, text, notes, NAME)


def _read_block(chosen: Located, text: Text, notes: Notes) -> Reading:
    block = expect(chosen, "block", dict, text)
    warn_of_unknown(block, ("block_sizes", "blocks"), notes)
    blocks: dict[str, list[str]] = {}
    for each in expect(block, "blocks", list, text):
        name = expect(each, "block", str, text, block)
        warn_of_unknown(each, ("block", "nodes"), notes)
        if name in blocks:
            raise text.error(each.line, f"block {name} is described twice")
        blocks[name] = expand(_list(each, "nodes", text), text, each.line)
    sizes = block.get("block_sizes") or []
    if not isinstance(sizes, list) or not all(isinstance(size, int) for size in sizes):
        raise text.error(block.line, f"expected numbers in block_sizes, got {sizes!r:.60}")
    paths = paths_of_blocks(blocks, sizes, text, block.line)
    return Reading(NAME, paths, warnings=notes.all())


def _read_flat(chosen: Located, text: Text, notes: Notes) -> Reading:
    return Reading(NAME, {}, warnings=notes.all(), details={"flat": True})


def _read_ring(chosen: Located, text: Text, notes: Notes) -> Reading:
    ring = expect(chosen, "ring", dict, text)
    warn_of_unknown(ring, ("rings",), notes)
    rings: dict[str, Cells] = {}
    for each in expect(ring, "rings", list, text):
        name = expect(each, "ring", str, text, ring)
        warn_of_unknown(each, ("ring", "nodes"), notes)
        if name in rings:
            raise text.error(each.line, f"ring {name} is described twice")
        hosts = expand(_list(each, "nodes", text), text, each.line)
        rings[name] = Cells([len(hosts)], hosts, each.line)
    return reading_of(rings, text, notes, NAME)


def _read_torus(chosen: Located, text: Text, notes: Notes) -> Reading:
    torus = expect(chosen, "torus3d", dict, text)
    warn_of_unknown(torus, ("toruses",), notes)
    tori: dict[str, Cells] = {}
    for each in expect(torus, "toruses", list, text):
        name = expect(each, "name", str, text, torus)
        if name in tori:
            raise text.error(each.line, f"torus {name} is described twice")
        tori[name] = torus_of(each, text, notes)
    return reading_of(tori, text, notes, NAME)


_READ: Mapping[str, Callable[[Located, Text, Notes], Reading]] = {
    "tree": _read_tree,
    "block": _read_block,
    "ring": _read_ring,
    "torus3d": _read_torus,
    "flat": _read_flat,
}

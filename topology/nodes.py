"""A domain tree as nested nodes, the form in which it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dgraph.errors import OptionError, OptionTypeError

Shape: TypeAlias = "int | Sequence[Shape]"
Key = tuple[str, int]  # name and number of a domain


@dataclass
class Node:
    """A domain: the slots that lie directly in it, or the domains below it."""

    name: str = ""
    slots: list[int] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)


def node_of_shape(shape: Shape) -> Node:
    """Return the domain of a nested list of sizes; slots are numbered from left to right.

    >>> [child.slots for child in node_of_shape([2, 1]).children]
    [[0, 1], [2]]
    """
    return _node_of_shape(shape, [0])


def _node_of_shape(shape: Shape, counter: list[int]) -> Node:
    if isinstance(shape, Sequence):
        if not shape or isinstance(shape, str):
            raise OptionError(
                f"expected numbers in nested lists, got {shape!r}; see from_shape"
            )
        return Node(children=[_node_of_shape(inner, counter) for inner in shape])
    if shape < 1:
        raise OptionError(f"expected at least one slot per domain, got {shape}; leave it out")
    first = counter[0]
    counter[0] += shape
    return Node(slots=list(range(first, counter[0])))


def node_of_paths(paths: Mapping[int, str | Sequence[str]]) -> Node:
    """Return the outermost domain of slots with these paths of domain names.

    >>> root = node_of_paths({0: "a/x", 1: "a/y", 2: "a/x"})
    >>> root.name, [(child.name, child.slots) for child in root.children]
    ('a', [('x', [0, 2]), ('y', [1])])
    """
    nodes: dict[tuple[str, ...], Node] = {(): Node()}
    for slot in range(len(paths)):
        path = _split(paths[slot])
        for depth in range(1, len(path) + 1):
            if path[:depth] not in nodes:
                nodes[path[:depth]] = Node(path[depth - 1])
                nodes[path[: depth - 1]].children.append(nodes[path[:depth]])
        nodes[path].slots.append(slot)
    for node in nodes.values():
        if node.slots and node.children:  # slots beside domains: a lowest domain of their own
            node.children.append(Node(node.name, node.slots))
            node.slots = []
    root = nodes[()]
    return root.children[0] if len(root.children) == 1 else root


def _split(path: str | Sequence[str]) -> tuple[str, ...]:
    parts = path.split("/") if isinstance(path, str) else path
    if not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts):
        raise OptionTypeError(
            'expected a path such as "dc1/rack2/host3", or a list of names, for each slot, got '
            f"{path!r}"
        )
    return tuple(part for part in parts if part)


def partitions(root: Node) -> list[list[Key]]:
    """Return per level the name and number of each slot's highest domain up to that height.

    >>> partitions(node_of_shape([1, [1]]))
    [[('', 1), ('', 3)], [('', 1), ('', 2)], [('', 0), ('', 0)]]
    """
    above: dict[int, list[tuple[int, Key]]] = {}  # per slot: (height, domain), from below
    height = _climb(root, above, [0])
    levels = []
    for level in range(height + 1):
        domains = [[key for h, key in above[slot] if h <= level][-1] for slot in sorted(above)]
        levels.append(domains)
    return levels


def _climb(node: Node, above: dict[int, list[tuple[int, Key]]], counter: list[int]) -> int:
    key = (node.name, counter[0])
    counter[0] += 1
    below: dict[int, list[tuple[int, Key]]] = {slot: [] for slot in node.slots}
    heights = [_climb(child, below, counter) for child in node.children]
    height = 1 + max(heights, default=-1)
    for slot, domains in below.items():
        above[slot] = [*domains, (height, key)]
    return height

"""``lstopo --of xml`` of hwloc 2 and 3: packages, caches, cores and memory of one machine.

And the NVLinks between its GPUs, where hwloc was built with NVML.
"""

from __future__ import annotations

import re
from typing import Any

from dgraph.topology.reading import Reading
from dgraph.topology.sources.elements import Element, numbers, objects, read_document
from dgraph.topology.sources.nvlinks import links_of
from dgraph.topology.sources.text import Notes, Text

NAME = "hwloc"

#: The objects that are domains, outermost first; a PU is what has a path.
DOMAINS = ("Group", "Package", "Die", "L3Cache", "Core")

#: The other objects that there can be.
OTHERS = frozenset(
    {
        *("Machine", "PU", "NUMANode", "MemCache", "L1Cache", "L2Cache", "L4Cache", "L5Cache"),
        *("L1iCache", "L2iCache", "L3iCache", "Bridge", "PCIDev", "OSDev", "Misc"),
    }
)

_FIRST = re.compile(r"<topology\b")


def recognise(text: Text) -> bool:
    """Say whether a text looks like this format."""
    return text.content.lstrip().startswith("<") and bool(_FIRST.search(text.content))


def parse(text: Text, **options: Any) -> Reading:
    """Read the topology of a machine; a core with one PU is no domain of its own.

    Examples
    --------
    >>> machine = '''<topology version="2.0"><object type="Machine">
    ... <object type="L3Cache"><object type="PU" os_index="0" cpuset="0x1"/></object>
    ... <object type="L3Cache"><object type="PU" os_index="1" cpuset="0x2"/></object>
    ... </object></topology>'''
    >>> parse(Text(machine)).paths
    {'0': ('L3Cache:0',), '1': ('L3Cache:1',)}
    """
    root = read_document(text)
    version = root.attributes.get("version", "1")
    if root.tag != "topology" or version.split(".")[0] not in ("2", "3"):
        raise text.error(
            root.line,
            f"expected XML of hwloc 2 or 3, got <{root.tag}> of version {version}: write it "
            "again with a newer lstopo --of xml",
        )
    notes = Notes()
    pus, nodes = _walk(root, text, notes)
    chains = {index: chain for index, _, chain in pus}
    details: dict[str, Any] = {
        "pus": {str(index): list(chains[index]) for index in sorted(chains)},
        "numa_of_pu": _attach(pus, nodes),
        "numa_distances": _distances(root, nodes, text),
        **links_of(root, text),
    }
    crowd = [chain for chain in chains.values() if chain and chain[-1].startswith("Core:")]
    paths = {
        str(index): chain[:-1] if crowd.count(chain) == 1 else chain
        for index, chain in sorted(chains.items())
    }
    return Reading(NAME, paths, warnings=notes.all(), details=details, unit="PU")


Pu = tuple[int, int, tuple[str, ...]]  # OS index, cpuset, chain of domains


def _walk(root: Element, text: Text, notes: Notes) -> tuple[list[Pu], list[tuple[int, int]]]:
    """Return the PUs and the NUMA nodes (OS index, cpuset), both in document order."""
    pus: list[Pu] = []
    nodes: list[tuple[int, int]] = []
    counts: dict[str, int] = {}

    def visit(element: Element, chain: tuple[str, ...]) -> None:
        kind = element.attributes.get("type", "")
        if kind in DOMAINS:
            chain = (*chain, f"{kind}:{counts.setdefault(kind, 0)}")
            counts[kind] += 1
        elif kind == "NUMANode":
            nodes.append(
                (_index(element, text), cpuset(element.attributes, text, element.line))
            )
        elif kind == "PU":
            number = _index(element, text)
            pus.append((number, cpuset(element.attributes, text, element.line), chain))
        elif kind not in OTHERS:
            notes.add(f"line {element.line}: unknown object {kind} is ignored")
        for child in objects(element):
            visit(child, chain)

    for machine in objects(root):
        visit(machine, ())
    if not pus:
        raise text.error(root.line, "expected at least one PU, got none")
    return pus, nodes


def _index(element: Element, text: Text) -> int:
    index = element.attributes.get("os_index", "")
    if not index.isdigit():
        raise text.error(element.line, f"expected os_index to be a number, got {index!r}")
    return int(index)


def cpuset(attributes: dict[str, str], text: Text, line: int) -> int:
    """Return a cpuset as the bits of a number; its words stand most significant first.

    Examples
    --------
    >>> cpuset({"cpuset": "0x10,0x0"}, Text(""), 1) == 1 << 36
    True
    """
    bits = 0
    for word in attributes.get("cpuset", "").split(","):
        try:
            bits = bits << 32 | (int(word, 16) if word else 0)
        except ValueError:
            raise text.error(line, f"expected words such as 0x10,0x0, got {word!r}") from None
    return bits


def _attach(pus: list[Pu], nodes: list[tuple[int, int]]) -> dict[str, int | None]:
    """Return for each PU the number of the smallest NUMA node that has it."""
    order = sorted(range(len(nodes)), key=lambda node: nodes[node][1].bit_count())
    return {
        str(index): next((node for node in order if nodes[node][1] & bits), None)
        for index, bits, _ in sorted(pus)
    }


def _distances(
    root: Element, nodes: list[tuple[int, int]], text: Text
) -> list[list[int]] | None:
    """Return the distances between NUMA nodes in document order; None if there are none."""
    for element in root.children:
        about = element.attributes
        if element.tag == "distances2" and about.get("type") == "NUMANode":
            indexes = numbers(element, "indexes", text)
            values = numbers(element, "u64values", text)
            if len(values) != len(indexes) ** 2:
                raise text.error(
                    element.line,
                    f"expected {len(indexes) ** 2} distances of {len(indexes)} NUMA nodes, got "
                    f"{len(values)}",
                )
            places = {index: at for at, index in enumerate(indexes)}
            if about.get("indexing") == "os" and all(index in places for index, _ in nodes):
                order = [places[index] for index, _ in nodes]
            else:
                order = list(range(len(indexes)))
            return [[values[i * len(indexes) + j] for j in order] for i in order]
    return None

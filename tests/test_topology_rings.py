"""Slurm's rings and tori: hops between hosts against a search along described links."""

from __future__ import annotations

import contextlib
import itertools
import pickle
import random
import warnings
from collections import deque
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.errors import DgraphError, OptionError, TopologyError, TopologyWarning
from dgraph.topology import Topology
from dgraph.topology.lay import Laid, lay

Cell = tuple[int, int, int]


def search(links: dict[str, set[str]], start: str) -> dict[str, int]:
    """Return the hops to every host that can be reached."""
    hops, queue = {start: 0}, deque([start])
    while queue:
        here = queue.popleft()
        for there in links[here] - hops.keys():
            hops[there] = hops[here] + 1
            queue.append(there)
    return hops


def beside(cell: Cell, shape: tuple[int, int, int]) -> set[Cell]:
    found = set()
    for axis, sign in itertools.product(range(3), (1, -1)):
        place = list(cell)
        place[axis] = (place[axis] + sign) % shape[axis]
        found.add((place[0], place[1], place[2]))
    return found


def check_hops(tree: Topology, links: dict[str, set[str]]) -> None:
    names = list(links)
    found = tree.distance(np.array(names)[:, None], np.array(names)[None], metric="hops")
    for row, host in zip(found.tolist(), names, strict=True):
        hops = search(links, host)
        assert row == [hops.get(other, np.inf) for other in names]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_rings(sizes: list[int], chance: random.Random) -> None:
    hosts = [f"n{number}" for number in range(sum(sizes))]
    chance.shuffle(hosts)
    rings: dict[str, list[str]] = {}
    links: dict[str, set[str]] = {}
    for number, size in enumerate(sizes):
        ring, hosts = hosts[:size], hosts[size:]
        rings[f"ring{number}"] = ring
        links |= {host: {ring[at - 1], ring[(at + 1) % size]} for at, host in enumerate(ring)}
    conf = "".join(f"RingName={r} Nodes={','.join(h)}\n" for r, h in rings.items())
    shown = "".join(
        f"RingName={r} Nodes={','.join(h)} RingSize={len(h)}\n" for r, h in rings.items()
    )
    listed = [{"ring": r, "nodes": ",".join(h)} for r, h in rings.items()]
    written = yaml.safe_dump([{"topology": "t", "ring": {"rings": listed}}], sort_keys=False)
    trees = [Topology.read(text) for text in (conf, shown, written)]
    for tree in trees:
        assert tree.paths == {host: (ring,) for ring, held in rings.items() for host in held}
        assert tree == trees[0]
        check_hops(tree, links)
    assert trees[2].reading is not None
    assert trees[2].reading.format == "slurm-yaml"


@st.composite
def tori(draw: Any) -> tuple[tuple[int, int, int], list[tuple[Cell, Cell]]]:
    """Draw a torus and regions of it that are apart: slabs along one axis, not all of them."""
    x, y, z = (draw(st.integers(1, 4)) for _ in range(3))
    shape = (x, y, z)
    axis = draw(st.integers(0, 2))
    cuts = sorted(draw(st.sets(st.integers(0, shape[axis]), min_size=2)))
    regions: list[tuple[Any, Any]] = []
    for low, high in itertools.pairwise(cuts):
        if draw(st.integers(0, 3)) or not regions:
            anchor = tuple(low if at == axis else 0 for at in range(3))
            size = tuple(high - low if at == axis else whole for at, whole in enumerate(shape))
            regions.append((anchor, size))
    return shape, regions


def named(numbers: Cell) -> dict[str, int]:
    return dict(zip("xyz", numbers, strict=True))


@settings(deadline=None)
@given(tori())
def test_a_torus_by_regions(drawn: tuple[Cell, list[tuple[Cell, Cell]]]) -> None:
    shape, regions = drawn
    host_of: dict[Cell, str] = {}
    written = []
    for number, (anchor, size) in enumerate(regions):
        inside = list(itertools.product(*(range(size[axis]) for axis in (2, 1, 0))))
        for at, (z, y, x) in enumerate(inside):  # x fastest
            cell = (anchor[0] + x, anchor[1] + y, anchor[2] + z)
            host_of[cell] = f"r{number}n{at + 1}"
        nodes = f"r{number}n[1-{len(inside)}]"
        written.append({"anchor": named(anchor), "dims": named(size), "nodes": nodes})
    torus = {"name": "pod", "dims": named(shape), "regions": written}
    tree = Topology.read(yaml.safe_dump([{"topology": "t", "torus3d": {"toruses": [torus]}}]))
    assert tree.paths == dict.fromkeys(tree.slot_names, ("pod",))
    assert set(tree.slot_names) == set(host_of.values())
    links: dict[str, set[str]] = {}  # cells without a host are links too
    for x, y, z in itertools.product(*map(range, shape)):
        cell = (x, y, z)
        called = host_of.get(cell, str(cell))
        links[called] = {host_of.get(other, str(other)) for other in beside(cell, shape)}
    for host in tree.slot_names:
        hops = search(links, host)
        found = tree.distance(host, list(tree.slot_names), metric="hops")
        assert found.tolist() == [hops[other] for other in tree.slot_names]
    assert pickle.loads(pickle.dumps(tree)).reading == tree.reading


def test_hops_of_slots_that_are_laid_on_a_ring() -> None:
    ring = Topology.read("RingName=r Nodes=n[0-4]").reading
    assert ring is not None
    hosts = ["n3", "n0", "elsewhere", "n0", "n2"]
    workers = [Laid(2, f"pid {n}", host, [host]) for n, host in enumerate(hosts)]
    laid, missing = lay(workers, ring, "somewhere")
    assert missing == ["elsewhere"]
    kept = [pickle.loads(pickle.dumps(laid)), Topology.from_dict(laid.to_dict())]
    for tree in (laid, *kept, laid.collapse()):
        found = tree.distance(0, np.arange(10), metric="hops")
        assert found.tolist() == [0, 0, 2, 2, np.inf, np.inf, 2, 2, 1, 1]
    flat = Topology.from_dict(Topology.from_fanouts([2, 2]).to_dict())
    with pytest.raises(OptionError, match="rings or tori"):
        flat.distance(0, 1, metric="hops")


POD = """
- topology: other
  tree: {switches: [{switch: s, nodes: a}]}
- topology: pods
  cluster_default: true
  torus3d:
    toruses:
      - name: pod1
        dims: {x: 4, y: 4, z: 2}
        nodes: node[01-32]
        placements:
          - dims: {x: 2, y: 2, z: 1}
      - name: pod2
        dims: {x: 2, y: 2, z: 1}
        nodes: m[1-4]
"""


def test_the_example_of_the_manual() -> None:
    tree = Topology.read(POD)
    assert tree.slots == 36
    assert tree.level("node01", ["node32", "m1"]).tolist() == [0, 1]
    hops = tree.distance(
        "node01", ["node04", "node13", "node17", "node11", "m1"], metric="hops"
    )
    assert hops.tolist() == [1, 1, 1, 4, np.inf]
    assert tree.reading is not None
    assert tree.reading.details["lattices"]["pod2"] == {
        "shape": [2, 2, 1],
        "hosts": ["m1", "m2", "m3", "m4"],
    }


SHOWN = """TorusName=pod1 Dims=4x4x2 Nodes=node[01-32]
  TorusName=pod1 PlacementDims=2x2x1(4) Anchors=8
TorusName=pod2 Dims=2x2x1 Nodes=m[1-3]
"""


def test_tori_that_scontrol_shows_are_domains_whose_cells_are_not_known() -> None:
    """It lists hosts in the order of its own table, and says nothing of empty cells."""
    with pytest.warns(TopologyWarning, match=r"hops are read from topology\.yaml"):
        shown = Topology.read(SHOWN)
    assert shown.reading is not None
    assert shown.reading.format == "scontrol"
    written = Topology.read(POD.replace("m[1-4]", "'m[1-3],gone'"))
    hosts = [host for host in written.paths if host != "gone"]
    assert shown.paths == {host: written.paths[host] for host in hosts}
    with pytest.raises(OptionError, match="rings or tori"):
        shown.distance("node01", "node02", metric="hops")


def test_a_torus_without_hosts_is_warned_of() -> None:
    with pytest.warns(TopologyWarning) as said:
        tree = Topology.read("TorusName=p Dims=1x1x2 Nodes=a,b\nTorusName=spare Dims=2x2x2")
    assert any("line 2: torus spare has no hosts" in str(each.message) for each in said)
    assert tree.paths == {"a": ("p",), "b": ("p",)}


def torus(dims: str = "{x: 2, y: 2, z: 1}", rest: str = "nodes: 'n[1-4]'") -> str:
    return (
        "- topology: t\n  torus3d:\n    toruses:\n"
        f"      - name: p\n        dims: {dims}\n        {rest}\n"
    )


def region(x: int, width: int) -> str:
    return f"{{anchor: {{x: {x}, y: 0, z: 0}}, dims: {{x: {width}, y: 1, z: 1}}, nodes: a}}"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("RingName=a Nodes=n[1-3]\nRingName=b Nodes=n3", 2, "stands twice, in a and b"),
        ("RingName=a Nodes=n,n", 1, "stands twice"),
        ("RingName=a Nodes=n1\nRingName=a Nodes=n2", 2, "described twice"),
        ("RingName=a", 1, "expected hosts in a, got none"),
        ("RingName=a Nodes=n[1-2]\nSwitchName=s Nodes=m", 1, "SwitchName="),
        ("RingName=a Nodes=n\nBlockName=b Nodes=m", 2, "RingName="),
        ("- topology: t\n  ring:\n    rings:\n      - ring: a\n", 4, "expected hosts in a"),
        ("TorusName=a Dims=2x2x1 Nodes=n\nTorusName=a Dims=2x2x1", 2, "first in line 1"),
        ("TorusName=a Dims=2x2x1 Nodes=n\nTorusName=b Dims=1x1x1 Nodes=n", 2, "stands twice"),
        ("TorusName=a Dims=2x2x1 Nodes=n[1-5]", 1, "at most 4 hosts"),
        ("TorusName=a Dims=2x0x1 Nodes=n", 1, "Dims such as 4x4x2"),
        ("TorusName=a Nodes=n", 1, "Dims such as 4x4x2"),
        ("TorusName=a Dims=2x2x1 Nodes=n[1-", 1, "n[1-"),
        ("TorusName=a Dims=2x2x1 Nodes=n\nSwitchName=s Level=0 Nodes=m", 1, "SwitchName="),
        (torus(rest="nodes: 'n[1-3]'"), 4, "expected 4 hosts"),
        (torus(dims="{x: 2, y: 2}"), 5, '"z"'),
        (torus(dims="{x: 2, y: 2, z: 0}"), 5, "at least 1"),
        (torus(dims="{x: 4096, y: 4096, z: 4096}"), 4, "at most"),
        (torus(rest="placements: []"), 4, "either nodes or regions"),
        (torus(rest=f"regions: [{region(1, 2)}]"), 6, "inside of"),
        (torus(rest=f"regions: [{region(0, 1)}, {region(0, 1)}]"), 6, "regions apart"),
    ],
)
def test_malformed(text: str, line: int, said: str) -> None:
    with pytest.raises(TopologyError) as caught:
        Topology.read(text)
    assert said in str(caught.value)
    assert f"topology, line {line}: " in str(caught.value)


@given(st.integers(0, len(POD)), st.text("[]{}:-,x1 \n", max_size=3), st.integers(0, 4))
def test_a_damaged_file_is_refused_or_read_but_never_crashes(
    at: int, put: str, lost: int
) -> None:
    with contextlib.suppress(DgraphError), warnings.catch_warnings():
        warnings.simplefilter("ignore", TopologyWarning)
        Topology.read(POD[:at] + put + POD[at + lost :], "slurm-yaml")


def test_hops_need_rings() -> None:
    with pytest.raises(OptionError, match="rings or tori"):
        Topology.from_fanouts([2, 2]).distance(0, 1, metric="hops")
    with pytest.raises(OptionError, match="'hops', not 'feet'"):
        Topology.from_fanouts([2, 2]).distance(0, 1, metric="feet")

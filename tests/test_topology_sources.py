"""Every sample of the shared folder gives what its expected.json says; texts of our own too."""

from __future__ import annotations

import contextlib
import itertools
import json
import pickle
import random
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dgraph.errors import TopologyError, TopologyWarning
from dgraph.topology import Topology
from dgraph.topology.cliques import cover
from dgraph.topology.reading import find_host
from dgraph.topology.sources import FORMATS
from dgraph.topology.sources.text import Text

#: The words by which a warning of expected.json is known in ours.
WORDS = {
    "several roots": ("several roots", "top", "island"),
    "unknown switch unknown-7": ("unknown switch unknown-7",),
    "a worker without topology variables": (
        "without topology variables",
        "tcp://10.0.0.6:40001",
    ),
    "more pages (NextToken)": ("more pages", "NextToken"),
    "i-0e has no network nodes": ("i-0e has no network nodes",),
    "vm-d has physicalHost only": ("vm-d has physicalHost only",),
    "vm-e has no placement": ("vm-e has no placement",),
    "rack does not nest": ("rack does not nest", "r1"),
    "n4 has no network labels": ("n4 has no network labels",),
    "n5 has no labels": ("n5 has no labels",),
    "rank 3 is missing": ("rank 3 is missing",),
    "an adapter without a host name": ("adapter without a host name", "MT4129"),
    "w5 has no place": ("w5 has no place",),
}

#: What an entry says beside what a parser returns.
ABOUT = {"source", "origin", "note", "error", "paths", "heights", "warnings", "by_name"}

FORMAT = {
    "slurm_tree.conf": "slurm",
    "slurm_unbalanced.conf": "slurm",
    "slurm_block.conf": "slurm",
    "scontrol_tree.txt": "scontrol",
    "scontrol_cut.txt": "scontrol",
    "scontrol_block.txt": "scontrol",
    "slurm_topology.yaml": "slurm-yaml",
    "slurm_env.json": "slurm-env",
    "hwloc_v2.xml": "hwloc",
    "nvidia_smi_dgx1v.txt": "nvidia-smi",
    "nvidia_smi_nics.txt": "nvidia-smi",
    "nvidia_smi_nvswitch.txt": "nvidia-smi",
    "nvidia_smi_seven.txt": "nvidia-smi",
    "aws_instances.json": "aws",
    "gcp_instances.json": "gcp",
    "k8s_nodes.json": "kubernetes",
    "k8s_nodes_tiers.json": "kubernetes",
    "instances.json": "topograph",
    "rankfile.txt": "rankfile",
    "ibnetdiscover.txt": "ibnetdiscover",
    "hosts.csv": "csv",
}


@pytest.fixture(scope="module")
def samples(shared: Path) -> Path:
    return shared / "topology_samples"


@pytest.fixture(scope="module")
def expected(samples: Path) -> Mapping[str, Any]:
    entries: Mapping[str, Any] = json.loads((samples / "expected.json").read_text())["samples"]
    return entries


def quietly(*arguments: Any, **options: Any) -> tuple[Topology, list[str]]:
    """Read a topology; return the texts of its warnings too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = Topology.read(*arguments, **options)
    assert all(warning.category is TopologyWarning for warning in caught)
    return tree, [str(warning.message) for warning in caught]


def test_every_sample_is_tested(expected: Mapping[str, Any]) -> None:
    assert expected.keys() == FORMAT.keys()
    assert {*FORMAT.values()} == {each.NAME for each in FORMATS}


@pytest.mark.parametrize("name", FORMAT)
def test_sample(samples: Path, expected: Mapping[str, Any], name: str) -> None:
    entry = expected[name]
    if "error" in entry:
        with pytest.raises(TopologyError, match=r"line 1: bracket not closed.*SLURM_TOPO_LEN"):
            Topology.read(samples / name)
        return
    tree, told = quietly(samples / name)
    assert tree.reading is not None
    assert tree.reading.format == FORMAT[name]
    assert len(told) == len(entry["warnings"])
    for warning, text in zip(entry["warnings"], told, strict=True):
        assert all(word in text for word in WORDS[warning])
    if "paths" in entry:
        assert {host: list(path) for host, path in tree.paths.items()} == entry["paths"]
        assert tree.slot_names == tuple(entry["paths"])
    for one, other, height in entry.get("heights", ()):
        assert tree.level(one, other) == height
    facts = {"level_names": list(tree.reading.level_names), **tree.reading.details}
    for key in entry.keys() - ABOUT:
        assert facts[key] == entry[key], key
    for topology, paths in entry.get("by_name", {}).items():
        named, _ = quietly(samples / name, name=topology)
        assert {host: list(path) for host, path in named.paths.items()} == paths
    assert quietly((samples / name).read_text())[0] == tree
    assert quietly(samples / name, FORMAT[name])[0] == tree
    assert pickle.loads(pickle.dumps(tree)).reading == tree.reading
    assert str(tree)


def test_no_sample_looks_like_another_format(samples: Path) -> None:
    for name, format in FORMAT.items():
        text = Text.of((samples / name).read_text())
        found = [each.NAME for each in FORMATS if each.recognise(text)]
        assert found[0] == format
        assert set(found) <= {format, "slurm"}  # scontrol writes what topology.conf may hold


def test_bytes_marks_and_line_ends_do_not_matter(samples: Path) -> None:
    for name in FORMAT.keys() - {"scontrol_cut.txt"}:
        plain = (samples / name).read_text()
        dressed = "\ufeff" + plain.replace("\n", "\r\n")
        assert quietly(dressed)[0] == quietly(plain)[0]


@pytest.mark.parametrize("name", sorted(FORMAT.keys() - {"scontrol_cut.txt"}))
def test_a_damaged_sample_is_refused_or_read_but_never_crashes(
    samples: Path, name: str
) -> None:
    """Cut and shuffle: whatever comes, it is a topology or a TopologyError."""
    whole = (samples / name).read_text()
    chance = random.Random(name)
    for _ in range(60):
        text = whole[: chance.randrange(len(whole))]
        for _ in range(chance.randrange(3)):
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice('[]{},.:="<>\n &x0') + text[at + 1 :]
        with contextlib.suppress(TopologyError):
            quietly(text + "\n", FORMAT[name])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the ways to everything inside of lists and mappings, itself first."""
    inner: Any = value.items() if isinstance(value, dict) else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    return [path, *itertools.chain(*(places(each, (*path, key)) for key, each in inner))]


def replaced(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """Return the same with something odd in one place."""
    if not path:
        return odd
    again = value.copy()
    again[path[0]] = replaced(value[path[0]], path[1:], odd)
    return again


@pytest.mark.parametrize("name", sorted(n for n in FORMAT if n.endswith((".json", ".yaml"))))
def test_odd_values_are_refused_with_their_line_or_read(samples: Path, name: str) -> None:
    whole = yaml.safe_load((samples / name).read_text())
    chance = random.Random(name)
    odd = [None, 3, 1.5, True, "", "a[", [], [None], {}, {"a": None}, {"name": [3]}]
    ways = [way for way in places(whole) for _ in odd]
    for way in chance.sample(ways, min(len(ways), 400)):
        text = json.dumps(replaced(whole, way, chance.choice(odd)), indent=1)
        said = "topology, line 0: "
        try:
            quietly(text + "\n", FORMAT[name])
        except TopologyError as error:
            said = str(error)
        assert re.match(r"topology(, line \d+: |: expected at least one)", said)


@given(st.integers(1, 7), st.randoms())
def test_cliques_are_disjoint_whole_and_largest_first(size: int, chance: Any) -> None:
    links = [[0] * size for _ in range(size)]
    for i, j in itertools.combinations(range(size), 2):
        links[i][j] = links[j][i] = chance.choice([0, 1, 2])
    found = cover(links)
    assert sorted(itertools.chain(*found)) == list(range(size))
    for clique in found:
        assert all(links[i][j] for i, j in itertools.permutations(clique, 2))
    largest = max(
        len(some)
        for count in range(1, size + 1)
        for some in itertools.combinations(range(size), count)
        if all(links[i][j] for i, j in itertools.permutations(some, 2))
    )
    assert max(map(len, found)) == largest


def test_hosts_match_by_the_full_name_then_before_the_first_dot() -> None:
    hosts = ["n1", "n1.a", "n2.a", "10.0.0.1", "x.a", "x.b"]
    assert find_host(["n1.a"], hosts) == "n1.a"
    assert find_host(["n2"], hosts) == "n2.a"
    assert find_host(["n2.other"], hosts) == "n2.a"
    assert find_host(["x"], hosts) is None
    assert find_host(["10.0.0.2"], hosts) is None
    assert find_host(["unknown", "10.0.0.1"], hosts) == "10.0.0.1"

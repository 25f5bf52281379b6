"""NVLinks as hwloc tells them: the same cliques as nvidia-smi's matrix, and switches."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.errors import TopologyError
from dgraph.topology import Topology

SELF = 1_000_000

Matrix = list[list[int]]


def pieces(tag: str, words: Sequence[object]) -> str:
    """Write words in pieces of ten, as hwloc does."""
    return "".join(
        f"<{tag}>{' '.join(map(str, words[at : at + 10]))} </{tag}>"
        for at in range(0, len(words), 10)
    )


def machine(objects: Sequence[str], matrix: Matrix, keys: Sequence[str]) -> str:
    """Write a machine of one core with devices that are nested in bridges."""
    kinds = {key.split(":")[0] for key in keys}
    values = pieces("u64values", [value for row in matrix for value in row])
    if kinds == {"OSDev"}:
        head, indexes = 'distances2 type="OSDev" indexing="gp"', [key[6:] for key in keys]
    else:
        head, indexes = "distances2hetero", list(keys)
    return (
        '<topology version="2.0"><object type="Machine">'
        '<object type="PU" os_index="0" cpuset="0x1"/>'
        f'<object type="Bridge" gp_index="9">{"".join(objects)}</object></object>'
        '<distances2 type="NUMANode" name="NUMALatency" indexing="os"><indexes>0</indexes>'
        "<u64values>10</u64values></distances2>"
        f'<{head} nbobjs="{len(keys)}" kind="25" name="NVLinkBandwidth">'
        f"{pieces('indexes', indexes)}{values}</{head.split()[0]}></topology>"
    )


def gpu(number: int) -> str:
    return (
        f'<object type="PCIDev" gp_index="{100 + number}">'
        f'<object type="OSDev" gp_index="{200 + number}" name="nvml{number}"/></object>'
    )


def details(text: str) -> dict[str, object]:
    reading = Topology.read(text, "hwloc").reading
    assert reading is not None
    return dict(reading.details)


@given(st.integers(1, 12), st.floats(0, 1), st.randoms(use_true_random=False))
def test_links_are_those_of_nvidia_smi(size: int, share: float, chance: random.Random) -> None:
    links = [[0] * size for _ in range(size)]
    for i, j in itertools.combinations(range(size), 2):
        if chance.random() < share:
            links[i][j] = links[j][i] = chance.randint(1, 4)
    matrix = [
        [25_000 * links[i][j] if i != j else SELF for j in range(size)] for i in range(size)
    ]
    found = details(
        machine(list(map(gpu, range(size))), matrix, [f"OSDev:{200 + i}" for i in range(size)])
    )
    names = "\t".join(f"GPU{i}" for i in range(size))
    rows = [
        f"GPU{i}\t"
        + "\t".join(
            "X" if i == j else f"NV{links[i][j]}" if links[i][j] else "SYS" for j in range(size)
        )
        for i in range(size)
    ]
    reading = Topology.read("\n".join([f"\t{names}", *rows]), "nvidia-smi").reading
    assert reading is not None
    for key in ("cliques", "K_c", "K_g"):
        assert found[key] == reading.details[key]
    assert found["bandwidth"] == [[25_000 * count for count in row] for row in links]
    assert found["devices"] == [f"nvml{i}" for i in range(size)]


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_through_switches(ports: list[list[int]], chance: random.Random) -> None:
    size = len(ports)
    keys = [f"OSDev:{200 + i}" for i in range(size)] + [f"PCIDev:{500 + j}" for j in range(3)]
    values: dict[tuple[str, str], int] = {}
    for i, row in enumerate(ports):
        for j, count in enumerate(row):
            for pair in ((keys[i], keys[size + j]), (keys[size + j], keys[i])):
                values[pair] = 25_000 * count
    order = keys.copy()
    chance.shuffle(order)
    matrix = [[values.get((a, b), SELF * (a == b)) for b in order] for a in order]
    switches = [
        f'<object type="PCIDev" gp_index="{500 + j}" subtype="NVSwitch"/>' for j in range(3)
    ]
    found = details(machine([*map(gpu, range(size)), *switches], matrix, order))
    gpus = [int(key[6:]) - 200 for key in order if key.startswith("OSDev")]
    assert found["devices"] == [f"nvml{i}" for i in gpus]
    assert found["bandwidth"] == [
        [0 if a == b else 25_000 * min(sum(ports[a]), sum(ports[b])) for b in gpus]
        for a in gpus
    ]
    linked = [at for at, i in enumerate(gpus) if sum(ports[i])]
    alone = [[at] for at, i in enumerate(gpus) if not sum(ports[i])]
    assert found["cliques"] == sorted([linked] * bool(linked) + alone)


def test_links_to_a_processor_are_none_between_gpus() -> None:
    package = '<object type="Package" gp_index="3"/>'
    keys = ["OSDev:200", "Package:3", "OSDev:201"]
    matrix = [[SELF, 40_000, 0], [40_000, SELF, 40_000], [0, 40_000, SELF]]
    found = details(machine([gpu(0), gpu(1), package], matrix, keys))
    assert found["cliques"] == [[0], [1]]


def test_a_machine_without_links_says_nothing_of_them() -> None:
    text = '<topology version="2.0"><object type="PU" os_index="0" cpuset="0x1"/></topology>'
    assert not {"devices", "bandwidth", "cliques"} & details(text).keys()


@pytest.mark.parametrize(
    ("matrix", "keys", "said"),
    [
        ([[SELF]], ["OSDev:200", "OSDev:201"], "expected 4 bandwidths of 2 devices, got 1"),
        ([[SELF]], ["OSDev:77"], "expected devices of the machine, got OSDev:77"),
        ([[-1]], ["OSDev:200"], "MB/s"),
        ([[1 << 70]], ["OSDev:200"], "MB/s"),
    ],
)
def test_malformed(matrix: Matrix, keys: list[str], said: str) -> None:
    with pytest.raises(TopologyError, match="line 1") as caught:
        details(machine([gpu(0), gpu(1)], matrix, keys))
    assert said in str(caught.value)

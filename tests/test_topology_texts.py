"""Texts of our own that describe hosts: malformed ones, and families no sample shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.errors import DgraphError, OptionError, TopologyError, TopologyWarning
from dgraph.topology import Topology
from dgraph.topology.sources.hostlist import expand
from dgraph.topology.sources.text import Text

MALFORMED = [
    ("slurm", "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[1", 2, "bracket not closed"),
    ("slurm", "SwitchName=a Nodes=n[1-x]", 1, "numbers and ranges"),
    ("slurm", "SwitchName=a Nodes=n[3-1]", 1, "range"),
    ("slurm", "SwitchName=a Nodes=n1]", 1, "brackets in pairs"),
    ("slurm", "SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", 2, "twice"),
    ("slurm", "SwitchName=a Nodes=n1 Nodes=n2", 1, "once"),
    ("slurm", "SwitchName=a Nodes=n1 n2", 1, "Key=Value"),
    ("slurm", "SwitchName=a Nodes=n1\nNodes=n2", 2, "SwitchName"),
    ("slurm", "SwitchName=a Switches=b\nSwitchName=b Switches=a", None, "cycle"),
    ("slurm", "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[1-2]", 2, "two parents"),
    (
        "slurm",
        "SwitchName=l Nodes=n\nSwitchName=m Nodes=o\nSwitchName=s Switches=l\n"
        "SwitchName=t Switches=l,m",
        4,
        "two parents",
    ),
    ("slurm", "BlockName=a Nodes=n1\nBlockSizes=1,x", 2, "block sizes"),
    ("slurm", "BlockName=a Nodes=n1\nBlockSizes=1,3", 2, "power of two"),
    ("slurm", "BlockName=a Nodes=n1\nBlockName=b Nodes=n1", None, "two blocks"),
    ("slurm", "BlockName=a Nodes=n1\nBlockName=a Nodes=n2", 2, "twice"),
    (
        "scontrol",
        "SwitchName=a Level=1 Switches=b\nSwitchName=b Level=1 Switches=a",
        None,
        "cycle",
    ),
    ("scontrol", "BlockName=a BlockIndex=0 Nodes=n\nAggregatedBlock=b Nodes=n", 2, "described"),
    ("slurm-yaml", "- topology: a\n  tree: ]", 2, "YAML"),
    ("slurm-yaml", "- topology: a\n- topology: b\n  flat: true", 1, "one of tree, block"),
    ("slurm-yaml", "topology: a", 1, "list"),
    ("slurm-yaml", "- topology: a\n  tree:\n    switches:\n      - nodes: q", 4, "switch"),
    ("slurm-yaml", "- topology: !!python/name:os.system x", 1, "YAML"),
    (
        "slurm-env",
        '[{"worker": "w",\n"SLURM_TOPOLOGY_ADDR": "n",\n'
        '"SLURM_TOPOLOGY_ADDR_PATTERN": "switch.node"}]',
        1,
        "parts",
    ),
    ("hwloc", "<topology>\n<object/></topology>", 1, "hwloc 2 or 3"),
    ("hwloc", '<topology version="2.0">\n<object></topology>', 2, "XML"),
    (
        "hwloc",
        '<!DOCTYPE t [\n<!ENTITY a "b">]>\n<topology version="2.0">&a;</topology>',
        2,
        "entities",
    ),
    (
        "hwloc",
        '<topology version="2.0">\n<object type="PU" os_index="x"/></topology>',
        2,
        "os_index",
    ),
    (
        "hwloc",
        '<topology version="2.0">\n<object type="PU" os_index="1" cpuset="0xz"/>\n</topology>',
        2,
        "0x10,0x0",
    ),
    ("hwloc", '<topology version="2.0">\n</topology>', 1, "PU"),
    ("nvidia-smi", " GPU0 GPU1\nGPU0 X NV1\nGPU1 NV2 X", 2, "symmetric"),
    ("nvidia-smi", "\n GPU0 GPU1\nGPU0 X NV1", 2, "row of GPU1"),
    ("nvidia-smi", " GPU0 GPU1\nGPU0 X NV1\nGPU1 NV1", 3, "2 links"),
    ("nvidia-smi", " GPU0 GPU1\nGPU0 X NVX\nGPU1 NVX X", 2, "NV#"),
    ("nvidia-smi", " GPU0 GPU1\nGPU0 X NV1\nGPU2 NV1 X", 3, "GPU2"),
    (
        "topograph",
        '{"instances": [{"id": "a", "network_layers": ["l"]},\n{"id": 3}]}',
        2,
        "str",
    ),
    ("topograph", '{"instances": [\n{"id": "a", "network_layers": "l"}]}', 2, "network_layers"),
    ("aws", '{"Instances": [\n{"ZoneId": "z"}]}', 2, "InstanceId"),
    ("aws", '{"Instances": [\n"i"]}', 1, "InstanceId"),
    ("aws", '{"Instances": [\n{"InstanceId": "i"},\n{"InstanceId": "i"}]}', 3, "twice"),
    ("gcp", '[{"name": "a",\n"physical_host": "/b"}]', 1, "block"),
    ("gcp", "\n3", 1, "items"),
    ("gcp", '[{"name": "a"},\n3]', 1, "name"),
    (
        "gcp",
        '[\n{"name": "a", "resourceStatus":\n{"physicalHostTopology":\n{"block": ["b"]}}}]',
        4,
        "block",
    ),
    ("slurm-env", '{"worker": "w"}', 1, "list of workers"),
    ("slurm-env", '\n["w"]', 2, "worker"),
    ("slurm-env", '[\n{"worker": "w",\n"SLURM_TOPOLOGY_ADDR": 3}]', 2, "ADDR"),
    ("slurm-yaml", "# two\n- 3\n- topology: a", 2, "topology"),
    ("aws", "[]", 1, "Instances"),
    ("kubernetes", '{"items": [{"metadata": {}}]}', 1, "name"),
    ("rankfile", "rank 0=a slot=0\nrank 1=b", 2, "rank N=host"),
    ("rankfile", "rank 0=a slot=0\nrank 0=b slot=1", 2, "twice"),
    ("rankfile", "rank 0=a slot=1:x", 1, "cores"),
    ("rankfile", f"rank 0=a slot=0\nrank {10**20}=a slot=1", 2, "ranks below"),
    ("ibnetdiscover", 'Switch 2 "S-1" # "a"\n[1] S-2', 2, "port"),
    ("ibnetdiscover", 'Switch 2 "S-1" # "a"\n[1] "S-2"[1] # "b"', 2, "section"),
    ("csv", "host,rack\na,r0\na,r1", 3, "twice"),
    ("csv", "host,rack\na,r0,x", 2, "names"),
    ("csv", "host,rack,rack\na,r0,x", 1, "once"),
    ("csv", 'host,rack\na,"r0', 2, "comma"),
]


@pytest.mark.parametrize(("format", "text", "line", "said"), MALFORMED)
def test_malformed(format: str, text: str, line: int | None, said: str) -> None:
    with pytest.raises(TopologyError, match=r"expected|bracket|twice|two") as caught:
        Topology.read(text + "\n", format)
    assert said in str(caught.value)
    if line is not None:
        assert f"topology, line {line}: " in str(caught.value)


def test_what_is_no_topology(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match="one of the formats"):
        Topology.read("nothing\nof the kind\n")
    with pytest.raises(OptionError, match="format must be"):
        Topology.read("host\na\n", "excel")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Topology.read(tmp_path / "nowhere.csv")
    with pytest.raises(DgraphError, match=r"no file topology.yaml or topology.conf in "):
        Topology.read(str(tmp_path))
    (tmp_path / "latin.csv").write_bytes(b"host,rack\na,\xe9\n")
    with pytest.raises(TopologyError, match=r"latin.csv, line 2: expected text in UTF-8"):
        Topology.read(tmp_path / "latin.csv")


def test_a_folder_gives_the_yaml_before_the_conf(tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text("SwitchName=a Nodes=n1\n")
    assert Topology.read(tmp_path).paths == {"n1": ("a",)}
    (tmp_path / "topology.yaml").write_text(
        "- topology: t\n  tree: {switches: [{switch: b, nodes: n1}]}\n"
    )
    assert Topology.read(str(tmp_path)).paths == {"n1": ("b",)}


def test_lines_of_slurm_are_read_as_slurm_does() -> None:
    tree = Topology.read(
        'SwitchName = l1 Nodes= "n[1-2], n5" \\  # the first\n  LinkSpeed=100\n'
        "SwitchName=l2 LinkSpeed= \\\n\nNodes\t=n3\nSwitchName=s Switches=l[1-2] \\\n"
    )
    l1, l2 = ("s", "l1"), ("s", "l2")
    assert tree.paths == {"n1": l1, "n2": l1, "n5": l1, "n3": l2}
    for odd, line, said in (
        ("SwitchName = a \\\n b", 1, "expected words such as Key=Value, got 'b'"),
        ("SwitchName=a Nodes=b\nSwitchName=c \\\nNodes= \\\nNodes=d", 2, "got Nodes twice"),
    ):
        with pytest.raises(TopologyError, match=f"line {line}: .*{said}"):
            Topology.read(odd + "\n")


def test_a_text_of_one_line() -> None:
    assert Topology.read("SwitchName=a Nodes=n[1-2]").slots == 2


def test_unknown_keys_are_ignored_with_a_warning() -> None:
    for text in (
        "SwitchName=a Nodes=n1 Colour=red\n",
        '{"instances": [{"id": "a", "network_layers": ["l"], "Colour": 1}]}',
        "- topology: t\n  Colour: 1\n  tree: {switches: [{switch: b, nodes: n1}]}\n",
    ):
        with pytest.warns(TopologyWarning, match="unknown key Colour is ignored"):
            Topology.read(text)


numbers = st.integers(0, 120)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4), st.integers(1, 3))
def test_hostlists_are_what_they_say(ranges: list[tuple[int, int]], width: int) -> None:
    pieces, want = [], []
    for one, other in ranges:
        low, high = sorted((one, other))
        pieces.append(f"{low:0{width}}-{high:0{width}}")
        wide = width if len(f"{low:0{width}}") == len(f"{high:0{width}}") or width > 1 else 0
        if f"{low:0{width}}"[0] != "0" and len(str(low)) != len(str(high)):
            wide = 0
        want += [
            f"{number:0{wide}}" if wide else str(number) for number in range(low, high + 1)
        ]
    assert expand(f"n[{','.join(pieces)}]x,y", Text("")) == [*(f"n{w}x" for w in want), "y"]


def test_three_stages_of_a_fat_tree_by_switches_and_by_infiniband() -> None:
    conf = "\n".join(
        [
            *(f"SwitchName=l{pod}{at} Nodes=h{pod}{at}" for pod in "ab" for at in "12"),
            *(f"SwitchName=s{pod}{at} Switches=l{pod}[1-2]" for pod in "ab" for at in "12"),
            "SwitchName=c1 Switches=sa1,sb1",
            "SwitchName=c2 Switches=sa2,sb2",
        ]
    )
    want = {
        f"h{pod}{at}": ("c1+c2", f"s{pod}1+s{pod}2", f"l{pod}{at}")
        for pod in "ab"
        for at in "12"
    }
    assert Topology.read(conf).paths == want
    links = [(f"s{pod}{s}", f"l{pod}{at}") for pod in "ab" for s in "12" for at in "12"]
    links += [(f"c{s}", f"s{pod}{s}") for pod in "ab" for s in "12"]
    links += [("sa1", "idle"), ("sa2", "idle")]  # a leaf on which nothing hangs
    ports: dict[str, list[str]] = {}
    for one, other in links:
        ports.setdefault(one, []).append(other)
        ports.setdefault(other, []).append(one)
    lines = []
    for switch, others in sorted(ports.items()):
        lines.append(f'Switch 9 "S-{switch}" # "MF0;{switch}:X/U1" enhanced port 0')
        lines += [f'[{at}] "S-{other}"[1] # "{other}"' for at, other in enumerate(others)]
        if switch.startswith("l"):
            lines.append(f'[9] "H-{switch}"[1](1) # "h{switch[1:]} mlx5_0" lid 1 4xNDR')
    assert Topology.read("\n".join(lines)).paths == want


def test_labels_of_nodes_in_other_families() -> None:
    def listed(**nodes: dict[str, str]) -> str:
        items = [{"metadata": {"name": n, "labels": labels}} for n, labels in nodes.items()]
        return json.dumps({"items": items})

    gce = "cloud.google.com/gce-topology-"
    local = listed(
        a={f"{gce}block": "b1", f"{gce}subblock": "s"},
        b={f"{gce}block": "b2", f"{gce}subblock": "s"},
    )
    assert Topology.read(local).paths == {"a": ("b1", "s"), "b": ("b2", "s")}
    cliques = listed(a={"nvidia.com/gpu.clique": "c.0"}, b={"nvidia.com/gpu.clique": "c.1"})
    assert Topology.read(cliques).paths == {"a": ("c", "0"), "b": ("c", "1")}
    racks = listed(
        a={"topology.kubernetes.io/rack": "r"}, b={"topology.kubernetes.io/rack": "q"}
    )
    assert Topology.read(racks).paths == {"a": ("r",), "b": ("q",)}
    tiers = listed(
        a={
            "fabric.topograph.run/tier-10": "t",
            "fabric.topograph.run/tier-9": "n",
            "accelerator.topograph.run/domain": "d",
        }
    )
    assert Topology.read(tiers).paths == {"a": ("t", "n", "d")}
    assert Topology.read(racks, labels=["topology.kubernetes.io/rack"]).paths["a"] == ("r",)


def test_cpu_sets_and_cores_of_two() -> None:
    pu = '<object type="PU" os_index="{0}" cpuset="{1}"/>'
    core = '<object type="Core">' + pu + pu + "</object>"
    first = core.replace("{0}", "0", 1).replace("{1}", "0x1", 1).format(36, "0x10,0x0")
    second = '<object type="Core">' + pu.format(1, "0x2") + "</object>"
    node = '<object type="NUMANode" os_index="7" cpuset="0x10,0x3"/>'
    machine = f'<object type="Machine">{node}{first}{second}</object>'
    tree = Topology.read(f'<topology version="3.0">{machine}</topology>')
    assert tree.slot_names == ("0", "1", "36")
    assert tree.level("0", ["36", "1"]).tolist() == [0, 1]
    assert tree.reading is not None
    assert tree.reading.details["numa_of_pu"] == {"0": 0, "1": 0, "36": 0}

"""Where a topology comes from, and how workers find their places in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, Nanny, SpecCluster
from distributed.scheduler import Scheduler

import dgraph as dg
from dgraph.engine.discovery import as_topology, settle
from dgraph.engine.spec import Member
from dgraph.errors import DgraphError, OptionError, TopologyWarning
from dgraph.events import History, Note, listening
from dgraph.topology import Reading, Topology
from dgraph.topology.lay import Laid, lay
from tests.clusters import LOCAL, asynchronously, cluster

HOSTS = "host,pod,rack\nw0,p0,r0\nw1.example.org,p0,r0\nw2,p0,r1\nw3,p1,r2\n"


def members(count: int, slots: int = 2, **about: Any) -> tuple[Member, ...]:
    """Return workers on hosts w0, w1, ...; each key of about is a list by worker."""
    return tuple(
        Member(
            f"tcp://10.0.0.{n}:1",
            "pid 1",
            f"host {n}",
            slots,
            tuple(range(n * slots, (n + 1) * slots)),
            None,
            tuple({"HOSTNAME": f"w{n}", **{k: v[n] for k, v in about.items() if v[n]}}.items()),
        )
        for n in range(count)
    )


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("DGRAPH_TOPOLOGY", raising=False)
    with dask.config.set({"dgraph.topology": None}):
        yield


def test_slots_lie_below_their_hosts_by_name() -> None:
    tree = settle(members(4), HOSTS)
    assert tree.slots == 8
    assert tree.slot_names == ("w0", "w0", *["w1.example.org"] * 2, "w2", "w2", "w3", "w3")
    assert tree.level_names == ("process", "host", "rack", "pod", "")
    assert tree.levels(0).tolist() == [0, 0, 2, 2, 3, 3, 4, 4]
    assert "topology= topology (csv)" in tree.source


def test_what_all_share_is_left_out_at_the_top() -> None:
    tree = settle(members(2), HOSTS)
    assert tree.level_names == ("process", "host", "rack")
    assert tree.levels(0).tolist() == [0, 0, 2, 2]
    assert settle(members(1), HOSTS).height == 1


def test_hosts_that_the_source_lacks_are_domains_of_their_own() -> None:
    with pytest.warns(TopologyWarning, match="it has no host w4"):
        tree = settle(members(5, 1), HOSTS)
    assert tree.levels(4).tolist() == [4, 4, 4, 4, 0]
    with pytest.raises(OptionError, match="set DGRAPH_HOST"):
        settle(members(3), "host,rack\na,r0\n")


def test_a_source_for_other_hosts_serves_slot_by_slot_if_there_are_as_many() -> None:
    tree = Topology.read("host,rack\na,r0\nb,r0\nc,r1\n")
    assert settle(members(3, 1), tree) == tree


def test_a_flat_source() -> None:
    flat = "- topology: t\n  flat: true\n"
    assert settle(members(3), flat).levels(0).tolist() == [0, 0, 2, 2, 2, 2]


def test_an_explicit_topology_needs_as_many_slots() -> None:
    assert settle(members(2), Topology.from_fanouts([2, 2])).levels(0).tolist() == [0, 0, 1, 1]
    with pytest.raises(OptionError, match="topology has 6 slots, the graph 4"):
        settle(members(2), Topology.from_fanouts([3, 2]))
    for wrong in (7, ["a/b"]):
        with pytest.raises(DgraphError, match="topology must be"):
            as_topology(wrong)


def test_processes_of_a_host_are_told_apart_below_it() -> None:
    rows = [Laid(1, process, "h0", ["w0"]) for process in "ab"] + [Laid(1, "a", "h2", ["w2"])]
    reading = Reading("csv", {"w0": ("r0",), "w2": ("r1",)})
    tree, missing = lay(rows, reading, "somewhere")
    assert tree.levels(0).tolist() == [0, 1, 3]
    assert not missing


SLURM = {
    "SLURM_TOPOLOGY_ADDR": ["s1.l1.w0", "s1.l1.w1", "s1.l2.w2"],
    "SLURM_TOPOLOGY_ADDR_PATTERN": ["switch.switch.node"] * 3,
}


def test_the_documented_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = {}
    for name in ("argument", "variable", "file", "config", "nodes"):
        files[name] = tmp_path / f"{name}.csv"
        files[name].write_text(HOSTS)
    there = members(3, 1, **SLURM)
    monkeypatch.setenv("DGRAPH_TOPOLOGY", str(files["variable"]))
    with dask.config.set({"dgraph.topology": str(files["config"])}):
        given = {"topology": files["argument"], "file": files["file"], "nodes": files["nodes"]}
        found = [settle(there, **given).source]
        del given["topology"]
        found.append(settle(there, **given).source)
        monkeypatch.delenv("DGRAPH_TOPOLOGY")
        found.append(settle(there, **given).source)
        del given["file"]
        found.append(settle(there, **given).source)
    found.append(settle(there, **given).source)
    found.append(settle(members(3, 1), **given).source)
    found.append(settle(members(3, 1)).source)
    found.append(settle(members(1, 1)).source)
    words = [
        "topology= argument.csv (csv)",
        "DGRAPH_TOPOLOGY variable.csv (csv)",
        "file= file.csv (csv)",
        "dgraph.topology config.csv (csv)",
        "SLURM_TOPOLOGY_ADDR of the workers",
        "nodes= nodes.csv (csv)",
        "processes and hosts",
        "one process",
    ]
    assert found == words


def test_slurm_says_where_its_workers_are() -> None:
    tree = settle(members(3, 1, **SLURM))
    assert tree.levels(0).tolist() == [0, 2, 3]
    partly: dict[str, list[str]] = {key: [*values[:2], ""] for key, values in SLURM.items()}
    with pytest.warns(TopologyWarning) as caught:
        tree = settle(members(3, 1, **partly))
    assert len(caught) == 2  # it has no variables, and so no place
    assert tree.levels(2).tolist() == [4, 4, 0]


def test_what_is_of_another_cluster_is_left_out_unless_it_was_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = "host,rack\na,r0\nb,r1\n"
    monkeypatch.setenv("DGRAPH_TOPOLOGY", elsewhere)
    with pytest.warns(TopologyWarning, match="names none of the hosts.*it is not used"):
        tree = settle(members(3))
    assert tree.source == "processes and hosts"
    with pytest.warns(TopologyWarning, match="it is not used"):
        assert settle(members(3, 1, **SLURM)).source == "SLURM_TOPOLOGY_ADDR of the workers"
    with pytest.raises(OptionError, match="names none of the hosts"):
        settle(members(3), elsewhere)
    monkeypatch.setenv("DGRAPH_TOPOLOGY", "host,rack\na,r0,x\n")
    with pytest.raises(ValueError, match=r"^DGRAPH_TOPOLOGY: topology, line 2: "):
        settle(members(3))  # it is wrong, whatever the cluster
    monkeypatch.setenv("DGRAPH_TOPOLOGY", "nowhere.conf")
    with pytest.raises(FileNotFoundError, match=r"^DGRAPH_TOPOLOGY: .* no file nowhere.conf"):
        settle(members(3))
    monkeypatch.delenv("DGRAPH_TOPOLOGY")
    with (
        dask.config.set({"dgraph.topology": 7}),
        pytest.raises(TypeError, match=r"^dgraph.topology: topology must be"),
    ):
        settle(members(3))


def test_variables_of_slurm_that_cannot_be_read_are_left_out() -> None:
    odd = {**SLURM, "SLURM_TOPOLOGY_ADDR": ["w0", "w1", "s1[2.l2.w2"]}
    with pytest.warns(TopologyWarning, match="it is not used"):
        assert settle(members(3, 1, **odd)).source == "processes and hosts"


def test_an_event_says_what_was_used() -> None:
    with listening(History()) as history:
        settle(members(3, 1), HOSTS)
        settle(members(3, 1))
    (note,) = history.events
    assert isinstance(note, Note)
    assert note.text == "topology: topology= topology (csv); 3 slots, 4 levels"


@contextmanager
def named_workers(about: list[Mapping[str, str]]) -> Iterator[Client]:
    """Yield a client of worker processes with environments of their own."""
    options: dict[str, Any] = {"nthreads": 1, "memory_limit": 0, "dashboard_address": LOCAL}
    workers = {
        str(n): {"cls": Nanny, "options": {**options, "env": dict(each)}}
        for n, each in enumerate(about)
    }
    scheduler = {"cls": Scheduler, "options": {"dashboard_address": LOCAL, "host": "127.0.0.1"}}
    with (
        SpecCluster(scheduler=scheduler, workers=workers) as started,
        Client(started, set_as_default=False) as client,
    ):
        yield client


EDGES = np.array([[1, 2], [2, 3], [3, 4], [1, 5]])


def test_a_graph_knows_the_racks_of_its_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with named_workers([{"DGRAPH_HOST": "w2"}, {"DGRAPH_HOST": "w0.other"}]) as client:
        with dg.from_edges(EDGES, topology=HOSTS, client=client) as g:
            # all workers are on one host, but under two names
            assert sorted(g.topology.slot_names) == ["w0", "w2"]
            assert g.topology.level(0, 1) == 3
            dg.bfs(g, 1)
            assert set(g.runs[-1].frames) <= {0, 1, 2, 3}
            assert g.runs[-1].frames[3] > 0
        path = tmp_path / "hosts.csv"
        path.write_text(HOSTS)
        monkeypatch.setenv("DGRAPH_TOPOLOGY", str(path))
        tree = Topology.discover(client)
        assert tree.level(0, 1) == 3
        assert tree.source == "DGRAPH_TOPOLOGY hosts.csv (csv)"
        with dg.from_edges(EDGES, topology="discover", client=client) as g:
            assert g.topology == tree
            assert g.topology.source == tree.source
        with dg.from_edges(EDGES, topology=Topology.from_fanouts([2]), client=client) as g:
            assert g.topology.height == 0


def test_discovery_in_one_process() -> None:
    with cluster(1, 2, processes=False) as client:
        tree = Topology.discover(client)
        assert (tree.slots, tree.height, tree.source) == (2, 0, "one process")
        with pytest.raises(ValueError, match="line 2"):
            dg.from_edges(EDGES, topology="host,rack\na,b,c\n", client=client)
        with pytest.raises(ValueError, match="topology has 3 slots"):
            dg.from_edges(EDGES, topology=Topology.from_fanouts([3]), client=client)


def test_an_asynchronous_client_awaits() -> None:
    async def work(client: Client) -> Topology:
        found: Topology = await Topology.discover(client, virtual_slots=4)
        return found

    assert asynchronously(work).slots == 4


def test_nodes_of_kubernetes(shared: Path) -> None:
    listed = shared / "topology_samples" / "k8s_nodes_tiers.json"
    names = [item["metadata"]["name"] for item in json.loads(listed.read_text())["items"]]
    tree = settle(members(3, 1, NODE_NAME=names), nodes=listed)
    assert tree.levels(0).tolist() == [0, 3, 4]
    assert tree.source == "nodes= k8s_nodes_tiers.json (kubernetes)"

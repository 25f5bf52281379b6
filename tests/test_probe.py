"""What a probe measures is fitted, kept and found again; costs come of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import dask
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgraph.config import TRANSPORTS
from dgraph.engine.carriers import carrier
from dgraph.engine.launch import read_options
from dgraph.engine.probe import pairs
from dgraph.engine.spec import Member
from dgraph.errors import OptionError, TopologyError
from dgraph.exchange.transport.world import Place
from dgraph.topology import CostModel, Probe, Topology
from dgraph.topology.probed import SIZES, WIRE, Link, fit, keep, kept

pytestmark = pytest.mark.usefixtures("probes")


def ideal(level: int, transport: str, alpha: float, beta: float) -> Link:
    times = tuple(alpha + beta * size for size in SIZES)
    return Link(level, transport, (0, 1), SIZES, times, alpha, beta)


LINKS = (
    ideal(0, "reference", 1e-5, 0.0),
    ideal(2, "unix", 1e-5, 2e-9),
    ideal(2, "comm", 4e-4, 1e-9),
    ideal(3, "comm", 2e-3, 1e-8),
    ideal(3, WIRE, 1e-3, 1e-8),
)
PROBE = Probe(3, ("a", "b"), LINKS, ("process", "host", "rack", "pod"))


@given(st.floats(1e-6, 0.1), st.floats(1e-11, 1e-6))
def test_a_fit_finds_what_the_times_were_made_of(alpha: float, beta: float) -> None:
    found = fit(SIZES, [alpha + beta * size for size in SIZES])
    assert found[0] == pytest.approx(alpha + beta)
    assert found[1] == pytest.approx(beta, rel=1e-3)


@given(st.lists(st.floats(1e-7, 1.0), min_size=len(SIZES), max_size=len(SIZES)))
def test_a_fit_of_any_times_is_a_cost(times: list[float]) -> None:
    alpha, beta = fit(SIZES, times)
    CostModel((alpha,), (beta,))


def test_what_a_probe_says() -> None:
    assert PROBE.best(2, 1) == "unix"
    assert PROBE.best(2, 1 << 24) == "comm"
    assert PROBE.best(3, 1) == "comm"  # the wire is none of ours
    ((size, before, after),) = PROBE.crossovers(2)
    assert (before, after) == ("unix", "comm")
    assert LINKS[1].at(size) >= LINKS[2].at(size)
    assert LINKS[1].at(size // 2) < LINKS[2].at(size // 2)
    assert PROBE.crossovers(1) == PROBE.crossovers(3) == []
    assert PROBE.network(3) == LINKS[4]
    assert PROBE.network(1) is None
    assert PROBE.costs(3) == ((1e-5, 1e-5, 1e-5, 2e-3), (0.0, 0.0, 2e-9, 1e-8))
    assert "level 2: comm is faster than unix" in str(PROBE)
    assert "3 pod" in str(PROBE)
    assert PROBE._repr_html_() == f"<pre>{PROBE}</pre>"
    assert float(LINKS[3].at(1 << 25)) == pytest.approx(2e-3 + 1e-8 * (1 << 25))
    with pytest.raises(OptionError, match="expected one of the links"):
        PROBE.link(1, "unix")
    with pytest.raises(OptionError, match="at least 6 levels"):
        PROBE.costs(5)
    with pytest.raises(OptionError, match="two slots meet"):
        PROBE.best(1, 1)


def test_a_probe_is_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "probe.json"
    PROBE.save(path)
    assert Probe.read(path) == PROBE
    assert [file.name for file in tmp_path.iterdir()] == ["probe.json"]
    assert CostModel.of(str(path), 3) == CostModel.from_probe(PROBE)
    assert CostModel.of(PROBE, 2).alpha == (1e-5, 1e-5, 1e-5)
    path.write_text('{"kind": "dgraph-probe",\n"links": [\n{"sizes": 1}]}')
    with pytest.raises(TopologyError, match=r'probe.json, line 3: expected "sizes" to be list'):
        Probe.read(path)
    path.write_text("[]")
    with pytest.raises(TopologyError, match="expected a probe"):
        Probe.read(path)
    with pytest.raises(FileNotFoundError, match="expected a probe"):
        CostModel.of(str(tmp_path / "nowhere.json"), 1)


def test_what_is_wrong_with_costs_says_which_option_they_are_of(tmp_path: Path) -> None:
    path = tmp_path / "probe.json"
    path.write_text("{")
    for cost, said in (
        (str(path), "dgraph.cost: probe.json, line 1: expected JSON"),
        (str(tmp_path / "nowhere.json"), "dgraph.cost: expected a probe, there is no file"),
        ("probed", "dgraph.cost: expected a probe of "),
        ("cheap", "dgraph.cost: expected a cost preset"),
        ({"alpha": [1], "beta": [1]}, "dgraph.cost: expected costs for 2 levels"),
    ):
        with dask.config.set({"dgraph.cost": cost}), pytest.raises(ValueError, match=said):
            read_options(Topology.from_fanouts([2, 2]))


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": ["a", 2]},
        {"sizes": []},
        {"sizes": [64, 1]},
        {"sizes": [0, 1]},
        {"seconds": [1.0]},
        {"seconds": [1.0, 0.0]},
        {"pair": [1]},
        {"alpha": -1.0},
        {"alpha": "x"},
        {"beta": None},
        {"level": 1.5},
    ],
    ids=str,
)
def test_a_probe_that_was_spoiled_is_refused_with_its_line(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    link = Link(0, "unix", (0, 1), (1, 64), (1e-5, 2e-5), 1e-5, 0.0)
    record = json.loads(json.dumps(Probe(0, ("a",), (link,)).to_dict()))
    record["links"][0] |= change
    path = tmp_path / "probe.json"
    text = json.dumps(record, indent=1)
    path.write_text(text)
    line = 1 + text[: text.index('"level"')].count("\n") - 1
    with pytest.raises(TopologyError, match=f"^probe.json, line {line}: expected"):
        CostModel.of(str(path), 0)
    record["links"] = [{**asdict(link), "beta": 0}]  # an integer is a number
    path.write_text(json.dumps(record))
    assert CostModel.of(str(path), 0).alpha == (1e-5,)


def test_a_kept_probe_is_that_of_the_same_hosts_and_levels(probes: Path) -> None:
    def tree(hosts: str) -> Topology:
        return Topology.read("host,a,b,c\n" + "".join(f"{h},p,q,{h}\n" for h in hosts))

    assert tree("ab").height == 2
    probe = Probe(2, ("a", "b"), LINKS[:3])
    path = keep(probe)
    assert path is not None
    assert path.parent == probes
    assert kept(tree("ab")) == kept(tree("ba")) == probe
    assert CostModel.of("probed", tree("ab")).beta == (0.0, 0.0, 2e-9)
    for other in (tree("ac"), Topology.from_fanouts([2, 2])):
        with pytest.raises(FileNotFoundError, match=r"call dgraph.topology.probe"):
            CostModel.of("probed", other)
    with dask.config.set({"dgraph.probes": "/dev/null/nowhere"}):
        assert keep(probe) is None


shapes: st.SearchStrategy[Any] = st.recursive(
    st.integers(1, 3), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=6
)


@given(shapes, st.randoms())
def test_a_pair_for_each_level_at_which_slots_meet(shape: Any, chance: Any) -> None:
    tree = Topology.from_shape(shape)
    owners = sorted(chance.randrange(3) for _ in range(tree.slots))
    found = pairs(tree, owners)
    for level, (one, other) in found.items():
        assert one != other
        assert tree.level(one, other) == level
    firsts = [owners.index(owner) for owner in set(owners)]
    meet = {int(tree.level(i, j)) for i in firsts for j in range(tree.slots) if i != j}
    assert found.keys() == meet


MEASURED = st.tuples(
    st.integers(0, 3), st.sampled_from(["unix", "tcp", "comm", "mpi"]), st.floats(1e-6, 1)
)


@given(st.lists(MEASURED, max_size=8, unique_by=lambda link: link[:2]), st.integers(0, 4))
def test_the_best_transport_of_each_level(
    measured: list[tuple[int, str, float]], height: int
) -> None:
    links = tuple(
        Link(level, name, (0, 1), (1, 64), (time, time), time, 0.0)
        for level, name, time in measured
    )
    best = Probe(3, ("a",), links).carriers(height)
    assert len(best) == height + 1
    for level, name in enumerate(best):
        times = {of: time for at, of, time in measured if at == level}
        assert name == "" if not times else times[name] == min(times.values())


@given(
    st.booleans(),
    st.tuples(st.booleans(), st.booleans()),
    st.tuples(*[st.sampled_from([None, "w", "v"])] * 2),
    st.sampled_from(["auto", "mpi", "shm", "unix", "tcp", "comm"]),
    st.sampled_from(["", "mpi", "shm", "unix", "tcp", "comm", "reference"]),
    st.booleans(),
)
def test_auto_takes_the_best_that_works(
    near: bool, tcp: tuple[bool, bool], worlds: Any, wanted: str, best: str, crowded: bool
) -> None:
    here, there = (
        Member(
            f"tcp://{at}:1",
            str(at),
            "h" if near else str(at),
            1,
            (at,),
            place=None if world is None else Place(world, at, 0, 8),
            tcp=with_tcp,
        )
        for at, (with_tcp, world) in enumerate(zip(tcp, worlds, strict=True))
    )
    full = {"h"} if crowded else set()
    works = {
        "mpi": worlds[0] is not None and worlds[0] == worlds[1] and not (near and crowded),
        "shm": near,
        "unix": near,
        "tcp": all(tcp),
        "comm": True,
    }
    found = carrier(here, there, wanted, full, best)
    assert found == carrier(there, here, wanted, full, best)
    assert found == (
        best if wanted == "auto" and works.get(best) else carrier(here, there, wanted, full)
    )


def test_memory_and_unix_sockets_never_lead_to_another_host() -> None:
    here, there = (
        Member(f"tcp://{at}:1", str(at), host, 1, (at,), place=Place("w", at, 0, 8), tcp=True)
        for at, host in enumerate("ab")
    )
    for wanted, best in product(TRANSPORTS, ("", *TRANSPORTS)):
        found = carrier(here, there, wanted, {"a", "b"}, best)
        assert found in ("mpi", "tcp", "comm")

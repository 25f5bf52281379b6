"""What a probe measures is fitted, kept and found again; costs come of it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
from dgraph.cli import main
from dgraph.engine import doors
from dgraph.engine.carriers import carrier
from dgraph.engine.launch import read_options
from dgraph.engine.probe import pairs
from dgraph.engine.spec import Member
from dgraph.errors import DgraphError, OptionError, TopologyError
from dgraph.exchange.transport.meeting import listen
from dgraph.exchange.transport.world import Place
from dgraph.topology import CostModel, Probe, Topology
from dgraph.topology.probed import SIZES, WIRE, Link, fit, keep, kept
from tests import gangs
from tests.clusters import asynchronously, cluster

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def probes(tmp_path: Path) -> Iterator[Path]:
    """Let what is probed be kept in a folder of the test."""
    with dask.config.set({"dgraph.probes": str(tmp_path / "probes")}):
        yield tmp_path / "probes"


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


def with_slow_sockets(probe: Probe) -> Probe:
    """Return a probe in which comms are faster than Unix sockets."""
    slow = [
        replace(link, seconds=tuple(1.0 + time for time in link.seconds))
        if link.transport == "unix"
        else link
        for link in probe.links
    ]
    return replace(probe, links=tuple(slow))


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
    st.sampled_from(["auto", "mpi", "unix", "tcp", "comm"]),
    st.sampled_from(["", "mpi", "unix", "tcp", "comm", "reference"]),
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
        "unix": near,
        "tcp": all(tcp),
        "comm": True,
    }
    found = carrier(here, there, wanted, full, best)
    assert found == carrier(there, here, wanted, full, best)
    assert found == (
        best if wanted == "auto" and works.get(best) else carrier(here, there, wanted, full)
    )


def test_a_probe_of_two_processes(probes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    edges = np.array([[1, 2], [2, 3]])
    with cluster(2, 2) as client:
        with (
            dask.config.set({"dgraph.cost": "probed"}),
            pytest.raises(FileNotFoundError, match=r"call dgraph.topology.probe"),
        ):
            dg.from_edges(edges, client=client)
        found = dg.topology.probe(client, seconds=0.02, sizes=SIZES[:7], out=out)
        levels = [(link.level, link.transport) for link in found.links]
        assert levels == [(0, "reference"), (1, "unix"), (1, "comm")]
        for link in found.links:
            assert link.sizes[:2] == SIZES[:2]
            assert all(time > 0 for time in link.seconds)
            assert link.alpha > 0
        assert Probe.read(out) == found
        tree = Topology.discover(client)
        assert CostModel.of("probed", tree) == CostModel.from_probe(found)
        assert len(list(probes.iterdir())) == 1
        for cost in ("probed", str(out)):  # later runs reckon with it
            with (
                dask.config.set({"dgraph.cost": cost, "dgraph.routing": "auto"}),
                dg.from_edges(edges, client=client) as g,
            ):
                assert read_options(g.topology).cost == CostModel.from_probe(found)
                assert client.compute(dg.bfs(g, 1).distance.sum()).result() == 3
        with_slow_sockets(found).save(out)  # they take what is the fastest of what works
        members = gangs.members_of(client)
        for asked, transport, comms in (
            (str(out), "auto", 1),
            (str(out), "unix", 0),
            (None, "auto", 0),
        ):
            with dask.config.set({"dgraph.cost": asked, "dgraph.transport": transport}):
                assert gangs.run(client, members, gangs.comms).values == (comms,) * 4
        threads = client.run(lambda: [thread.name for thread in threading.enumerate()])
        assert all("dgraph-probe" not in names for names in threads.values())


def test_what_a_probe_cannot_do() -> None:
    for wrong in ({"sizes": (2, 4)}, {"sizes": (1,)}, {"seconds": 0}, {"topology": 3}):
        with pytest.raises(DgraphError):
            dg.topology.probe(None, **wrong)


def test_an_asynchronous_client_awaits() -> None:
    async def work(client: Client) -> Probe:
        found: Probe = await dg.topology.probe(client, seconds=0.01, keep=False)
        return found

    assert [link.transport for link in asynchronously(work).links] == ["reference"]


@pytest.mark.parametrize("token", [b"x" * doors.TOKEN, b"y" * doors.TOKEN])
def test_a_door_lets_in_who_shows_the_token(tmp_path: Path, token: bytes) -> None:
    path = tmp_path / "door"
    listener = listen(path)
    listener.settimeout(doors.PATIENCE)
    guard = threading.Thread(target=doors._receive, args=(listener, b"x" * doors.TOKEN, path))
    guard.start()
    data = memoryview(bytes(1 << 21))
    with doors._by_socket(os.fspath(path), token, data) as trip:
        if token.startswith(b"x"):
            assert trip(1) > 0
            assert trip(1 << 21) > 0
        else:
            with pytest.raises(ConnectionError):
                [trip(1) for _ in range(2)]
    guard.join()
    assert not path.exists()


def test_sizes_that_would_take_too_long_are_left_out() -> None:
    sizes, times = doors._clock(lambda size: 1e-3 * size, [1, 2, 4, 8, 1000, 2000], 0.05)
    assert sizes == [1, 2, 4, 8]
    assert times == pytest.approx([5e-4, 15e-4, 35e-4, 75e-4])


def test_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "hosts.csv"
    path.write_text("host,rack\na,r0\nb,r0\nc,r1\nd\n")

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["topology", *arguments])
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    code, out, err = run("show", str(path))
    assert code == 0
    assert "r0: a, b" in out
    assert "hosts.csv (csv): 4 slots, height 1" in out
    assert err == "dgraph: hosts.csv: d has no place: a domain of its own\n"
    path.write_text("host,rack\na,r0,x\n")
    assert run("show", str(path), "--format", "csv")[::2] == (
        2,
        "dgraph: hosts.csv, line 2: expected a host and 1 names, got 'a' and 2\n",
    )
    assert run("show", str(tmp_path / "nowhere"))[0] == 2


def test_the_command_line_on_a_cluster(tmp_path: Path) -> None:
    out = tmp_path / "probe.json"
    environment = {**os.environ, "DASK_DGRAPH__PROBES": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment.pop("DGRAPH_TOPOLOGY", None)

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "dgraph", "topology", *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "reference" in run("probe", "--threads", "2", "--seconds", "0.01", "--out", str(out))
    assert Probe.read(out).height == 0
    assert len(list(tmp_path.iterdir())) == 2
    assert run("show", "--threads", "2").startswith("one process: 2 slots")


DRIVER = """
import json, os
from distributed import Client
import dgraph as dg

hosts = "host,domain\\nw0,d0\\nw1,d1\\n"
with Client("tcp://10.199.1.1:8786") as client:
    client.wait_for_workers(2, timeout=100)
    found = dg.topology.probe(client, topology=hosts, keep=False, seconds=0.3)
    print("PROBE", json.dumps(found.to_dict()))
"""


def unusable(shared: Path) -> str | None:
    """Return why there can be no emulated network here."""
    path = shared / "netlab" / "netlab.py"
    if not path.exists():
        return f"needs {path}"
    spec = importlib.util.spec_from_file_location("netlab", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    reason: str | None = module.usable()
    return reason


def in_netlab(shared: Path, *words: str, **environment: str) -> str:
    """Run an emulated network to its end, which takes everything away again."""
    with subprocess.Popen(
        [sys.executable, str(shared / "netlab" / "netlab.py"), *words],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=200)
        finally:
            process.terminate()
    assert "driver.py" not in err, err
    if process.returncode:
        pytest.skip(f"the emulated network cannot be built here: {err[-200:]}")
    return out


@pytest.mark.slow
@pytest.mark.limit(240)
def test_a_probe_finds_what_an_emulated_network_was_set_to(
    shared: Path, tmp_path: Path
) -> None:
    """How near it comes is for a quiet machine; here it must not find another network."""
    if reason := unusable(shared):
        pytest.skip(f"the emulated network {reason}")
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER)
    command = f"{sys.executable} -m dask"
    scheduler = f"{command} scheduler --host {{address}} --port 8786 --no-dashboard"
    worker = (
        f"DGRAPH_HOST=w{{slot}} {command} worker tcp://{{address0}}:8786 --host {{address}} "
        "--nthreads 1 --no-nanny --no-dashboard"
    )
    out = in_netlab(
        shared,
        *("--tree", "2,1", "--latency", "0,20ms", "--rate", "0,10MB"),
        *("--at", "0", f"{scheduler} 2>/dev/null", "--at", "all", f"{worker} 2>/dev/null"),
        *("--", sys.executable, str(driver)),
        PYTHONPATH=str(ROOT),
    )
    (line,) = (each for each in out.splitlines() if each.startswith("PROBE"))
    found = Probe.from_dict(json.loads(line.removeprefix("PROBE")))
    network = found.network(3)
    assert network is not None
    assert network.transport == WIRE
    assert 0.02 <= network.alpha < 0.06  # a busy machine only adds
    assert 1e6 < 1 / network.beta < 5e7
    assert found.link(3, "comm").alpha >= 0.02
    assert np.argmax(found.costs(3)[0]) == 3


def test_nothing_is_left_of_a_door_to_which_nobody_came(tmp_path: Path) -> None:
    path = tmp_path / "door"
    with closing(listen(path)) as listener:
        listener.settimeout(0.01)
        doors._receive(listener, b"", path)
    assert not path.exists()

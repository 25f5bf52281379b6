"""Clusters of MPI ranks, over two implementations of MPI, as a person starts them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from dgraph import mpi
from dgraph.engine.carriers import carrier as carrier_between
from dgraph.engine.carriers import crowded_hosts
from dgraph.engine.members import lay_out, topology_of
from dgraph.errors import OptionError
from dgraph.topology import Probe
from tests.clusters import cluster
from tests.mpi_programs import algorithms, make_graph
from tests.mpis import LIBRARIES, Mpi, find_mpi

pytestmark = pytest.mark.limit(280)

PROGRAMS = str(Path(__file__).with_name("mpi_programs.py"))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Mpi]:
    return {}


@pytest.fixture
def any_mpi(request: Any, found: dict[str, Mpi], tmp_path_factory: Any) -> Mpi:
    name = request.param
    if name not in found:
        found[name] = find_mpi(name, tmp_path_factory.mktemp(name))
    return found[name]


each = pytest.mark.parametrize("any_mpi", LIBRARIES, indirect=True)
mpich = pytest.mark.parametrize("any_mpi", ["mpich"], indirect=True)
openmpi = pytest.mark.parametrize("any_mpi", ["openmpi"], indirect=True)


@pytest.fixture(scope="module")
def expected() -> dict[str, pd.DataFrame]:
    with cluster(1, threads=2, processes=False) as client, make_graph(client) as graph:
        results = {name: run(graph) for name, run in algorithms().items()}
        return {
            name: by_vertex(client.compute(some).result()) for name, some in results.items()
        }


def by_vertex(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values("vertex", ignore_index=True)


@each
def test_results_are_the_same_over_every_transport(
    any_mpi: Mpi, expected: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    done = any_mpi.run(4, PROGRAMS, "results", str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for name, frame in expected.items():
        for transport in ("auto", "mpi", "shm", "unix", "comm"):
            got = pd.read_parquet(tmp_path / f"{name}-{transport}.parquet")
            pd.testing.assert_frame_equal(by_vertex(got), frame)
    notes = json.loads((tmp_path / "notes.json").read_text())
    assert sorted(rank for rank, _, _ in notes["places"]) == [2, 3]
    assert {memory for _, memory, _ in notes["places"]} == {0}
    assert notes["levels"] == ["process", "host"]
    runs = len(expected)
    channels = {transport: set(counts) for transport, counts in notes["channels"].items()}
    has_room = all(cores >= 2 for _, _, cores in notes["places"])
    assert channels == {
        "auto": {runs if has_room else 0},
        "mpi": {runs},
        "shm": {0},
        "unix": {0},
        "comm": {0},
    }
    links = Probe.from_dict(notes["probe"]).links
    assert [(link.level, link.transport) for link in links] == [
        (0, "reference"),
        (1, "mpi"),
        (1, "shm"),
        (1, "unix"),
        (1, "comm"),
    ]
    for link in links:
        assert len(link.sizes) == len(link.seconds) > 2
        assert min(link.seconds) > 0
    assert set(notes["left"].values()) == {0}


@each
def test_links_between_ranks(any_mpi: Mpi) -> None:
    done = any_mpi.run(3, PROGRAMS, "links")
    assert (done.returncode, done.stderr) == (0, "")
    said = [f"rank {rank} is content" for rank in range(3)]
    assert sorted(done.stdout.splitlines()) == said


@mpich
def test_command_on_eight_ranks(any_mpi: Mpi, karate: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    command = ["-m", "dgraph", "--mpi", "run", "cc", str(karate), "--out", str(out)]
    done = any_mpi.run(8, *command)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr == ""
    assert pd.read_csv(out).component.tolist() == [0] * 34


@openmpi
def test_command_on_three_ranks(any_mpi: Mpi) -> None:
    command = ["--mpi", "graph500", "--scale", "6", "--roots", "2", "--threads", "2"]
    done = any_mpi.run(3, "-m", "dgraph", *command)
    assert (done.returncode, done.stderr) == (0, "")
    assert "SCALE:" in done.stdout


@mpich
def test_bad_input_is_said_once(any_mpi: Mpi, karate: Path) -> None:
    done = any_mpi.run(3, "-m", "dgraph", "--mpi", "run", "bfs", str(karate), "--source", "99")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "99" in line


@mpich
def test_help_is_shown_by_one_rank(any_mpi: Mpi) -> None:
    for ranks in (1, 3):
        done = any_mpi.run(ranks, "-m", "dgraph", "--mpi", "run", "cc", "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count("Usage: ") == 1


@openmpi
def test_command_on_one_rank_is_refused(any_mpi: Mpi) -> None:
    done = any_mpi.run(1, "-m", "dgraph", "--mpi", "run", "cc", "edges.csv")
    assert done.returncode == 2
    assert "dgraph: expected at least 3 MPI ranks, for a scheduler, " in done.stderr
    assert "got 1: start it with mpiexec -n 3" in done.stderr


@mpich
def test_two_ranks_are_refused_once(any_mpi: Mpi) -> None:
    done = any_mpi.run(2, PROGRAMS, "too_few")
    assert done.returncode not in (0, None)
    assert done.stderr.count("OptionError: expected at least 3 MPI ranks") == 1
    assert "got 2" in done.stderr


@openmpi
def test_without_threads_and_an_error_of_the_program(any_mpi: Mpi) -> None:
    done = any_mpi.run(4, PROGRAMS, "without_threads")
    assert done.returncode == 1
    assert done.stdout == "searched\n"
    assert done.stderr.count("OptionError: dgraph.transport is 'mpi', but the workers") == 1


@mpich
def test_ranks_that_fail_end_all_and_say_so_once(any_mpi: Mpi) -> None:
    done = any_mpi.run(4, PROGRAMS, "worker_fails")
    assert done.returncode not in (0, None)
    assert done.stderr.count("FileNotFoundError: [Errno 2]") == 1


@mpich
def test_sys_exit_in_a_task_ends_all(any_mpi: Mpi) -> None:
    done = any_mpi.run(4, PROGRAMS, "exits_in_a_task")
    assert done.returncode not in (0, None)
    assert "SystemExit: 5" in done.stderr


@mpich
def test_a_rank_killed_in_a_run_ends_all(any_mpi: Mpi) -> None:
    done = any_mpi.run(3, PROGRAMS, "killed_in_a_run")
    assert "running" in done.stdout
    assert done.returncode not in (0, None)


@openmpi
def test_a_killed_rank_ends_all(any_mpi: Mpi) -> None:
    assert any_mpi.run(4, PROGRAMS, "killed").returncode not in (0, None)


@mpich
def test_an_interrupt_ends_all_and_is_said_once(any_mpi: Mpi) -> None:
    done = any_mpi.run(4, PROGRAMS, "interrupted")
    assert done.returncode not in (0, None)
    assert done.stderr.count("\nKeyboardInterrupt") == 1
    assert "not all ranks have ended" not in done.stderr


def identities(*places: tuple[str, int, int, int] | None, host: str = "h") -> dict[str, Any]:
    return {
        f"tcp://10.0.0.1:{len(places) - at}": {
            "process": at,
            "host": host,
            "threads": 1,
            "place": place,
        }
        for at, place in enumerate(places)
    }


def test_slots_are_numbered_by_shared_memory_and_rank() -> None:
    places = [("w", 2, 2, 8), ("w", 3, 3, 8), ("w", 4, 2, 8), ("w", 5, 3, 8)]
    members = lay_out(identities(*places))
    assert [member.place.rank for member in members if member.place] == [2, 4, 3, 5]
    topology = topology_of(members)
    assert topology.level_names == ("process", "shared memory", "host")
    assert [slots.tolist() for slots in topology.domains(1)] == [[0, 1], [2, 3]]


def test_shared_memory_of_a_whole_host_is_no_level_of_its_own() -> None:
    here = identities(("w", 2, 0, 8), ("w", 3, 0, 8))
    there = identities(("w", 4, 4, 8), ("w", 5, 4, 8), host="g")
    there = {address.replace("0.1", "0.2"): who for address, who in there.items()}
    topology = topology_of(lay_out(here | there))
    assert topology.level_names == ("process", "host", "network")


@pytest.mark.parametrize(
    ("wanted", "cores", "hosts", "carrier"),
    [
        ("auto", 2, "hh", "mpi"),
        ("auto", 1, "hh", "unix"),
        ("shm", 2, "hh", "shm"),
        ("auto", 1, "hg", "mpi"),
        ("mpi", 1, "hh", "mpi"),
        ("unix", 2, "hh", "unix"),
        ("comm", 2, "hh", "comm"),
    ],
)
def test_carrier_between_ranks(wanted: str, cores: int, hosts: str, carrier: str) -> None:
    found: dict[str, Any] = {}
    for at, host in enumerate(hosts):
        who = {"process": at, "host": host, "threads": 1, "place": ("w", 2 + at, 0, cores)}
        found[f"tcp://10.0.0.{at}:1"] = who
    here, there = lay_out(found)
    crowded = crowded_hosts([here, there] if hosts == "hh" else [here, here, there])
    assert carrier_between(here, there, wanted, crowded) == carrier


@pytest.mark.parametrize("other", [None, ("another world", 3, 0, 8)])
def test_no_mpi_with_workers_of_another_job(other: Any) -> None:
    here, there = lay_out(identities(("w", 2, 0, 8), other))
    assert carrier_between(here, there, "auto", set()) == "unix"


def test_mpi_without_ranks_is_an_option_error() -> None:
    import dask

    with (
        cluster(1, processes=False) as client,
        make_graph(client) as graph,
        dask.config.set({"dgraph.transport": "mpi"}),
        pytest.raises(OptionError, match="ranks of one MPI job"),
    ):
        algorithms()["bfs"](graph)


def test_threads_are_checked() -> None:
    library = SimpleNamespace(Get_library_version=lambda: "MPICH Version:      5.0.2\nMore")
    assert mpi._find_fault(library, 3, 2) is None
    assert "threads must be" in str(mpi._find_fault(library, 3, 0))
    assert "MPICH Version: 5.0.2" in str(mpi._find_fault(library, 1, 1))

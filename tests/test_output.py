"""Files that commands write: none that they read, whole or not at all, or a sentence."""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dgraph as dg
from dgraph.cli import main
from dgraph.errors import OutputError
from dgraph.output import check_output, write_frame, write_whole

pytestmark = pytest.mark.usefixtures("in_this_process")


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let this process write so many bytes to a file, as if its disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line that a command says which refuses to begin."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    told, said = capsys.readouterr()
    assert told == ""
    assert said.count("\n") == 1, said
    return said


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "parts").mkdir()
    for name in ("edges.csv", "parts/a.csv", "parts/b.csv", "kgs.e", "kgs.v"):
        (tmp_path / name).write_text("1 1\n")
    (tmp_path / "link.csv").symlink_to("edges.csv")
    os.link(tmp_path / "edges.csv", tmp_path / "twin.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("edges", "out"),
    [
        ("edges.csv", "edges.csv"),
        ("edges.csv", "parts/../edges.csv"),
        ("edges.csv", "link.csv"),
        ("link.csv", "edges.csv"),
        ("edges.csv", "twin.csv"),
        ("parts", "parts/b.csv"),
        ("parts/*.csv", "parts/../parts/b.csv"),
        ("kgs", "kgs.v"),
        ("kgs.v", "kgs.e"),
    ],
)
def test_no_output_replaces_an_input(
    folder: Path, edges: str, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(["run", "cc", edges, "--out", out, "--format", "csv"], capsys)
    assert said.startswith(f"dgraph: the output {out!r} is the input ")
    assert {path.read_text() for path in folder.glob("**/*.*") if path.is_file()} == {"1 1\n"}


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="no folder that takes no files")
def test_a_folder_that_takes_no_files_is_told_before_anything_is_done(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: True)  # as it is for root
    for command in (["run", "cc", "edges.csv"], ["topology", "probe"]):
        said = refused([*command, "--out", "/proc/out.csv"], capsys)
        assert said.startswith("dgraph: the folder of the output, '/proc', takes no files, ")


@pytest.mark.usefixtures("folder")
def test_devices_are_not_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe.csv")
    said = refused(["run", "cc", "edges.csv", "--out", "pipe.csv"], capsys)
    assert "is a device or pipe" in said
    assert stat.S_ISFIFO(os.stat("pipe.csv").st_mode)


@pytest.mark.parametrize("form", ["parquet", "csv", "ldbc"])
def test_a_full_disk_is_told_with_the_path(tmp_path: Path, form: str) -> None:
    numbers = np.random.default_rng(1).integers(0, 2**62, 50_000)
    frame = dd.from_pandas(pd.DataFrame({"vertex": numbers, "level": 1.5}), npartitions=2)
    path = tmp_path / "out"
    with files_of_at_most(10_000), pytest.raises(OutputError) as told:
        write_frame(frame, path, form)
    assert str(told.value).startswith(f"{str(path)!r} was not written, File too large: make")
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    def write(file: IO[bytes]) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "out.csv"
    path.write_text("before")
    with pytest.raises(dg.OutputError, match=r"out\.csv' was not written, No space left on"):
        write_whole(path, write)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["before"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_standard_output_is_told() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dgraph", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        )
    assert done.returncode == 2
    assert re.fullmatch("dgraph: No space left on device: make room .*\n", done.stderr)


def test_a_link_leads_to_the_output(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "latest.csv").symlink_to("data/today.csv")
    frame = dd.from_pandas(pd.DataFrame({"vertex": [1]}), npartitions=1)
    write_frame(frame, tmp_path / "latest.csv")
    assert (tmp_path / "latest.csv").is_symlink()
    assert (tmp_path / "data/today.csv").read_text() == "vertex\n1\n"
    shutil.rmtree(tmp_path / "data")
    with pytest.raises(dg.OptionError, match="the folder of the output does not exist"):
        check_output(tmp_path / "latest.csv")


def test_a_name_may_be_as_long_as_names_are(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 251 + ".csv")
    write_frame(dd.from_pandas(pd.DataFrame({"vertex": [1]}), npartitions=1), path)
    assert path.read_text() == "vertex\n1\n"

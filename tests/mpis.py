"""Implementations of MPI for tests, and how to start programs with them.

mpich comes with the extra `test`. Open MPI installs files of the same names, so it goes into a
folder of its own; mpi4py is told by a variable which of the two to load.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[1]
IN_CI = os.environ.get("CI") == "true"

#: The library of each, and what its launcher needs on two cores, as root too.
LIBRARIES = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40"}
OPTIONS = {"mpich": (), "openmpi": ("--oversubscribe", "--bind-to", "none")}

#: Seconds that a job may take: two cores may be busy with something else.
LIMIT = 200

#: Seconds within which no process of a job may be left.
GRACE = 10


@dataclass(frozen=True)
class Mpi:
    """An implementation of MPI that is installed below a folder."""

    name: str
    prefix: Path

    def run(
        self,
        ranks: int,
        *command: str,
        environment: Mapping[str, str] | None = None,
        options: Sequence[str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run Python with arguments on so many ranks, and see that nothing is left of it.

        `options` are the launcher's own, if not those of `OPTIONS`.
        """
        mark = uuid.uuid4().hex
        options = OPTIONS[self.name] if options is None else options
        launcher = (
            self.prefix / "bin" / ("mpiexec.hydra" if self.name == "mpich" else "mpiexec")
        )
        job = subprocess.Popen(
            [launcher, *options, "-n", str(ranks), sys.executable, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "DGRAPH_TEST_JOB": mark,
                "MPI4PY_LIBMPI": str(self.prefix / "lib" / LIBRARIES[self.name]),
                "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "PYTHONFAULTHANDLER": "1",
                "PYTHONPATH": str(ROOT),
                **(environment or {}),
            },
        )
        try:
            out, err = _await(job, mark)
            end = time.monotonic() + GRACE
            while (left := _marked(mark)) and time.monotonic() < end:
                time.sleep(0.05)
            assert not left, f"left running: {left}"
        finally:
            for process in [*_marked(mark), *([job] if job.poll() is None else [])]:
                process.kill()
            job.wait()
            for pipe in (job.stdout, job.stderr):
                assert pipe is not None
                pipe.close()
        return subprocess.CompletedProcess(command, job.returncode, out, err)


def _await(job: subprocess.Popen[str], mark: str) -> tuple[str, str]:
    """Wait for a job and return what it printed; one that takes too long shows its stacks."""
    try:
        return job.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        for process in _marked(mark):
            if process.pid != job.pid:
                process.send_signal(signal.SIGABRT)
        out, err = job.communicate(timeout=GRACE)
        pytest.fail(f"not done within {LIMIT} s\n{out}\n{err}")


def _marked(mark: str) -> list[psutil.Process]:
    """Return the processes of a job: what it started has its environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("DGRAPH_TEST_JOB") == mark:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


def find_mpi(name: str, folder: Path) -> Mpi:
    """Return an implementation that is installed here, else install it into a folder."""
    for module in ("dask_mpi", "mpi4py"):
        if IN_CI:
            __import__(module)
        else:
            pytest.importorskip(module)
    if name == "mpich" and Path(sys.prefix, "lib", LIBRARIES[name]).exists():
        return Mpi(name, Path(sys.prefix))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
    options = ["--quiet", "--no-deps", "--ignore-installed", "--only-binary=:all:"]
    done = subprocess.run(
        [*pip, *options, "--retries", "1", "--prefix", str(folder), name],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    if done.returncode:
        reason = f"{name} cannot be installed: {done.stderr.strip().splitlines()[-1:]}"
        pytest.fail(reason) if IN_CI else pytest.skip(reason)
    return Mpi(name, folder)

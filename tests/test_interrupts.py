"""Ctrl-C in a terminal: SIGINT reaches the command and all of its worker processes at once.

So does SIGHUP, if the terminal is closed; SIGTERM may reach the command alone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dgraph as dg
from dgraph.cli_interrupt import interrupted_once
from tests.clusters import cluster

pytestmark = pytest.mark.limit(180)

#: The command, which sends a signal to itself or to its own process group as soon as a worker
#: process is there, or while an endless run goes on.
PROGRAM = """
import contextlib, glob, os, signal, sys, threading, time
from dgraph.cli import main
from dgraph.events import RunStarted, listening

def interrupt():
    for _ in range(2):  # impatient
        kill(0 if kill is os.killpg else os.getpid(), number)

def hear(event):
    if isinstance(event, RunStarted) and event.algorithm == "cdlp":
        threading.Timer(0.5, interrupt).start()

def is_a_worker_there():
    with contextlib.suppress(OSError):  # threads and processes come and go
        for children in glob.glob("/proc/self/task/*/children"):
            for child in open(children).read().split():
                if "spawn_main" in open(f"/proc/{child}/cmdline").read():
                    return True
    return False

def wait_for_a_worker():
    while not is_a_worker_there():
        time.sleep(0.01)
    interrupt()

if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup, under which tests may run, ignores it
    kill, number = getattr(os, sys.argv.pop(1)), int(sys.argv.pop(1))
    if sys.argv.pop(1) == "start":
        threading.Thread(target=wait_for_a_worker, daemon=True).start()
    with listening(hear):
        main()
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for children there")
@pytest.mark.parametrize(
    ("moment", "whom", "number", "word"),
    [
        ("start", "killpg", signal.SIGINT, "interrupted"),
        ("run", "killpg", signal.SIGINT, "interrupted"),
        ("run", "kill", signal.SIGTERM, "terminated"),
        ("run", "killpg", signal.SIGHUP, "hung up"),
    ],
)
def test_control_c_is_one_line_and_leaves_nothing(
    moment: str, whom: str, number: int, word: str, tmp_path: Path
) -> None:
    """Neither the command nor a worker prints a traceback, and no worker outlives it."""
    edges, program = tmp_path / "edges.csv", tmp_path / "command.py"
    edges.write_text("source,target\n1,2\n2,3\n")
    program.write_text(PROGRAM)
    endless = ["run", "cdlp", str(edges), "--max-iter", "1000000000", "--workers", "2"]
    command = subprocess.Popen(
        [sys.executable, str(program), whom, str(int(number)), moment, *endless],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    try:
        said = command.communicate(timeout=150)  # ends when the last process has closed them
    finally:
        if command.poll() is None:
            os.killpg(command.pid, signal.SIGKILL)
    lines = [f"\ndgraph: {word}: ending the workers\n"]
    if moment == "start":  # perhaps before the command knows of them
        lines.append("\ndgraph: interrupted\n")
    assert said[0] == ""
    assert said[1] in lines
    assert command.returncode == 128 + number


def test_workers_outlive_an_interrupt_of_their_client() -> None:
    """A notebook, and a terminal, send it to all processes of a cluster; graphs stay."""
    with cluster(2) as client, client.as_current():
        pids = client.run(os.getpid)
        with dg.from_edges(np.array([[1, 2], [2, 3]]), client=client) as g:
            for pid in pids.values():
                os.kill(pid, signal.SIGINT)
            assert client.run(signal.getsignal, signal.SIGINT) == dict.fromkeys(
                pids, signal.SIG_IGN
            )
            assert len(dg.bfs(g, 1)) == 3
        assert client.run(os.getpid) == pids


#: Ctrl-C in the midst of the imports, in a process that was started with the word that follows.
IMPORTING = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "dgraph.graph":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from dgraph.cli import main
main()
"""


@pytest.mark.parametrize("name", ["dgraph", "mine"])
def test_control_c_while_the_command_is_imported(name: str, tmp_path: Path) -> None:
    """It is one line; another program that imports dgraph gets its KeyboardInterrupt."""
    program = tmp_path / name
    program.write_text(IMPORTING)
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        check=False,
    )
    if name == "dgraph":
        assert (done.returncode, done.stderr) == (130, "\ndgraph: interrupted\n")
    else:
        assert done.returncode == -signal.SIGINT
        assert done.stderr.endswith("KeyboardInterrupt\n")


#: A command that does not end when Ctrl-C asks it to, and a process of it that ignores all.
STUCK = """
import multiprocessing, os, signal, time
from dgraph import cli_interrupt

def deaf(ready):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ready.set()
    time.sleep(600)

if __name__ == "__main__":
    cli_interrupt.END = 0.5
    with cli_interrupt.interrupted_once():
        context = multiprocessing.get_context("fork")
        ready = context.Event()
        context.Process(target=deaf, args=(ready,)).start()
        ready.wait()
        while True:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(600)
            except KeyboardInterrupt:
                os.kill(os.getpid(), signal.SIGINT)  # impatient
"""


def test_a_command_that_hangs_is_ended_with_its_processes() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STUCK],
        capture_output=True,  # to the end of the last process that has it
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "\ndgraph: interrupted: ending the workers\n"


def test_control_c_is_heard_once_and_only_where_it_is_not_ignored(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with interrupted_once(ends=False) as interrupted:
        assert not interrupted()
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGINT)
            os.write(2, b"what Dask says to that")
    assert interrupted()
    os.write(2, b"heard again")
    assert capfd.readouterr().err == "\ndgraph: interrupted\nheard again"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupted_once(ends=False) as interrupted:
            signal.raise_signal(signal.SIGINT)
        assert not interrupted()
    finally:
        signal.signal(signal.SIGINT, before)

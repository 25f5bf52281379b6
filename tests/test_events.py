"""Events reach every listener, and no listener can disturb a run."""

from __future__ import annotations

import logging
from io import StringIO

import pytest

from dgraph.events import (
    Event,
    History,
    Note,
    ProgressBar,
    RunEnded,
    RunStarted,
    SuperstepDone,
    listening,
    notify,
    progress,
)

STARTED = RunStarted("bfs-1", "bfs", slots=2)
STEP = SuperstepDone("bfs-1", 0, "top-down", {0: 2}, {0: 16}, {0: 160}, 1e-5)
ENDED = RunEnded("bfs-1", "bfs", supersteps=1, seconds=2e-5)


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_listeners_hear_only_while_they_listen() -> None:
    with listening(History()) as outer:
        with listening(History()) as inner:
            notify(STARTED)
        notify(ENDED)
    notify(STEP)
    assert outer.events == [STARTED, ENDED]
    assert inner.events == [STARTED]


def test_failing_listener_is_logged_and_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    def fail(event: Event) -> None:
        raise RuntimeError("no ink left")

    with listening(fail), listening(History()) as history:
        notify(STEP)
    assert history.events == [STEP]
    assert "no ink left" in caplog.text


def test_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="dgraph"):
        notify(Note("a cluster was started"))
        notify(STEP)
        notify(ENDED)
        notify(RunEnded("bfs-2", "bfs", 3, 0.1, error="worker lost"))
    assert [some.message for some in caplog.records if some.name == "dgraph"] == [
        "a cluster was started",
        "bfs-1: 1 superstep in 0.0000 s",
        "bfs-2 failed: worker lost",
    ]


@pytest.mark.parametrize(
    ("stream", "session", "level", "said"),
    [
        (Terminal, False, logging.WARNING, True),
        (Terminal, False, logging.INFO, False),  # pytest's handler has it
        (StringIO, True, logging.WARNING, True),  # a notebook
        (StringIO, False, logging.WARNING, False),  # a pipeline
    ],
)
def test_what_is_shown_is_a_line_where_somebody_sees_it(
    stream: type[StringIO],
    session: bool,
    level: int,
    said: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    screen = stream()
    monkeypatch.setattr("sys.stderr", screen)
    if session:
        monkeypatch.setattr("sys.ps1", ">>> ", raising=False)
    with caplog.at_level(level, logger="dgraph"):
        notify(Note("a cluster was started", shown=True))
        notify(Note("not shown"))
    assert screen.getvalue() == said * "dgraph: a cluster was started\n"


def test_progress_bar_leaves_an_empty_line() -> None:
    stream = StringIO()
    bar = ProgressBar(stream, delay=0, interval=0)
    for event in (STARTED, STEP, ENDED):
        bar(event)
    assert stream.getvalue().split("\r")[1].startswith("bfs: superstep 1, top-down")
    assert stream.getvalue().endswith(f"\r{'':79}\r")


def test_progress_bar_says_nothing_of_a_short_run() -> None:
    stream = StringIO()
    bar = ProgressBar(stream)
    for event in (STARTED, STEP, ENDED):
        bar(event)
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("wanted", "stream", "shown"),
    [
        ("auto", Terminal(), True),
        ("auto", StringIO(), False),
        (True, StringIO(), True),
        (False, Terminal(), False),
    ],
)
def test_progress_goes_to_a_terminal_unless_told_otherwise(
    wanted: bool, stream: StringIO, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(ProgressBar.__init__, "__defaults__", (None, 0, 0))
    with progress(wanted), progress(wanted):
        notify(STARTED)
        notify(STEP)
    assert ("superstep" in stream.getvalue()) == shown
    assert stream.getvalue().count("\r") == shown

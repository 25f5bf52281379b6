"""What happens during a run, for whoever wants to know.

The engine says each event once, with :func:`notify`; listeners hear it. A listener is any
callable that takes an event. Three are here: :class:`Log` (subscribed from the start),
:class:`ProgressBar` and :class:`History`.

>>> with listening(History()) as history:
...     notify(RunStarted("bfs-1", "bfs", slots=2))
...     notify(SuperstepDone("bfs-1", 0, "top-down", {0: 2}, {0: 16}, {0: 160}, 1e-5))
...     notify(RunEnded("bfs-1", "bfs", supersteps=1, seconds=2e-5))
>>> [type(event).__name__ for event in history.events]
['RunStarted', 'SuperstepDone', 'RunEnded']
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Literal, TextIO, TypeVar

from dgraph.plurals import counted

__all__ = [
    "Event",
    "History",
    "Listener",
    "Log",
    "Note",
    "ProgressBar",
    "RunEnded",
    "RunStarted",
    "SuperstepDone",
    "listening",
    "notify",
    "progress",
]

logger = logging.getLogger("dgraph")


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run is about to start."""

    run: str
    """The run's name, unique among all runs of the cluster."""

    algorithm: str
    """The algorithm's name as users call it, or "build"."""

    slots: int
    """How many slots take part."""


@dataclass(frozen=True, slots=True)
class SuperstepDone:
    """All slots have ended a superstep."""

    run: str
    superstep: int
    """Counted from 0."""

    stage: str
    """What the algorithm calls this part of its work, such as "bottom-up"."""

    frames: Mapping[int, int]
    """Frames sent, by level of the domain tree."""

    messages: Mapping[int, int]
    """Messages in these frames, by level."""

    bytes: Mapping[int, int]
    """Bytes in these frames, by level."""

    seconds: float
    """Wall time of the superstep."""


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run has ended, well or not."""

    run: str
    algorithm: str
    supersteps: int
    seconds: float
    """Wall time of all supersteps."""

    error: str | None = None
    """Why the run failed; None if it did not."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something a user should know once, such as that a cluster was started."""

    text: str

    loud: bool = False
    """Whether it explains why nothing seems to happen, so that it is logged as a warning."""

    shown: bool = False
    """Whether who works at a terminal or in a notebook sees it, too, if no log shows it."""


Event = RunStarted | SuperstepDone | RunEnded | Note
Listener = Callable[[Event], None]
AnyListener = TypeVar("AnyListener", bound=Listener)


def notify(event: Event) -> None:
    """Tell every listener of an event, in the order in which they came.

    A listener that raises is logged and does not disturb the run.
    """
    for listener in _listeners:
        try:
            listener(event)
        except Exception:
            logger.exception("%r failed on %r", listener, event)


@contextmanager
def listening(listener: AnyListener) -> Iterator[AnyListener]:
    """Let a listener hear the events of this process, from all threads, inside a ``with``.

    Parameters
    ----------
    listener : callable
        Called with each event on the thread on which it happens, so it should be quick.

    Yields
    ------
    listener
        The same.

    Examples
    --------
    >>> heard = []
    >>> with listening(heard.append):
    ...     notify(Note("a cluster was started"))
    >>> heard
    [Note(text='a cluster was started', loud=False, shown=False)]
    """
    global _listeners
    with _lock:
        _listeners = (*_listeners, listener)
    try:
        yield listener
    finally:
        with _lock:
            at = _listeners.index(listener)
            _listeners = _listeners[:at] + _listeners[at + 1 :]


class Log:
    """Write events to the logger "dgraph": notes and ends as information, the rest to debug.

    Loud notes are warnings, which Python shows on standard error unless told otherwise. What is
    shown is a line on standard error, if somebody looks at it and sees no log.
    """

    def __call__(self, event: Event) -> None:
        """Log one event."""
        match event:
            case Note(text=text, loud=loud, shown=shown):
                logger.log(logging.WARNING if loud else logging.INFO, "%s", text)
                if shown and _is_watched() and not _is_logged():
                    sys.stderr.write(f"dgraph: {text}\n")
            case RunEnded(error=None):
                logger.info(
                    "%s: %s in %.4f s",
                    event.run,
                    counted(event.supersteps, "superstep"),
                    event.seconds,
                )
            case RunEnded():
                logger.info("%s failed: %s", event.run, event.error)
            case _:
                logger.debug("%s", event)


def _is_watched() -> bool:
    """Tell whether somebody sees standard error: at a terminal, or in a session or notebook."""
    return _is_terminal() or (sys.stderr is not None and hasattr(sys, "ps1"))


def _is_terminal() -> bool:
    """Tell whether standard error is a terminal; a daemon has none."""
    return sys.stderr is not None and sys.stderr.isatty()


def _is_logged() -> bool:
    """Tell whether information is logged somewhere."""
    return logger.isEnabledFor(logging.INFO) and logger.hasHandlers()


class History:
    """Keep every event.

    Attributes
    ----------
    events : list
        The events in the order in which they came.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Keep one event."""
        self.events.append(event)


class ProgressBar:
    """Show on one line how far the run is that reported last; wipe the line when it ends.

    How many supersteps a run will take is not known before, so the line counts. It appears
    when a run has taken longer than `delay`: most runs are over before.

    Parameters
    ----------
    stream : text stream, optional
        Default: standard error.
    delay : float
        Seconds until the line appears, typically 0.5.
    interval : float
        Seconds between two updates, typically 0.1.

    Examples
    --------
    >>> from io import StringIO
    >>> bar = ProgressBar(StringIO(), delay=0, interval=0)
    >>> bar(RunStarted("bfs-1", "bfs", slots=2))
    >>> bar(SuperstepDone("bfs-1", 4, "bottom-up", {}, {}, {}, 0.01))
    >>> bar.stream.getvalue().strip()
    'bfs: superstep 5, bottom-up, 0.0 s'
    """

    def __init__(
        self, stream: TextIO | None = None, delay: float = 0.5, interval: float = 0.1
    ) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.delay = delay
        self.interval = interval
        self._runs: dict[str, tuple[str, float]] = {}
        self._next = 0.0
        self._shown = False

    def __call__(self, event: Event) -> None:
        """Update the line."""
        match event:
            case RunStarted():
                self._runs[event.run] = event.algorithm, monotonic()
            case SuperstepDone():
                self._show(event)
            case RunEnded():
                self._runs.pop(event.run, None)
                self._wipe()

    def _show(self, event: SuperstepDone) -> None:
        now = monotonic()
        algorithm, began = self._runs.get(event.run, (event.run, now))
        if now < max(began + self.delay, self._next):
            return
        self._next = now + self.interval
        line = (
            f"{algorithm}: superstep {event.superstep + 1}, {event.stage}, {now - began:.1f} s"
        )
        self._write(f"\r{line:<79.79}")
        self._shown = True

    def _wipe(self) -> None:
        if self._shown:
            self._write(f"\r{'':79}\r")
            self._shown = False

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


@contextmanager
def progress(wanted: bool | Literal["auto"]) -> Iterator[None]:
    """Show a progress bar inside a ``with``, as the option ``dgraph.progress`` says.

    One bar shows all runs of the process: a second one is not started beside it.

    Parameters
    ----------
    wanted : bool or "auto"
        "auto": if standard error is a terminal.
    """
    shown = any(isinstance(listener, ProgressBar) for listener in _listeners)
    if not shown and (wanted is True or (wanted == "auto" and _is_terminal())):
        with listening(ProgressBar()):
            yield
    else:
        yield


# Replaced as a whole, under the lock, so that notify() needs none.
_listeners: tuple[Listener, ...] = (Log(),)
_lock = threading.Lock()

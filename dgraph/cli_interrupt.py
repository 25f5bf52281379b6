"""Ctrl-C or kill: the command says one line at once, ends its worker processes, and ends.

A terminal sends SIGINT to all processes of a command at the same moment, and SIGHUP when it is
closed; SIGTERM comes to one of them, or to all. ::

    main thread     says the line; KeyboardInterrupt unwinds what it is doing, such as a file
    "dgraph-end"    kills worker processes, those too that are only being started, until the
                    command has ended; if that takes too long, whatever it waits for, ends it
    workers         fall silent at Ctrl-C, and die of the other signals
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import resource_tracker
from queue import Empty, SimpleQueue
from time import monotonic
from types import FrameType
from typing import Any

from dgraph.clients import LOCAL

__all__ = [
    "INTERRUPTED",
    "SIGNALS",
    "dask_setup",
    "end_at_once",
    "interrupted_once",
    "local_cluster",
]

#: The exit code of a command that Ctrl-C has ended.
INTERRUPTED = 130

#: What ends a command, and what is said then: Ctrl-C; kill, or a time limit of a batch system;
#: a terminal that is closed.
SIGNALS = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
    signal.SIGHUP: "hung up",
}

#: Seconds that the command gets to end in order; it takes less than one on an idle machine.
END = 5.0

#: Seconds between two looks for worker processes.
LOOK = 0.02


@contextlib.contextmanager
def interrupted_once(
    ends: bool = True, signals: Collection[signal.Signals] = tuple(SIGNALS)
) -> Iterator[Callable[[], int]]:
    """Raise KeyboardInterrupt at the first Ctrl-C; what follows is not to disturb the end.

    What is raised while everything ends is left off, and nothing is said any more: Dask tells
    at length what it misses then.

    Parameters
    ----------
    ends : bool
        Whether this process has nothing else to do after it.
    signals : collection of signals, of those in SIGNALS
        Which are heard, if they are not ignored, as by nohup.

    Yields
    ------
    function
        Returns the exit code, 128 and the number of the signal, or 0 if there was none.
    """
    said = 0
    orders: SimpleQueue[int] = SimpleQueue()  # which a signal may interrupt
    own = set(multiprocessing.active_children())

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal said
        if said:
            return
        said = 128 + number
        workers = set(multiprocessing.active_children()) - own
        more = b": ending the workers" if workers else b""
        os.write(2, b"\ndgraph: %s%s\n" % (SIGNALS[signal.Signals(number)].encode(), more))
        _fall_silent(number, frame)
        logging.disable(logging.CRITICAL)
        orders.put(said)
        raise KeyboardInterrupt

    here = threading.current_thread() is threading.main_thread()
    heard = [each for each in signals if signal.getsignal(each) is not signal.SIG_IGN]
    if not here or not heard:
        yield lambda: said
        return
    level, shown = logging.root.manager.disable, os.dup(2)
    before = {each: signal.signal(each, interrupt) for each in heard}
    threading.Thread(target=_end, args=(orders, own), name="dgraph-end", daemon=True).start()
    try:
        yield lambda: said
    except BaseException:
        if not said:
            raise
    finally:
        if not (ends and said):
            orders.put(0)
            for each, handler in before.items():
                signal.signal(each, handler)
            logging.disable(level)
            os.dup2(shown, 2)
        os.close(shown)


def _end(orders: SimpleQueue[int], own: Collection[Any]) -> None:
    """Once an exit code comes, kill the worker processes until the command ends, or end it.

    Nannies start workers that die once more, and wait for those that have not started yet.
    """
    code, began = orders.get(), monotonic()
    wanted = code
    while wanted:
        for child in multiprocessing.active_children():
            if child not in own:
                with contextlib.suppress(ValueError):  # it is being closed at this moment
                    child.kill()
        if monotonic() - began > END:
            os._exit(code)
        with contextlib.suppress(Empty):
            wanted = orders.get(timeout=LOOK)


def end_at_once(code: int) -> None:
    """End this process without Python's two seconds of taking down what it has loaded."""
    atexit._run_exitfuncs()
    os._exit(code)


@contextlib.contextmanager
def local_cluster(workers: int | None, threads: int | None) -> Iterator[Any]:
    """Yield a cluster of so many worker processes, or of this process alone.

    A cluster that is half there cannot be closed. Its start is waited for, whatever happens;
    it fails soon once its workers were killed.
    """
    from distributed import LocalCluster

    with _shielded_loop() as loop, ThreadPoolExecutor(1) as starter:
        starting = starter.submit(
            LocalCluster,
            n_workers=workers or 1,
            threads_per_worker=threads or (1 if workers else None),
            processes=workers is not None,
            memory_limit=0,
            dashboard_address=LOCAL,
            loop=loop,
            **({"preload": [__name__]} if workers else {}),
        )
        try:
            yield starting.result()
        finally:
            with _unlogged():
                starting.result().close()


@contextlib.contextmanager
def _unlogged() -> Iterator[None]:
    """Let nothing be logged: a heartbeat that is under way when a cluster closes is missed."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(level)


def dask_setup(worker: Any) -> None:
    """Let a worker process fall silent at Ctrl-C; Dask calls this when it starts."""
    signal.signal(signal.SIGINT, _fall_silent)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _fall_silent(number: int, frame: FrameType | None) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@contextlib.contextmanager
def _shielded_loop() -> Iterator[Any]:
    """Yield a running event loop; the processes that are started from it hear no SIGINT yet.

    What a thread blocks, the threads and processes that it starts block as well.
    """
    from distributed.utils import LoopRunner

    resource_tracker.ensure_running()  # to start it unblocks SIGINT
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    runner = LoopRunner()
    try:
        runner.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield runner.loop
    finally:
        runner.stop()

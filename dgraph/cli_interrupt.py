"""Ctrl-C: the command hears it once and ends its cluster in order; the workers fall silent.

A terminal sends SIGINT to all processes of a command at the same moment.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import resource_tracker
from time import monotonic
from types import FrameType
from typing import Any

from dgraph.clients import LOCAL

__all__ = ["dask_setup", "interrupted_once", "local_cluster"]

#: Seconds for which further Ctrl-C do not disturb the end; Dask kills a worker after 4.
END = 10.0


@contextlib.contextmanager
def interrupted_once() -> Iterator[None]:
    """Raise KeyboardInterrupt at the first Ctrl-C; what follows is not to disturb the end.

    Dask says at length what it leaves off then, so nothing is logged any more.
    """
    last = -END

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal last
        if monotonic() - last < END:
            return
        last = monotonic()
        logging.disable(logging.CRITICAL)
        for child in multiprocessing.active_children():
            assert child.pid is not None
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(child.pid, signal.SIGINT)  # if it did not come from a terminal
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    level, before = logging.root.manager.disable, signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        logging.disable(level)
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def local_cluster(workers: int | None, threads: int | None) -> Iterator[Any]:
    """Yield a cluster of so many worker processes, or of this process alone.

    A cluster that is half there cannot be closed. Its start is waited for, whatever happens.
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
            starting.result().close()


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

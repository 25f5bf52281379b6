"""SIGINT is for the client: a worker process whose nanny ends it hears none.

Whoever interrupts a cell of a notebook, or presses Ctrl-C in a terminal, interrupts the whole
group of processes, to which the workers of a LocalCluster belong. The client ends its run on
them; if they died as well, all graphs would be lost. Their nannies end them without a signal of
this kind, also those of ``dask worker``.
"""

from __future__ import annotations

import functools
import signal
import threading
from typing import Any

from distributed import Worker

__all__ = ["shield"]


def shield(worker: Worker) -> None:
    """Let a worker process ignore SIGINT if it has a nanny, and no handler of its own."""
    if worker.nanny is None or threading.current_thread() is not threading.main_thread():
        return
    if _is_usual(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _is_usual(handler: Any) -> bool:
    """Tell whether a handler is Python's own, or that of asyncio while its loop runs.

    >>> _is_usual(signal.default_int_handler), _is_usual(signal.SIG_IGN)
    (True, False)
    """
    inner = handler.func if isinstance(handler, functools.partial) else handler
    return inner is signal.default_int_handler or (
        getattr(inner, "__module__", None) == "asyncio.runners"
    )

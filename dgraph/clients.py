"""The Dask client that a graph works with: given, found, or started.

A client is looked for as Dask's own collections do: the argument, else the current one (in a
task: that of the worker), else an embedded local cluster is started once for the process.

Whatever talks to the cluster is a coroutine; :func:`call` runs it. A synchronous client waits
for the result, an asynchronous one gets an awaitable.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures.thread
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, ParamSpec, TypeVar
from weakref import WeakSet

import dask
from dask.system import CPU_COUNT
from distributed import Client, Worker, default_client, get_client, get_worker, secede
from distributed.threadpoolexecutor import thread_state

from dgraph.config import Options, check_keys
from dgraph.errors import DgraphError, GraphLostError, OptionError
from dgraph.events import Note, notify
from dgraph.plurals import counted
from dgraph.warn import calling_from, place_of_caller

__all__ = ["call", "ensure_running", "find_client", "is_default", "look_and_make", "then"]

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

#: Where an embedded cluster serves its dashboard: any free port, this machine only.
LOCAL = "127.0.0.1:0"

_starting = threading.RLock()

#: In a process that was forked: the clients that it has of its parent.
_of_parent: WeakSet[Client] = WeakSet()


def _note_fork() -> None:
    _of_parent.update(list(Client._instances))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def find_client(client: Client | None = None) -> Client:
    """Return the client to work with, and start an embedded cluster if there is none.

    Parameters
    ----------
    client : distributed.Client, optional
        Default: the current one.

    Raises
    ------
    OptionError
        If `client` is not a client, or not connected; or no scheduler answers where the
        configuration says that there is one.

    Notes
    -----
    An embedded cluster is started if there is no current client, and Dask's configuration
    names no scheduler (``scheduler-address``).

    Examples
    --------
    >>> client = find_client()
    >>> find_client() is client
    True
    """
    if client is None:
        with _starting:  # Dask knows a client before it is connected
            client = _current() or _configured() or _embedded()
    elif not isinstance(client, Client):
        raise OptionError(
            f"client must be a distributed.Client, not {type(client).__name__}; "
            "leave it out to use the current one"
        )
    ensure_running(client)
    return client


def ensure_running(client: Client) -> None:
    """Raise unless the client is connected.

    Raises
    ------
    OptionError
        If it is closed, or asynchronous and not awaited yet, or of the process from which this
        one was forked.
    """
    _check_process(client)
    if client.status in ("newly-created", "connecting") and client.asynchronous:
        raise OptionError("the client is not connected yet: await it before you use it")
    if client.status not in ("running", "connecting"):
        raise OptionError(
            f"expected a connected client, got one that is {client.status}; make a new one"
        )


def _check_process(client: Client) -> None:
    if client in _of_parent:
        raise OptionError(
            "expected a Dask client of this process, got that of the process from which it was "
            "forked, which does nothing here: start processes that call dgraph by "
            "multiprocessing.get_context('spawn')"
        )


def _current() -> Client | None:
    try:
        client = get_client()
    except ValueError:
        return None
    # Workers in this process leave theirs as the default one after their cluster's end.
    if client.status != "running" and client in Worker._initialized_clients:
        return None
    return client


def _configured() -> Client | None:
    """Return a client of the scheduler that Dask's configuration names, if it names one."""
    address = dask.config.get("scheduler-address", None)
    if address is None:
        return None
    try:
        return Client(address)
    except (OSError, ValueError) as error:
        raise OptionError(
            f"expected a scheduler at {address}, as Dask's configuration says "
            f"(scheduler-address, DASK_SCHEDULER_ADDRESS), got: {error}; start one there, or "
            "take the setting away"
        ) from None


def _embedded() -> Client:
    """Start a cluster in this process and make its client the default, until exit."""
    # A laptop that wakes up must not take its own worker for lost, and all graphs with it.
    with dask.config.set({"distributed.scheduler.worker-ttl": None}):
        client = Client(
            processes=False,
            n_workers=1,
            threads_per_worker=CPU_COUNT,
            memory_limit=0,
            dashboard_address=LOCAL,
            worker_dashboard_address=LOCAL,
            set_as_default=True,
        )
    not_late = _NotLate(client.sync(_this_thread))
    logging.getLogger("distributed.scheduler").addFilter(not_late)
    atexit.register(_close_silently, client)
    notify(
        Note(
            f"no Dask client was found: started a cluster of {counted(CPU_COUNT, 'thread')} in "
            "this process; make a distributed.Client first to work with another one",
            shown=Options.read().progress is not False,
        )
    )
    return client


async def _this_thread() -> int:
    return threading.get_ident()


@dataclass(frozen=True)
class _NotLate:
    """Filter what is of no use: that a result is not kept, for Python ends.

    Whoever asks for one in the last line of a script does so while Python shuts its pools.
    Schedulers of the process share a logger: only what the one says whose event loop runs in
    this thread is looked at, and nothing before Python ends.
    """

    thread: int

    def __call__(self, record: logging.LogRecord) -> bool:
        """Tell whether a record is of use."""
        ends = getattr(concurrent.futures.thread, "_shutdown", False)  # why submit() fails
        late = record.getMessage().startswith("cannot schedule new futures after")
        return not (ends and late and record.thread == self.thread)


def _close_silently(client: Client) -> None:
    """Close the embedded cluster's client at exit.

    Dask would close the cluster before the client, and complain about results that get lost.
    Python's thread pools are shut by now, of which Dask complains as well.
    """
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        client.close()
    finally:
        logging.disable(before)


def call(
    client: Client, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs
) -> Any:
    """Run a coroutine function on the loop of a client: a user's call, as seen by the cluster.

    Returns
    -------
    what the function returns, or an awaitable of it
        An awaitable if the client is asynchronous where this is called.

    Raises
    ------
    GraphLostError
        If the cluster went away without the client being told.
    """
    check_keys()
    _check_process(client)
    place = place_of_caller()

    async def told() -> T:
        try:
            with calling_from(place):
                return await function(*args, **kwargs)
        except OSError as error:
            if client.status == "running" or isinstance(error, DgraphError):
                raise
            raise GraphLostError(
                "the cluster is gone, and with it the graphs on it, for its scheduler does not "
                "answer any more: make a new distributed.Client and call from_edges again"
            ) from error

    if client.asynchronous:
        return told()
    _leave_pool()
    return client.sync(told)


def look_and_make(
    client: Client, look: Callable[[], S], make: Callable[[S], Awaitable[T]]
) -> Any:
    """Call a function that computes, in the caller's thread, and :func:`call` with its result.

    With an asynchronous client, whose thread must not be held up, it gets a thread of its own.
    """
    if not client.asynchronous:
        return call(client, make, look())

    async def made() -> T:
        return await make(await asyncio.to_thread(look))

    return call(client, made)


def is_default(client: Client) -> bool:
    """Tell whether Dask computes with a client what the caller's thread asks for next."""
    try:
        return default_client() is client
    except ValueError:  # there is none
        return False


def then(found: Any, finish: Callable[..., Any]) -> Any:
    """Apply a function to what :func:`call` returned, in the thread that waits for it.

    Examples
    --------
    >>> then(3, str)
    '3'
    """
    if not isawaitable(found):
        return finish(found)
    place = place_of_caller()

    async def finished() -> Any:
        with calling_from(place):
            return finish(await found)

    return finished()


def _leave_pool() -> None:
    """Let a task that waits for work on its own worker free its place for that work.

    It stays out of the pool: it is the driver of a computation now, and to come back it would
    have to wait until another task ends.
    """
    if not getattr(thread_state, "proceed", False):
        return  # not in a task, or it left before
    try:
        get_worker()
    except ValueError:
        return
    secede()

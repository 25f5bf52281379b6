"""How a run ends that does not end well: who noticed, and the one error that the user sees.

Every slot of a failed run ends, each with an error of its own; most of them only say that
another slot has failed. :func:`judge` finds the one that counts. Recovery of a run would take
its place here as well: it would judge, restore, and start again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, wait
from time import monotonic

import tblib.pickling_support
from distributed import Worker

from dgraph.engine.spec import RunSpec
from dgraph.errors import (
    DgraphError,
    GraphLostError,
    JoinTimeoutError,
    RunAbortedError,
    RunError,
)
from dgraph.exchange.hub import TICK

__all__ = ["Watch", "judge", "pack_error", "unpack_error", "wait_for_turn"]

logger = logging.getLogger("dgraph")

#: A pickled error may have so many bytes: a user's exception may hold a whole array.
LARGEST_ERROR = 1 << 20


class Watch:
    """Give up members of a run that are silent: they send nothing, and no computation is why.

    A member that computes for a long time answers pings. One whose process has stopped, or
    whose network is gone, does not. One that answers that all it had to say has left it, while
    nothing moves between it and this member, has said something that was lost on the way.

    Parameters
    ----------
    worker : distributed.Worker
    loop : asyncio.AbstractEventLoop
        The worker's.
    run : str
    names : mapping of int to str
        The addresses of the other members.
    limit : float
        Seconds of silence.
    check : callable
        Raises if the run is over for another reason.
    """

    def __init__(
        self,
        worker: Worker,
        loop: asyncio.AbstractEventLoop,
        run: str,
        names: Mapping[int, str],
        limit: float,
        check: Callable[[], None],
    ) -> None:
        self._worker = worker
        self._loop = loop
        self._run = run
        self._names = names
        self._limit = limit
        self._check = check
        self._superstep: int | None = None
        self._called = 0.0
        self._silence: dict[int, float] = {}
        self._asked: dict[int, Future[int | None]] = {}

    def __call__(self, superstep: int, waited: Collection[int] | None) -> None:
        """Look after the members that a superstep waits for; called about once a tick.

        Those with which something is exchanged, however slowly, are not among them. None: see
        only whether the run is over. A message over Dask's comms is a wake, and to ask all
        others then would be more messages than those of the superstep.

        Raises
        ------
        RunAbortedError
            If one was silent for too long.
        """
        self._check()
        if waited is None:
            return
        now = monotonic()
        if superstep != self._superstep:
            self._superstep, self._silence, self._called = superstep, {}, now
        # If this process itself was stopped for a while, that is not the others' silence.
        passed = min(now - self._called, 2 * TICK)
        self._called = now
        before, self._silence = self._silence, {}  # of who is not waited for it is forgotten
        for member in waited:
            sent = self._ask(member)
            is_busy = sent is not None and sent < superstep
            silence = 0.0 if is_busy else before.get(member, 0.0) + passed
            self._silence[member] = silence
            if silence > self._limit:
                raise RunAbortedError(self._blame(member, sent))

    def _ask(self, member: int) -> int | None:
        """Send a ping, unless one is on its way; return what was answered since the last call.

        Returns
        -------
        int or None
            Which exchange was the last to leave the member; None if there is no answer.
        """
        asked = self._asked.get(member)
        if asked is not None and not asked.done():
            return None
        self._asked[member] = asyncio.run_coroutine_threadsafe(
            self._ping(self._names[member]), self._loop
        )
        return None if asked is None else asked.result()

    async def _ping(self, address: str) -> int | None:
        try:
            ping = self._worker.rpc(address).dgraph_ping(run=self._run)
            sent: int | None = await asyncio.wait_for(ping, self._limit)
            return sent
        except (OSError, TimeoutError):
            return None

    def _blame(self, member: int, sent: int | None) -> str:
        name = f"worker {self._names[member]}"
        if sent is None:
            return f"{name} has not answered for {self._limit:g} s"
        return f"what {name} has sent has not arrived for {self._limit:g} s: run it again"

    def close(self) -> None:
        """Wait for no more answers."""
        for asked in self._asked.values():
            asked.cancel()


def pack_error(error: BaseException) -> bytes:
    """Pickle an error with its traceback and its causes; one that cannot be, as its text.

    Examples
    --------
    >>> unpack_error(pack_error(ValueError("no such vertex")))
    ValueError('no such vertex')
    """
    tblib.pickling_support.install(error)
    try:
        packed = pickle.dumps(error)
        pickle.loads(packed)
        if len(packed) <= LARGEST_ERROR:
            return packed
    except Exception:  # whatever a user's exception does when it is pickled
        pass
    plain = RunError(str(error)[:LARGEST_ERROR])
    if error.__cause__ is not None:
        plain.__cause__ = RuntimeError(repr(error.__cause__)[:LARGEST_ERROR])
    tblib.pickling_support.install(plain)
    return pickle.dumps(plain)


def unpack_error(packed: bytes) -> BaseException:
    """Return the error that was packed."""
    error = pickle.loads(packed)
    assert isinstance(error, BaseException)
    return error


def wait_for_turn(
    loop: asyncio.AbstractEventLoop, limit: float, check: Callable[[], None]
) -> None:
    """Wait until the event loop of this process has done what it had to do before.

    Parameters
    ----------
    loop : asyncio.AbstractEventLoop
        It runs in another thread.
    limit : float
        Seconds for which it may stand still.
    check : callable
        Raises if the run is over for another reason.

    Raises
    ------
    RunAbortedError
        If it stands still for longer. It is logged as well, for no error leaves this process
        while the loop does not turn.
    """
    turn = asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop)
    waited = 0.0  # in ticks: if this process itself was stopped for a while, none went by
    while not wait([turn], timeout=TICK).done:
        check()
        waited += TICK
        if waited >= limit:
            turn.cancel()
            text = (
                f"the event loop of process {os.getpid()} has stood still for {limit:g} s: "
                "something in it does not return, or holds Python's lock; its stacks "
                "(py-spy dump, faulthandler) say what"
            )
            logger.error(text)
            raise RunAbortedError(text)


def judge(
    spec: RunSpec, errors: Mapping[int, BaseException], gone: Collection[int]
) -> DgraphError:
    """Return the one error of a run that says what happened.

    Parameters
    ----------
    spec : RunSpec
    errors : mapping of int to exception
        The errors with which members ended.
    gone : collection of int
        Members whose worker has left the cluster.

    Returns
    -------
    DgraphError
        What a slot raised on purpose, as it is; else a RunError chained to what a slot raised;
        else that a worker is lost; else why members did not come or were given up.
    """
    ranked = sorted(errors.items(), key=lambda item: (_weight(item[1]), item[0]))
    first = ranked[0][1] if ranked else None
    if first is not None and _weight(first) == 0:
        return _blame(spec, first)
    if gone:
        lost = GraphLostError(
            f"{spec.algorithm} ended because {_describe(spec, gone)} left the cluster, and its "
            "part of the graph is lost: call from_edges again"
        )
        lost.__cause__ = first
        return lost
    if first is None:
        return RunAbortedError(f"{spec.algorithm} ended: no worker said why")
    return _blame(spec, first)


def _weight(error: BaseException) -> int:
    """Return 0 for what went wrong, 1 and 2 for what only followed from it."""
    return 2 if isinstance(error, RunAbortedError) else isinstance(error, JoinTimeoutError)


def _blame(spec: RunSpec, error: BaseException) -> DgraphError:
    cause = error.__cause__
    if isinstance(cause, DgraphError) and not isinstance(cause, RunError):
        return cause
    if isinstance(error, DgraphError) and not isinstance(error, RunError):
        return error
    kind = type(error) if isinstance(error, RunError) else RunError
    blame = kind(f"{spec.algorithm} failed: {error}")
    blame.__cause__ = cause if isinstance(error, RunError) and cause is not None else error
    return blame


def _describe(spec: RunSpec, members: Collection[int]) -> str:
    """Say which workers, and which slots they hosted."""
    return " and ".join(
        f"worker {spec.members[member].address} "
        f"(slots {', '.join(map(str, spec.members[member].slots))})"
        for member in sorted(members)
    )

"""The hub: where the slots of one process meet at the end of every superstep.

A slot program is a coroutine. Between two ``await`` it computes; at an ``await`` it hands the
hub a :class:`Request` (frames, and its part of a vote) and gets a :class:`Delivery`::

    thread 0   step slot 0 ─┐ arrives first, sleeps                 ┌ step slot 0 ...
    thread 1   step slot 1 ─┴ arrives last: completes the superstep ┴ step slot 1 ...
                              (local frames by reference, others over the links)

Waking another Python thread costs 50 to 100 us. So a thread that is done with its own slots
takes those that others have not begun; and a superstep that the programs announce as tiny is
computed for all slots by the thread that completed the one before, without waking the others.
A high-diameter graph then costs microseconds a level, as where slots go through it in compiled
code and meet in memory. The same scheme runs thousands of virtual slots on two threads.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.errors import RunAbortedError, RunError
from dgraph.exchange.cores import Cores, each_has_core
from dgraph.exchange.frame import Frame
from dgraph.exchange.hop import Hop
from dgraph.exchange.meeting import OVER, SIZE
from dgraph.exchange.parties import Links, Observer
from dgraph.exchange.request import COMBINE_VOTES, Delivery, Early, Program, Request, Votes

__all__ = ["COMBINE_VOTES", "Delivery", "Early", "Hub", "Request"]

#: A superstep with less work (edges to scan, in all slots of the process) than this is computed
#: by one thread: at 1 to 4 ns an edge it costs no more than waking a second thread does.
TINY = 100_000

#: Seconds a sleeping thread waits before it looks whether the run was cancelled.
TICK = 0.5

_NO_VOTE = np.zeros(0, np.int64)


class Hub:
    """Run the programs of the slots of one process, superstep by superstep.

    Parameters
    ----------
    programs : mapping of int to coroutine
        The slots of this process, ascending, and their programs.
    threads : int
        The most threads to use, the calling one included.
    links : Links, optional
        The way to the slots of other processes.
    observer : Observer, optional
        Is told of every superstep.
    cancelled : callable, optional
        Asked now and then; the run ends when it returns a reason.
    cores : Cores, optional
        Where the threads run; default: anywhere.

    Examples
    --------
    >>> async def program(slot):
    ...     delivery = await Request(vote=np.array([slot]))
    ...     return int(delivery.vote[0])
    >>> Hub({0: program(1), 1: program(2)}).run()
    {0: 3, 1: 3}
    """

    def __init__(
        self,
        programs: Mapping[int, Program],
        threads: int = 1,
        links: Links | None = None,
        observer: Observer | None = None,
        cancelled: Callable[[], str | None] | None = None,
        cores: Cores | None = None,
    ) -> None:
        self._cores = cores or Cores()
        self._programs = dict(programs)
        self._links = links
        self._observer = observer
        self._cancelled = cancelled
        threads = max(1, min(threads, len(self._programs)))
        slots = list(self._programs)
        self._mine = [slots[thread::threads] for thread in range(threads)]
        self._to_do: list[deque[int]] = [deque() for _ in self._mine]
        self._deliveries: dict[int, Delivery | None] = dict.fromkeys(slots)
        self._requests: dict[int, Request] = {}
        self._compute: dict[int, float] = {}
        self._results: dict[int, Any] = {}
        self._lock = threading.Lock()
        self._sleeping: set[int] = set()
        self._alarm = [threading.Lock() for _ in range(threads)]
        for alarm in self._alarm:
            alarm.acquire()
        #: Where slots meet in compiled code; None if not each has a thread and a core.
        self.meeting: NDArray[np.int64] | None = None
        if each_has_core(slots, threads):
            self.meeting = np.zeros(SIZE, np.int64)
        self._stepped = 0
        self._tiny = self._brief = False
        self._error: BaseException | None = None
        self._began = 0.0
        self._exchanges = 0
        self._votes = _NO_VOTE, _NO_VOTE  # routed: of the own slots, known so far
        self.superstep = 0

    def run(self, ready: Callable[[], None] | None = None) -> dict[int, Any]:
        """Run every program to its end and return their results by slot.

        Parameters
        ----------
        ready : callable, optional
            Called before the first superstep, when all threads are there.

        Raises
        ------
        RunError
            If a program raised (chained to what it raised), or the run was cancelled.
        """
        helpers = [
            threading.Thread(target=self._work, args=(thread,), name="dgraph-slot", daemon=True)
            for thread in range(1, len(self._mine))
        ]
        for helper in helpers:
            helper.start()
        try:
            if ready is not None:
                ready()
            self._began = perf_counter()
            self._deal()
            self._work(0)
        except BaseException as error:  # the other threads must not wait for ever
            self.abort(error)
        for helper in helpers:
            helper.join()
        if self._error is not None:
            for program in self._programs.values():
                program.close()
            raise self._error
        return {slot: self._results[slot] for slot in self._programs}

    def abort(self, error: BaseException) -> None:
        """End the run on every slot of this process with `error`; the first error counts."""
        with self._lock:
            if self._error is not None:
                return
            self._error = error
            if self.meeting is not None:
                self.meeting[OVER] = 1
        if self._links is not None:
            self._links.abort(error)
        with self._lock:
            self._wake_all()

    def meet_at(self, words: NDArray[np.int64] | None) -> None:
        """Say where slots meet, to be called off should the run fail; None: no more."""
        with self._lock:
            self.meeting = words
            if words is not None and self._error is not None:
                words[OVER] = 1

    def look_after(self) -> None:
        """End the run if it was cancelled, or another process is silent.

        Slots that wait for others in compiled code ask for it, see
        :mod:`dgraph.exchange.meeting`.
        """
        try:
            self.check()
            if self._links is not None:
                self._links.look_after(self._exchanges)
        except BaseException as error:  # there is nobody to raise it to
            self.abort(error)

    @property
    def _over(self) -> bool:
        return self._error is not None or len(self._results) == len(self._programs)

    def _work(self, thread: int) -> None:
        """Step slots until the run is over."""
        try:
            with self._cores.hold(thread):
                self._step_slots(thread)
        except RunError as error:
            self.abort(error)
        except BaseException as error:  # a fault of ours must not leave the others waiting
            self.abort(_failure(error, f"superstep {self.superstep}"))

    def _step_slots(self, thread: int) -> None:
        while not self._over:
            slot = self._take(thread)
            if slot is None:
                self._sleep(thread)
            elif self._step(slot) and self._is_last():
                self._complete()
                while self._tiny and not self._over:
                    if all(map(self._step, self._programs)):
                        self._complete()
                self._deal()

    def _take(self, thread: int) -> int | None:
        """Return a slot to step: one of the thread's own, else the last of those waiting.

        None if there is none, and the thread should sleep.
        """
        with self._lock:
            if self._over:
                return None
            if self._to_do[thread]:
                return self._to_do[thread].popleft()
            longest = max(self._to_do, key=len)
            if longest:
                return longest.pop()
            self._sleeping.add(thread)
            return None

    def _is_last(self) -> bool:
        with self._lock:
            self._stepped += 1
            return self._stepped == len(self._programs)

    def _deal(self) -> None:
        """Begin the next superstep on all threads, or let them end."""
        with self._lock:
            if not self._over:
                self._stepped = 0
                for waiting, mine in zip(self._to_do, self._dealt(), strict=True):
                    waiting.extend(mine)
            self._wake_all()

    def _dealt(self) -> list[list[int]]:
        """Return the slots of each thread: with several, those that took longest come first."""
        threads = len(self._mine)
        if threads == 1 or threads == len(self._programs) or not self._compute:
            return self._mine
        slots = sorted(self._programs, key=self._compute.__getitem__, reverse=True)
        return [slots[thread::threads] for thread in range(threads)]

    def _wake_all(self) -> None:
        for thread in self._sleeping:
            self._alarm[thread].release()
        self._sleeping.clear()

    def _sleep(self, thread: int) -> None:
        while not self._over and not self._alarm[thread].acquire(timeout=TICK):
            self.check()

    def check(self) -> None:
        """Raise if the run was aborted or cancelled."""
        if self._error is not None:
            raise RunAbortedError(str(self._error)) from self._error
        reason = self._cancelled() if self._cancelled is not None else None
        if reason:
            raise RunAbortedError(reason)

    def _step(self, slot: int) -> bool:
        """Let a slot compute up to its next request, or to its end; False if all is over."""
        if self._error is not None:
            return False
        began = perf_counter()
        request = self._advance(slot, self._deliveries[slot])
        while isinstance(request, Early):
            paused = perf_counter()
            self._post(request)
            began += perf_counter() - paused
            request = self._advance(slot, None)
        self._compute[slot] = perf_counter() - began
        if request is not None:
            self._requests[slot] = request
            if self._links is not None and not self._brief and len(self._programs) > 1:
                for frame in request.frames:  # they travel while other slots compute
                    self._post(Early(frame))
        return True

    def _advance(self, slot: int, delivery: Delivery | None) -> Request | Early | None:
        """Let a slot compute; return what it hands over, None at its end."""
        try:
            return self._programs[slot].send(delivery)
        except StopIteration as stop:
            self._results[slot] = stop.value
            return None
        except BaseException as error:
            raise _failure(error, f"superstep {self.superstep}, slot {slot}") from error

    def _post(self, early: Early) -> None:
        """Let a frame travel before the others of the superstep, if that is of use."""
        frame = early.frame
        if self._links is None or frame.is_posted or frame.target in self._programs:
            posted = frame.is_posted
        else:
            posted = self._links.post(self._exchanges, frame, early.encode)
        if early.encode is not None and not posted:
            early.encode(frame.columns[-1].nbytes)

    def _complete(self) -> None:
        """End the superstep: exchange what the slots handed over and make the deliveries."""
        self.check()
        if self._over:
            return
        if self._results:
            raise RunError("some slots ended while others went on: the program is not SPMD")
        began = perf_counter()
        inbox: dict[int, list[Frame]] = {slot: [] for slot in self._programs}
        away: list[Frame] = []
        for request in self._requests.values():
            for frame in request.frames:
                inbox.get(frame.target, away).append(frame)
        vote, op = _local_vote(self._requests.values())
        hop = request.hop  # of the last one: the same for all
        if hop is not None:
            vote = self._known_vote(vote, hop)
        if self._links is not None:
            came, vote = self._links.exchange(self._exchanges, away, vote, op, hop)
            for frame in came:
                inbox[frame.target].append(frame)
        if hop is not None:
            self._votes = self._votes[0], vote
        for slot, frames in inbox.items():
            frames.sort(key=_source)
            self._deliveries[slot] = Delivery(frames, vote)
        self._note(began)
        self._brief = _work(self._requests.values()) < TINY
        self._tiny = len(self._mine) == 1 or self._brief
        self._exchanges += 1
        if hop is None or hop.last:
            self.superstep += 1

    def _known_vote(self, vote: Votes, hop: Hop) -> Votes:
        """Return the vote with which a stage of a routed superstep begins."""
        if hop.first:
            self._votes = vote, vote
        return self._votes[0] if hop.fresh else self._votes[1]

    def _note(self, began: float) -> None:
        ended = perf_counter()
        if self._observer is not None:
            stage = next(iter(self._requests.values())).stage
            self._observer.superstep(
                stage, self._requests, self._compute, ended - began, ended - self._began
            )
        self._began = ended


def _source(frame: Frame) -> int:
    return frame.source


def _local_vote(requests: Any) -> tuple[Votes, str]:
    """Return the votes of a process's slots, combined, and how.

    Examples
    --------
    >>> _local_vote([Request(vote=np.array([1, 5])), Request(vote=np.array([2, 3]))])
    (array([3, 8]), 'sum')
    """
    total: Votes | None = None
    op = "sum"
    for request in requests:
        op = request.op
        total = request.vote if total is None else COMBINE_VOTES[op](total, request.vote)
    return (_NO_VOTE if total is None else total), op


def _work(requests: Any) -> int:
    """Return the edges that a process expects to scan next, TINY if a slot does not say.

    Examples
    --------
    >>> _work([Request(work=3), Request(work=4)]), _work([Request(work=3), Request()]) >= TINY
    (7, True)
    """
    return sum(TINY if request.work is None else request.work for request in requests)


def _failure(error: BaseException, where: str) -> RunError:
    failure = RunError(f"{where}: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure

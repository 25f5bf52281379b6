"""A core for each thread of a run, where its processes have as many threads as the host cores.

A thread that waits for the others of a superstep and is woken may come to stand behind one that
still computes while the core beside it is free: the scheduler looks for the core where its data
lie. Each time all slots wait for it. So the threads keep to their cores, but only

- where the processes of the run fill the host: elsewhere a free core is found soon, and a
  second run or other work of the cluster must not be pressed onto the same few cores; each run
  begins with another core;
- while vertices and edges are worked on: threads that a library starts (Arrow's, when columns
  are made) would keep to the core of the thread that started them.

Measured on two cores, Kronecker graph of scale 20, in turns: BFS with two processes 12.7 ms
without and 9.8 with, with two threads of one process 7.3 and 6.9.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from itertools import accumulate

__all__ = ["Cores", "allowed_cores", "each_has_core", "own_cores"]


def allowed_cores() -> list[int]:
    """Return the cores on which this process may run; none if the system cannot say.

    Examples
    --------
    >>> len(allowed_cores()) <= os.cpu_count()
    True
    """
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def each_has_core(slots: Sequence[int], threads: int) -> bool:
    """Tell whether the slots of a process have a thread each, and a core for it.

    Examples
    --------
    >>> each_has_core([0, 1, 2], 2)
    False
    """
    return len(slots) == threads <= len(allowed_cores())


def own_cores(
    members: Sequence[tuple[str, int]], me: int, allowed: Sequence[int], first: int = 0
) -> list[int]:
    """Return the cores of a member's threads, none where they may go where they like.

    Parameters
    ----------
    members : sequence of (str, int)
        The host of each process of the run, and how many threads it uses.
    me : int
    allowed : sequence of int
        The cores of the host, the same for all there.
    first : int
        Which of them is the first thread's, counted round and round.

    Examples
    --------
    >>> pair = [("h", 1), ("h", 1)]
    >>> own_cores(pair, 1, [4, 6]), own_cores(pair, 1, [4, 6], 1), own_cores(pair, 1, [4])
    ([6], [4], [])
    """
    mine, count = members[me][0], len(allowed)
    ends = list(accumulate(threads * (host == mine) for host, threads in members))
    if ends[-1] != count:
        return []
    return [allowed[(first + at) % count] for at in range(ends[me] - members[me][1], ends[me])]


class Cores:
    """The cores of the threads of one process in a run.

    Parameters
    ----------
    mine : sequence of int
        The core of each thread; empty: the threads go where they like.

    Examples
    --------
    >>> cores = Cores(allowed_cores()[:1])
    >>> with cores.hold(0):
    ...     kept = allowed_cores()
    ...     cores.release()
    ...     kept == cores.mine, allowed_cores() == kept or len(kept) == 1
    (True, True)
    """

    def __init__(self, mine: Sequence[int] = ()) -> None:
        self.mine = list(mine)
        self._lock = threading.Lock()
        self._before: dict[int, set[int]] = {}  # where threads were allowed to run
        self._is_over = False

    @contextlib.contextmanager
    def hold(self, thread: int) -> Iterator[None]:
        """Keep the calling thread, the `thread`-th of the run, on its core."""
        me = threading.get_native_id()
        with self._lock, contextlib.suppress(OSError):
            if thread < len(self.mine) and not self._is_over:
                before = os.sched_getaffinity(me)
                os.sched_setaffinity(me, {self.mine[thread]})
                self._before[me] = before
        try:
            yield
        finally:
            self._let_go([me])

    def release(self) -> None:
        """Let all threads go where they like; any of them may say so, and more than once."""
        with self._lock:
            self._is_over = True
            threads = list(self._before)
        self._let_go(threads)

    def _let_go(self, threads: Sequence[int]) -> None:
        with self._lock:
            for thread in threads:
                before = self._before.pop(thread, None)
                if before is not None:
                    with contextlib.suppress(OSError):  # a core was taken offline
                        os.sched_setaffinity(thread, before)

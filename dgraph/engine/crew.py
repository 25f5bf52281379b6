"""Slots of one process that help each other: who is done takes pieces of another's work.

A superstep ends when the last slot has ended, and a thread may have a slow core, or rows whose
ends lie worse in the caches, and not in every superstep the same one. So a slot may offer what
it does in pieces::

    slot 0   its piece 0   its piece 1   its piece 3 ┐
    slot 1   its piece 0   slot 0's piece 2   ───────┴ both are done

Whatever pieces others do, a slot gets the results of all of its own. So each has to say the
same whoever works it out, and is written where no other piece writes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["Crew"]

T = TypeVar("T")


class Crew:
    """The slots of one process in one run.

    Examples
    --------
    >>> Crew().share(0, lambda piece: piece**2, pieces=4)
    [0, 1, 4, 9]
    """

    def __init__(self) -> None:
        self._jobs: dict[int, _Job[Any]] = {}

    def share(self, slot: int, work: Callable[[int], T], pieces: int) -> list[T]:
        """Do all pieces of a slot's work, and of other slots' what they have not begun.

        Parameters
        ----------
        slot : int
            Whose work it is.
        work : callable
            Does a piece, of which it is told the number, and has to let go of the GIL.
        pieces : int
            They are begun in ascending order: the largest ones should come first.

        Returns
        -------
        list
            What `work` has returned, by piece.

        Raises
        ------
        BaseException
            What `work` has raised, on this slot, whoever called it.
        """
        if pieces == 1:  # there is nothing that another one could take
            done = [work(0)]
            self._help()
            return done
        job = self._jobs[slot] = _Job(work, pieces)
        self._help(job)
        del self._jobs[slot]
        return job.results()

    def _help(self, *first: _Job[Any]) -> None:
        """Do what nobody has begun, of these jobs first."""
        while any(some.take() for some in [*first, *self._jobs.values()]):
            pass


class _Job(Generic[T]):
    """What one slot has to do, and how much of it is done."""

    def __init__(self, work: Callable[[int], T], pieces: int) -> None:
        self._work, self._pieces = work, pieces
        self._next: Iterator[int] = iter(range(pieces))
        self._done: dict[int, T] = {}
        self._failures: list[BaseException] = []
        self._changed = threading.Condition()
        self._busy = 0

    def take(self) -> bool:
        """Do a piece that nobody has begun; False if there is none."""
        with self._changed:
            piece = next(self._next, None)
            if piece is None or self._failures:
                return False
            self._busy += 1
        try:
            self._done[piece] = self._work(piece)
        except BaseException as error:  # the owner raises it
            self._failures.append(error)
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()
        return True

    def results(self) -> list[T]:
        """Wait for the pieces that others are doing, and return what all have given."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy)
        if self._failures:
            raise self._failures[0]
        return [self._done[piece] for piece in range(self._pieces)]

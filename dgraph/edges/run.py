"""Small Dask jobs of the client: looking into files before their edges are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from dask.base import compute
from dask.delayed import delayed
from distributed import Client

from dgraph.errors import DgraphError

__all__ = ["attempt", "run_all"]


Item = TypeVar("Item")
Result = TypeVar("Result")


def run_all(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Call a function on every item, in parallel on the current cluster or on threads.

    >>> run_all(len, ["a", "bc"])
    [1, 2]
    """
    if len(items) < 2:
        return [function(item) for item in items]
    # Dask looks into arguments, so they are hidden in the function
    tasks = [delayed(partial(attempt, partial(function, item)))() for item in items]
    results: tuple[Result | DgraphError, ...] = compute(
        *tasks, scheduler="threads" if _is_async() else None
    )
    return [_checked(result) for result in results]


def attempt(function: Callable[[], Result]) -> Result | DgraphError:
    """Return what a function returns, or the error that it raises on purpose.

    An error that a task raises is written to the log of its worker, traceback and all; as its
    result it reaches the user as one sentence.

    >>> attempt(lambda: 1)
    1
    """
    try:
        return function()
    except DgraphError as error:
        return error


def _checked(result: Result | DgraphError) -> Result:
    if isinstance(result, DgraphError):
        raise result
    return result


def _is_async() -> bool:
    """Tell whether the current client answers with awaitables, which nobody here awaits."""
    try:
        return bool(Client.current().asynchronous)
    except ValueError:
        return False

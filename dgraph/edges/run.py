"""Small Dask jobs of the client: looking into files before their edges are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from dask.base import compute
from dask.delayed import delayed
from distributed import Client

__all__ = ["run_all"]


Item = TypeVar("Item")
Result = TypeVar("Result")


def run_all(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Call a function on every item, in parallel on the current cluster or on threads.

    >>> run_all(len, ["a", "bc"])
    [1, 2]
    """
    if len(items) < 2:
        return [function(item) for item in items]
    tasks = [delayed(partial(function, item))() for item in items]  # Dask looks into arguments
    results: tuple[Result, ...] = compute(*tasks, scheduler="threads" if _is_async() else None)
    return list(results)


def _is_async() -> bool:
    """Tell whether the current client answers with awaitables, which nobody here awaits."""
    try:
        return bool(Client.current().asynchronous)
    except ValueError:
        return False

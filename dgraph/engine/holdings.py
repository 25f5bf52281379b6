"""What a worker holds on behalf of tasks, besides their results."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["Holdings", "Name"]

#: The graph or run that something belongs to, and which of its slots or partitions it is.
Name = tuple[str, int]


class Holdings:
    """Values under names; each belongs to a task and goes when the task's result does.

    Examples
    --------
    >>> held = Holdings()
    >>> held.keep("task-1", ("graph", 0), "a shard")
    >>> held.get(("graph", 0))
    'a shard'
    >>> held.release("task-1")
    >>> len(held)
    0
    """

    def __init__(self) -> None:
        self._values: dict[Name, Any] = {}
        self._owner: dict[Name, Any] = {}
        self._names: dict[Any, set[Name]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return how many values there are."""
        return len(self._values)

    def __contains__(self, key: Any) -> bool:
        """Return whether something belongs to a task."""
        return key in self._names

    def keep(self, key: Any, name: Name, value: Any) -> None:
        """Hold a value, instead of what another task may have left under its name."""
        with self._lock:
            self._drop(name)
            self._values[name] = value
            self._owner[name] = key
            self._names.setdefault(key, set()).add(name)

    def get(self, name: Name) -> Any:
        """Return a value, None if there is none."""
        return self._values.get(name)

    def take(self, graph: str) -> list[Any]:
        """Return all values of a graph or run, in the order of their numbers, and drop them."""
        with self._lock:
            names = sorted(name for name in self._values if name[0] == graph)
            values = [self._values[name] for name in names]
            for name in names:
                self._drop(name)
            return values

    def drop(self, graph: str) -> None:
        """Drop all values of a graph or run."""
        with self._lock:
            for name in [name for name in self._values if name[0] == graph]:
                self._drop(name)

    def release(self, key: Any) -> None:
        """Drop what belongs to a task; cheap if nothing does."""
        if key in self._names:
            with self._lock:
                for name in tuple(self._names.get(key, ())):
                    self._drop(name)

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            for name in tuple(self._values):
                self._drop(name)

    def _drop(self, name: Name) -> None:
        if name not in self._values:
            return
        del self._values[name]
        key = self._owner.pop(name)
        self._names[key].discard(name)
        if not self._names[key]:
            del self._names[key]

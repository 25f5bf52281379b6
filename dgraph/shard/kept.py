"""How much memory algorithms keep on a shard for their next runs.

What they keep shares arrays with the shard: whole rows that are put together beside split ones
lie over the same ids. So arrays are counted, each once, and not what holds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from dgraph.shard.shard import Shard
from dgraph.vertices.ids import IntIds, StringIds

__all__ = ["kept_bytes"]


def kept_bytes(shard: Shard) -> int:
    """Return the bytes of all arrays in `Shard.derived` that are not the shard's own.

    Examples
    --------
    >>> from dgraph.shard.scratch import Scratch
    >>> kept = {"a": np.zeros(4), "b": Scratch()}
    >>> kept["b"].give_back(kept["a"])
    >>> sum(_held(kept).values())
    32
    """
    found = _held(shard.derived)
    own = {key: value for key, value in _parts(shard).items() if key != "derived"}
    return sum(found[key] for key in found.keys() - _held(own).keys())


def _held(thing: Any) -> dict[int, int]:
    """Return the bytes of all arrays that a value leads to, by what owns their memory."""
    found: dict[int, int] = {}
    seen: set[int] = set()
    todo = [thing]
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            while isinstance(one.base, np.ndarray):
                one = one.base
            found[id(one)] = one.nbytes
        elif isinstance(one, StringIds):
            found[id(one.array)] = one.nbytes
        else:
            todo += _inside(one)
    return found


def _inside(thing: Any) -> Iterator[Any]:
    """Yield what a container holds."""
    if isinstance(thing, Mapping):
        yield from thing.values()
    elif isinstance(thing, tuple | list):
        yield from thing
    elif isinstance(thing, IntIds):
        yield thing.values
    elif hasattr(thing, "arrays"):  # it says what counts, such as `Scratch`
        yield from thing.arrays
    else:
        yield from _parts(thing).values()


def _parts(thing: Any) -> dict[str, Any]:
    """Return the attributes of an object that are its data."""
    if is_dataclass(thing):
        return {field.name: getattr(thing, field.name, None) for field in fields(thing)}
    return dict(getattr(thing, "__dict__", {}))

"""Warnings that point at the line of the user's that led to them.

Python 3.12 has ``skip_file_prefixes`` for that. But much of what is doubtful shows on the event
loop of a client, whose stack the user is not on; so a call remembers where it was made::

    user's thread   from_edges(...)  ── call: place = place_of_caller() ──┐
    loop's thread                       with calling_from(place): ...  warn(...)
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, NamedTuple

from dgraph.errors import DgraphWarning

__all__ = ["Place", "calling_from", "place_of_caller", "warn"]


class Place(NamedTuple):
    """A line of code, as `warnings` wants it; no frame is held.

    Parameters
    ----------
    filename : str
    line : int
    module : str
    registry : dict
        Of the module: which warnings of its lines were shown.
    """

    filename: str
    line: int
    module: str
    registry: dict[Any, Any]


_calling: ContextVar[Place | None] = ContextVar("dgraph_calling", default=None)


def place_of_caller() -> Place:
    """Return the line outside of this package that is being executed.

    In what a call of the user's has led to, on whatever thread, it is that of the call.
    """
    known = _calling.get()
    if known is not None:
        return known
    frame: FrameType = sys._getframe()
    while _is_ours(frame) and frame.f_back is not None:
        frame = frame.f_back
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    module = names.get("__name__") or "<string>"
    return Place(frame.f_code.co_filename, frame.f_lineno, module, registry)


def _is_ours(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__"))
    return name.partition(".")[0] == "dgraph"


@contextmanager
def calling_from(place: Place) -> Iterator[None]:
    """Let warnings inside a ``with`` point at a place."""
    token = _calling.set(place)
    try:
        yield
    finally:
        _calling.reset(token)


def warn(text: str, category: type[DgraphWarning]) -> None:
    """Warn the user, at the line of theirs that led to it.

    Examples
    --------
    >>> from dgraph.errors import IdWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("ids are doubtful", IdWarning)
    >>> str(caught[0].message)
    'ids are doubtful'
    """
    warnings.warn_explicit(text, category, *place_of_caller())

"""What stands for a graph in a task, where there is none: it says so when it is used.

To refuse to be pickled is not enough: a function that has a graph in its closure is pickled by
Dask in three ways, one after the other, and each failure is logged with its traceback.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import NoReturn

from dgraph.errors import OptionTypeError

__all__ = ["Elsewhere", "reduced", "refuse"]

#: Where Dask pickles what a task is made of, to send it or to name it.
_OF_DASK = ("distributed.protocol.pickle", "dask.tokenize")


def refuse() -> NoReturn:
    """Raise the error that says that a graph cannot be sent.

    Raises
    ------
    OptionTypeError
    """
    raise OptionTypeError(
        "a Graph belongs to its client and cannot be sent to another process or into a task: "
        "call algorithms on it from outside, or save it and load it there"
    )


class Elsewhere:
    """What a task finds where its function has a graph.

    >>> Elsewhere().num_vertices
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionTypeError: a Graph belongs to its client and cannot be sent to another \
process or into a task: call algorithms on it from outside, or save it and load it there
    """

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse whatever a graph may be asked for; protocols of Python's it has none."""
        if name.startswith("__"):
            raise AttributeError(name)
        refuse()

    def __enter__(self) -> NoReturn:
        """Refuse as well."""
        refuse()

    def __exit__(self, *raised: object) -> None:
        """Be there, for ``with`` asks for both."""


def reduced() -> tuple[type[Elsewhere], tuple[()]]:
    """Return what pickle makes of a graph.

    Raises
    ------
    OptionTypeError
        Unless it is Dask who pickles it, for a task.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") in _OF_DASK:
            return Elsewhere, ()
        frame = frame.f_back
    refuse()

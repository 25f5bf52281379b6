"""Words that are not known, keywords of functions among them: what was probably meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from dgraph.errors import OptionTypeError

__all__ = ["hint", "named", "nearest"]

P = ParamSpec("P")
R = TypeVar("R")

#: What other libraries, and the papers, call what these functions have -> what it is here.
_ELSEWHERE = {
    "beta": ("alpha",), "d": ("alpha",), "damping": ("alpha",), "damping_factor": ("alpha",),
    "iterations": ("max_iter",), "niter": ("max_iter",), "num_iterations": ("max_iter",),
    "eps": ("tol",), "epsilon": ("tol",), "error": ("tol",), "tolerance": ("tol",),
    "reset": ("personalization",), "restart": ("personalization",),
    "cutoff": ("depth_limit", "limit"), "max_depth": ("depth_limit",),
    "indices": ("source", "sources"), "root": ("source",), "start": ("source",),
    "samples": ("k",), "weights": ("weight", "weighted"),
    "dst": ("target",), "src": ("source",), "delimiter": ("sep",), "names": ("columns",),
    "usecols": ("columns",), "nodes": ("vertices",), "npartitions": ("slots",),
}  # fmt: skip


def nearest(word: Any, known: Iterable[Any], cutoff: float = 0.6) -> str | None:
    """Return the known word that is spelled most like another, in letters of any case.

    Parameters
    ----------
    word
    known : iterable
        What is no string, in both, is like nothing.
    cutoff : float
        From 0, anything, to 1, the same; 0.6 is that of `difflib`.

    Examples
    --------
    >>> nearest("degre", ["hash", "degree"]), nearest("CSV", ["csv"]), nearest("best", ["hash"])
    ('degree', 'csv', None)
    """
    spelled = {one.lower(): one for one in known if isinstance(one, str)}
    lower = word.lower() if isinstance(word, str) else ""
    return next((spelled[one] for one in get_close_matches(lower, spelled, 1, cutoff)), None)


def hint(word: Any, known: Iterable[Any]) -> str:
    """Return the end of a message about a word that is not known: what was meant, if anything.

    >>> hint("degre", ["hash", "degree"]), hint("best", ["hash", "degree"])
    ("; did you mean 'degree'?", '')
    """
    meant = nearest(word, known)
    return "" if meant is None else f"; did you mean {meant!r}?"


def named(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function say which keywords it has, when it is called with another.

    Parameters
    ----------
    function : callable
        Its signature, docstring and name stay what they are, for ``help`` and type checkers.

    Raises
    ------
    OptionTypeError
        From the function that is returned.

    Examples
    --------
    >>> @named
    ... def rank(g, *, alpha=0.85, tol=1e-6):
    ...     return alpha
    >>> rank(None, damping=0.5)
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionTypeError: an option of rank must be 'alpha' or 'tol', not 'damping'; \
did you mean 'alpha'?
    """
    known = tuple(signature(function).parameters)

    @wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        for name in options:
            if name not in known:
                raise OptionTypeError(_complaint(function.__name__, known[1:], name))
        return function(*arguments, **options)

    return call


#: What to do instead of an option that other libraries have and a function here has not.
_REMEDIES = {
    (
        "read_edges",
        "encoding",
    ): "text must be UTF-8: convert "
    "the files (iconv -f latin1 -t utf-8 FILE), or give the frame of "
    "dask.dataframe.read_csv(..., encoding=...) to from_edges",
}


def _complaint(function: str, options: Sequence[str], name: str) -> str:
    """Say which options there are instead of one that there is not.

    >>> _complaint("triangles", [], "weighted")
    "triangles must be called without options, not with 'weighted'"
    >>> _complaint("search", ["source", "depth_limit"], "depthlimit")
    "an option of search must be 'source' or 'depth_limit', not 'depthlimit'; did you mean \
'depth_limit'?"
    """
    if not options:
        return f"{function} must be called without options, not with {name!r}"
    *others, last = map(repr, options)
    allowed = f"{', '.join(others)} or {last}" if others else last
    meant = [one for one in _ELSEWHERE.get(name.lower(), ()) if one in options]
    likely = hint(meant[0] if meant else name, options)
    if remedy := _REMEDIES.get((function, name)):
        likely = f"; {remedy}"
    return f"an option of {function} must be {allowed}, not {name!r}{likely}"

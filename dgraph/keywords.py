"""Keywords that a function does not have: refused with the one that was probably meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from dgraph.errors import OptionTypeError

__all__ = ["named"]

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
    meant = meant or get_close_matches(name, options, n=1)
    hint = f"; did you mean {meant[0]!r}?" if meant else ""
    return f"an option of {function} must be {allowed}, not {name!r}{hint}"

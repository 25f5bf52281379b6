"""The ways to lay a graph out that are set side by side: options of `dgraph.from_edges`."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

__all__ = ["FINE", "RHIZOMES", "Layout", "layouts"]

Layout = Mapping[str, Any]

#: How heavy vertices are split where bytes between domains count: each edge beside its end.
FINE: Layout = {"rhizome_max": 128, "rhizome_allocation": "sources"}

#: What "hierarchy" is called with these.
RHIZOMES = "hierarchy + rhizomes"

_NAMES = (
    *("hash", "chunk", "2d", "degree", "fennel", "xtree", "adp", "topox", "metis", "hierarchy"),
    RHIZOMES,
)


def layouts(*names: str) -> dict[str, Layout]:
    """Return layouts by name; by default all of YH-Light's figure 3 that are installed.

    Examples
    --------
    >>> layouts("hierarchy + rhizomes")["hierarchy + rhizomes"]["rhizome_max"]
    128
    """
    found: dict[str, Layout] = {}
    for name in names or _NAMES:
        if name == "metis" and importlib.util.find_spec("pymetis") is None:
            continue
        more = FINE if name == RHIZOMES else {}
        found[name] = {"placement": name.removesuffix(" + rhizomes"), **more}
    return found

"""Graphs on which placements are shown. Ids are dealt at random: they say nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dgraph as dg

__all__ = ["grid", "kronecker", "planted", "star_graph"]


def planted(blocks: int, size: int, degree: int, outside: float) -> pd.DataFrame:
    """Return a planted partition: random edges of which few leave their block."""
    draw = np.random.default_rng(1)
    n = blocks * size
    block = draw.permutation(np.arange(n) % blocks)
    members = np.array([np.flatnonzero(block == b) for b in range(blocks)])
    source = draw.integers(0, n, n * degree // 2)
    near = members[block[source], draw.integers(0, size, source.size)]
    leaves = draw.random(source.size) < outside
    target = np.where(leaves, draw.integers(0, n, source.size), near)
    loops = source == target
    return pd.DataFrame({"source": source[~loops], "target": target[~loops]})


def grid(side: int) -> pd.DataFrame:
    """Return a square grid."""
    number = np.random.default_rng(1).permutation(side * side).reshape(side, side)
    low = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    high = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    return pd.DataFrame({"source": low, "target": high})


def kronecker(scale: int) -> pd.DataFrame:
    """Return a Kronecker graph, 16 edges to a vertex."""
    made: pd.DataFrame = dg.generate.kronecker(scale).compute(scheduler="threads")
    return made


def star_graph(leaves: int) -> pd.DataFrame:
    """Return a hub, vertex 0, with so many leaves."""
    return pd.DataFrame({"source": np.zeros(leaves, int), "target": np.arange(1, leaves + 1)})

"""A graph of two dense halves, on which tests of `dgraph.gnn` train."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from distributed import Client

import dgraph as dg

CLIQUES = [[0, 1], [2, 3]]


@contextmanager
def two_halves(client: Client, slots: int = 3, **options: Any) -> Iterator[dg.Graph]:
    """Yield two dense halves of 60 vertices, with few edges between them."""
    draw = np.random.default_rng(5)
    half = draw.integers(0, 2, 900)
    ends = draw.integers(0, 60, (900, 2)) + 60 * half[:, None]
    across = draw.integers(0, 60, (12, 2)) + np.array([0, 60])
    edges = pd.DataFrame(np.concatenate([ends, across]), columns=["source", "target"])
    with dg.from_edges(edges, virtual_slots=slots, client=client, **options) as graph:
        yield graph

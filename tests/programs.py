"""Every algorithm as a slot program, with arguments for a small graph."""

from __future__ import annotations

from typing import Any

import numpy as np

import dgraph as dg
from dgraph.algorithms._supersteps import vertex_program_slot
from dgraph.algorithms.betweenness_centrality import Sample, betweenness_slot
from dgraph.algorithms.bfs import bfs_slot
from dgraph.algorithms.cdlp import cdlp_slot
from dgraph.algorithms.connected_components import connected_components_slot
from dgraph.algorithms.core_number import core_number_slot
from dgraph.algorithms.local_clustering import local_clustering_slot
from dgraph.algorithms.pagerank import pagerank_slot
from dgraph.algorithms.sssp import sssp_slot
from dgraph.algorithms.strong_components import strong_components_slot
from dgraph.algorithms.triangles import triangles_slot
from dgraph.listing import degrees_slot
from tests.reference import PlainGraph


class Heaviest(dg.VertexProgram):
    """Sums of what all neighbours are told, and the smallest of them."""

    fields = {"total": "float64"}  # noqa: RUF012
    combiner = "sum"

    def init_vertex(self, vertex: Any, run: Any) -> Any:
        return {"total": 1 / (1.0 + vertex.number)}, np.ones(len(vertex.number), bool)

    def compute_scatter(self, source: Any, target: Any, edge: Any, run: Any) -> Any:
        return source.total * edge.weight

    def compute_reduce(self, vertex: Any, message: Any, run: Any) -> Any:
        return {"total": message}

    def update_status(self, new: Any, old: Any, run: Any) -> Any:
        return new.total != old.total


def programs(graph: PlainGraph) -> dict[str, tuple[Any, ...]]:
    """Return by name a program and its arguments."""
    first, few = graph.ids.take(np.array([0])), graph.ids.take(np.arange(min(3, graph.n)))
    found: dict[str, tuple[Any, ...]] = {
        "bfs": (bfs_slot, few),
        "bfs, 2 levels": (bfs_slot, first, 2),
        "sssp": (sssp_slot, first),
        "pagerank": (pagerank_slot,),
        "pagerank, 3 rounds": (pagerank_slot, 0.9, None, 3, None, False),
        "cdlp": (cdlp_slot, 5),
        "weak": (connected_components_slot,),
        "clustering": (local_clustering_slot,),
        "program": (vertex_program_slot, Heaviest(), 3),
        "degrees": (degrees_slot,),
        "betweenness": (betweenness_slot, None, True, False, False),
        "betweenness, a sample": (betweenness_slot, Sample(len(few), 7), True, False, True),
    }
    if graph.weight is None or (graph.weight > 0).all():
        found["betweenness, weights"] = (betweenness_slot, few, False, True, True)
    if graph.directed:
        found["strong"] = (strong_components_slot,)
    else:
        found |= {"cores": (core_number_slot,), "triangles": (triangles_slot,)}
    return found

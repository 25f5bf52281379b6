"""Vertex programs: the built-in algorithms written as such agree with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
import dgraph.algorithms._messages as messages_module
import dgraph.algorithms._supersteps as supersteps_module
from dgraph.algorithms.bfs import bfs_slot
from dgraph.algorithms.cdlp import cdlp_slot
from dgraph.algorithms.connected_components import connected_components_slot
from dgraph.algorithms.pagerank import pagerank_slot
from dgraph.algorithms.vertex_program import Run, VertexProgram, vertex_program_slot
from dgraph.errors import OptionError, RunError
from tests.harness import Steps, frame_of
from tests.reference import PlainGraph, build, plain
from tests.strategies import spread_graphs


class Search(VertexProgram):
    """Breadth-first search: the sender of the smallest rank is the predecessor."""

    fields: ClassVar = {"distance": "int64", "rank": "int64", "found_by": "int64"}
    shared = ("rank",)
    columns = ("distance", "found_by")
    message = "int64"

    def __init__(self, source: Any) -> None:
        self.source = source

    def init_vertex(self, vertex: Any, run: Run) -> Any:
        here = np.asarray(vertex.id == self.source, bool)
        return {
            "distance": np.where(here, 0, -1),
            "rank": vertex.rank,
            "found_by": np.full(here.size, -1),
        }, here

    def compute_scatter(self, source: Any, target: Any, edge: Any, run: Run) -> Any:
        return source.rank

    def compute_reduce(self, vertex: Any, message: Any, run: Run) -> Any:
        new = vertex.distance < 0
        return {
            "distance": np.where(new, run.superstep, vertex.distance),
            "found_by": np.where(new, message, vertex.found_by),
        }

    def update_status(self, new: Any, old: Any, run: Run) -> Any:
        return old.distance < 0


class Shortest(VertexProgram):
    """Single-source shortest paths, as Bellman and Ford."""

    fields: ClassVar = {"distance": "float64"}

    def __init__(self, source: Any) -> None:
        self.source = source

    def init_vertex(self, vertex: Any, run: Run) -> Any:
        here = np.asarray(vertex.id == self.source, bool)
        return {"distance": np.where(here, 0.0, np.inf)}, here

    def compute_scatter(self, source: Any, target: Any, edge: Any, run: Run) -> Any:
        return source.distance + edge.weight

    def compute_reduce(self, vertex: Any, message: Any, run: Run) -> Any:
        return {"distance": np.minimum(vertex.distance, message)}

    def update_status(self, new: Any, old: Any, run: Run) -> Any:
        return new.distance < old.distance


class Components(VertexProgram):
    """Weak components: the smallest number goes round."""

    fields: ClassVar = {"component": "vertex"}
    message = "vertex"
    direction = "both"

    def init_vertex(self, vertex: Any, run: Run) -> Any:
        return {"component": vertex.number}, True

    def compute_scatter(self, source: Any, target: Any, edge: Any, run: Run) -> Any:
        return source.component

    def compute_reduce(self, vertex: Any, message: Any, run: Run) -> Any:
        return {"component": np.minimum(vertex.component, message)}

    def update_status(self, new: Any, old: Any, run: Run) -> Any:
        return new.component < old.component


class Rank(VertexProgram):
    """PageRank by power iteration; dangling vertices give to all."""

    fields: ClassVar = {"rank": "float64", "share": "float64", "degree": "int64"}
    shared = ("share",)
    columns = ("rank",)
    combiner = "sum"

    def __init__(self, alpha: float, tol: float) -> None:
        self.alpha, self.tol = alpha, tol

    def init_vertex(self, vertex: Any, run: Run) -> Any:
        rank = np.full(vertex.number.size, 1 / max(run.num_vertices, 1))
        share = rank / np.maximum(vertex.out_degree, 1)
        # what the dangling have before the first superstep
        run.totals = {"dangling": None}
        return {"rank": rank, "share": share, "degree": vertex.out_degree}, True

    def compute_scatter(self, source: Any, target: Any, edge: Any, run: Run) -> Any:
        return source.share

    def compute_reduce(self, vertex: Any, message: Any, run: Run) -> Any:
        if run.superstep % 2:  # odd: take the messages; the dangling are counted meanwhile
            return {"share": message}
        n, alpha = run.num_vertices, self.alpha
        rank = alpha * (vertex.share + run.totals["dangling"] / n) + (1 - alpha) / n
        return {"rank": rank, "share": rank / np.maximum(vertex.degree, 1)}

    def aggregate(self, new: Any, old: Any, run: Run) -> Any:
        return {
            "dangling": np.where(new.degree == 0, new.rank, 0.0),
            "change": np.abs(new.rank - old.rank),
        }

    def update_status(self, new: Any, old: Any, run: Run) -> Any:
        return bool(run.superstep % 2 or run.totals["change"] >= self.tol)


class Labels(VertexProgram):
    """Label propagation: everybody votes in every round."""

    fields: ClassVar = {"label": "vertex"}
    message = "vertex"
    combiner = "mode"
    direction = "both"

    def init_vertex(self, vertex: Any, run: Run) -> Any:
        return {"label": vertex.number}, True

    def compute_scatter(self, source: Any, target: Any, edge: Any, run: Run) -> Any:
        return source.label

    def compute_reduce(self, vertex: Any, message: Any, run: Run) -> Any:
        return {"label": np.where(message < 0, vertex.label, message)}

    def update_status(self, new: Any, old: Any, run: Run) -> Any:
        return True


class Betweenness(VertexProgram):
    """Brandes from one source: paths are counted in phase 0, added up backwards in phase 1.

    Parallel edges and loops would count as paths of their own: give it a simple graph.
    """

    fields: ClassVar = {"depth": "int64", "sigma": "float64", "delta": "float64"}
    columns = ("delta",)
    combiner = "sum"
    direction = ("out", "in")

    def __init__(self, source: Any) -> None:
        self.source = source

    def init_vertex(self, vertex: Any, run: Run) -> Any:
        here = np.asarray(vertex.id == self.source, bool)
        depth = np.where(here, 0, -1)
        return {"depth": depth, "sigma": here * 1.0, "delta": here * 0.0}, here

    def compute_scatter(self, source: Any, target: Any, edge: Any, run: Run) -> Any:
        if run.phase == 0:
            return source.sigma
        follows = (source.depth == target.depth + 1) & (target.depth >= 0)
        ratio = target.sigma / np.where(follows, source.sigma, 1.0)
        return np.where(follows, ratio * (1 + source.delta), 0.0)

    def compute_reduce(self, vertex: Any, message: Any, run: Run) -> Any:
        if run.phase == 0:
            new = vertex.depth < 0
            return {
                "depth": np.where(new, run.superstep, vertex.depth),
                "sigma": np.where(new, message, vertex.sigma),
            }
        return {"delta": np.where(vertex.depth >= 0, message, 0.0)}

    def aggregate(self, new: Any, old: Any, run: Run) -> Any:
        return {"changed": new.delta != old.delta}

    def update_status(self, new: Any, old: Any, run: Run) -> Any:
        if run.phase == 0:
            return old.depth < 0
        return (new.depth >= 0) & (run.totals["changed"] > 0)

    def wake(self, vertex: Any, run: Run) -> Any:
        return vertex.depth >= 0 if run.phase == 1 else None


def frame_by(graph: PlainGraph, spread: Any, program: VertexProgram, limit: Any = None) -> Any:
    return frame_of(vertex_program_slot, spread.shards(graph), program, limit)


any_scheme = st.sampled_from([(2**20, 16), (1, 0), (2, 10**9)])


@contextmanager
def under(scheme: tuple[int, int]) -> Iterator[None]:
    """Let messages come in blocks of other sizes, and receivers be looked up or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(supersteps_module, "BLOCK", scheme[0])
        patch.setattr(supersteps_module, "FEW", scheme[1])
        yield


@given(data=st.data(), drawn=spread_graphs(least=1), scheme=any_scheme)
def test_search_and_shortest_paths(data: st.DataObject, drawn: Any, scheme: Any) -> None:
    graph, spread = drawn
    source = graph.ids.take(np.array([data.draw(st.integers(0, graph.n - 1))]))
    with under(scheme):
        found = frame_by(graph, spread, Search(source[0]))
        want = frame_of(bfs_slot, spread.shards(graph), source, None)
        assert found["distance"].tolist() == want["distance"].fillna(-1).tolist()
        by_rank = graph.ids.take(graph.by_rank[np.maximum(found["found_by"], 0)])
        named = by_rank.to_nullable((found["found_by"] < 0).to_numpy())
        assert pd.Series(named).equals(want["predecessor"])
        near = frame_by(graph, spread, Shortest(source[0]))["distance"]
        np.testing.assert_array_equal(near, shortest(graph, source[0]))


def shortest(graph: PlainGraph, source: Any) -> list[float]:
    """Relax all arcs until nothing changes, each path summed from its start."""
    distance = [0.0 if graph.ids[v] == source else np.inf for v in range(graph.n)]
    u, v, w = graph.arcs
    arcs = list(zip(u.tolist(), v.tolist(), np.ones(len(u)) if w is None else w, strict=True))
    for _ in range(graph.n):
        for a, b, weight in arcs:
            distance[b] = min(distance[b], distance[a] + weight)
    return distance


@given(drawn=spread_graphs(), scheme=any_scheme)
def test_components_labels_and_ranks(drawn: Any, scheme: Any) -> None:
    graph, spread = drawn
    with under(scheme):
        shards = spread.shards(graph)
        found = frame_by(graph, spread, Components())
        pd.testing.assert_frame_equal(found, frame_of(connected_components_slot, shards))
        found = frame_by(graph, spread, Labels(), 5)
        pd.testing.assert_frame_equal(found, frame_of(cdlp_slot, shards, 5))
        unweighted = PlainGraph(graph.ids, graph.source, graph.target, None, graph.directed)
        found = frame_by(unweighted, spread, Rank(0.85, 1e-6))
        want = frame_of(pagerank_slot, spread.shards(unweighted), 0.85, None, 1000, 1e-9)
        np.testing.assert_allclose(found["rank"], want["rank"], atol=1e-5)
        alone = frame_of(vertex_program_slot, build(unweighted, 1), Rank(0.85, 1e-6), None)
        pd.testing.assert_frame_equal(found, alone, check_exact=True)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("slots", [1, 3])
def test_betweenness(directed: bool, slots: int) -> None:
    nx = pytest.importorskip("networkx")
    network = nx.gnp_random_graph(30, 0.1, seed=3, directed=directed)
    ends = np.array(list(network.edges)).T
    shards = build(plain(*ends, directed=directed, vertices=np.arange(30)), slots)
    total = np.zeros(30)
    for source in range(30):
        found = frame_of(vertex_program_slot, shards, Betweenness(source), None)["delta"]
        total += np.where(np.arange(30) == source, 0, found)
    want = nx.betweenness_centrality(network, normalized=False)
    scale = 1 if directed else 2
    np.testing.assert_allclose(total / scale, [want[v] for v in range(30)], rtol=1e-12)


class Broken(Components):
    """Fails in the second superstep."""

    def compute_reduce(self, vertex: Any, message: Any, run: Run) -> Any:
        if run.superstep == 2:
            raise ZeroDivisionError("what the user did")
        return super().compute_reduce(vertex, message, run)


def test_an_error_of_the_user_comes_back_with_its_traceback() -> None:
    edges = np.array([[4, 5], [3, 4], [5, 6]])
    with (
        dg.from_edges(edges, slots=2) as g,
        pytest.raises(RunError, match=r"superstep \d+, slot \d: ZeroDivisionError") as caught,
    ):
        dg.run_vertex_program(g, Broken())
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    lines, trace = [], cause.__traceback__
    while trace:
        lines.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert lines[-1] == "compute_reduce"


class Wrong(Components):
    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (object(), "VertexProgram, not object"),
        (Wrong(combiner="mean"), "combiner must be 'min', "),
        (Wrong(direction="up"), "direction must be"),
        (Wrong(shared=["size"]), "not 'size'"),
        (Wrong(fields={}), "at least one field"),
        (Wrong(compute_scatter=lambda *_: [1, 2, 3]), r"compute_scatter returned int64 of"),
        (Wrong(compute_reduce=lambda *_: {"size": 1}), r"compute_reduce returned 'size'"),
        (Wrong(update_status=lambda *_: 0.5), r"update_status returned float64"),
        (Wrong(init_vertex=lambda *_: ({}, True)), r"must return field 'component'"),
    ],
)
def test_a_wrong_program_is_refused(program: Any, says: str) -> None:
    with (
        dg.from_edges(np.array([[1, 2]]), slots=1) as g,
        pytest.raises(OptionError, match=says),
    ):
        dg.run_vertex_program(g, program)


def test_only_active_vertices_cost_anything() -> None:
    steps = Steps()
    n = 300
    shards = build(plain(np.arange(n - 1), np.arange(1, n)), 2)
    called: list[int] = []

    class Counted(Shortest):
        def compute_scatter(self, source: Any, target: Any, edge: Any, run: Run) -> Any:
            called.append(edge.weight.size)
            return super().compute_scatter(source, target, edge, run)

    found = frame_of(vertex_program_slot, shards, Counted(0), None, observer=steps)
    assert found["distance"].tolist() == list(range(n))
    assert sum(called) == 2 * (n - 1)
    assert steps.stages.count("superstep") == n + 1  # and nobody is woken


def test_empty() -> None:
    assert messages_module.identity("or", np.dtype("uint8")) == 0
    shards = build(plain(np.zeros(0, np.int64), np.zeros(0, np.int64)), 2)
    assert len(frame_of(vertex_program_slot, shards, Components(), None)) == 0

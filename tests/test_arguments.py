"""Wrong arguments: one sentence that says what is allowed, before anything is done."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import dask.array as da
import dask.dataframe as dd
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from distributed import Client
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
from dgraph.arguments import choice, flag, integer, number
from dgraph.errors import OptionError, OptionTypeError
from dgraph.named_ids import as_sources
from dgraph.placement.resolve import NAMED

EDGES = pd.DataFrame({"source": [1, 2, 3], "target": [2, 3, 1], "weight": [1.0, 2.0, 3.0]})

ALGORITHMS: dict[str, tuple[Any, ...]] = {
    "bfs": (1,),
    "sssp": (1,),
    "connected_components": (),
    "pagerank": (),
    "betweenness_centrality": (),
    "cdlp": (),
    "local_clustering": (),
    "triangles": (),
    "core_number": (),
    "run_vertex_program": (dg.VertexProgram(),),
}


@pytest.fixture(scope="module")
def graph(client: Client) -> Iterator[dg.Graph]:
    with dg.from_edges(EDGES, weight="weight", client=client) as graph:
        yield graph


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("bfs", {"depth_limit": 1.5}),
    ("bfs", {"depth_limit": "2"}),
    ("bfs", {"depth_limit": -1}),
    ("bfs", {"depth_limit": True}),
    ("bfs", {"depth_limit": float("nan")}),
    ("sssp", {"delta": 0}),
    ("sssp", {"delta": "1"}),
    ("sssp", {"delta": float("nan")}),
    ("sssp", {"delta": float("inf")}),
    ("sssp", {"limit": -1}),
    ("sssp", {"limit": "far"}),
    ("sssp", {"limit": float("nan")}),
    ("connected_components", {"connection": "loose"}),
    ("connected_components", {"connection": None}),
    ("connected_components", {"connection": ["weak"]}),
    ("pagerank", {"alpha": "0.85"}),
    ("pagerank", {"alpha": 1.01}),
    ("pagerank", {"alpha": None}),
    ("pagerank", {"alpha": float("nan")}),
    ("pagerank", {"max_iter": 2.5}),
    ("pagerank", {"max_iter": 0}),
    ("pagerank", {"max_iter": None}),
    ("pagerank", {"tol": "x"}),
    ("pagerank", {"tol": -1e-9}),
    ("pagerank", {"tol": float("nan")}),
    ("pagerank", {"weighted": "no"}),
    ("pagerank", {"weighted": None}),
    ("pagerank", {"weighted": 1}),
    ("betweenness_centrality", {"k": 1.5}),
    ("betweenness_centrality", {"k": 0}),
    ("betweenness_centrality", {"k": 4}),
    ("betweenness_centrality", {"k": True}),
    ("betweenness_centrality", {"k": 2, "seed": "x"}),
    ("betweenness_centrality", {"k": 2, "seed": 1.5}),
    ("betweenness_centrality", {"normalized": "no"}),
    ("betweenness_centrality", {"weighted": "weight"}),
    ("betweenness_centrality", {"endpoints": None}),
    ("cdlp", {"max_iter": 2.5}),
    ("cdlp", {"max_iter": -1}),
    ("cdlp", {"max_iter": "10"}),
    ("run_vertex_program", {"max_iter": 1.5}),
]


@pytest.mark.parametrize(("name", "options"), WRONG, ids=str)
def test_a_wrong_option_is_one_sentence_before_any_superstep(
    graph: dg.Graph, name: str, options: dict[str, Any]
) -> None:
    before = len(graph.runs)
    with pytest.raises(OptionError) as caught:
        getattr(dg, name)(graph, *ALGORITHMS[name], **options)
    message = str(caught.value)
    wrong = list(options)[-1]
    assert wrong in message
    assert "\n" not in message
    assert len(graph.runs) == before


RIGHT: list[tuple[str, dict[str, Any]]] = [
    ("bfs", {"depth_limit": np.int64(1)}),
    ("sssp", {"delta": np.float32(2), "limit": np.int8(9)}),
    ("pagerank", {"alpha": np.float64(0.5), "max_iter": np.int64(50), "tol": np.float32(1e-3)}),
    ("pagerank", {"weighted": np.bool_(False), "tol": 1}),
    ("betweenness_centrality", {"k": np.int64(2), "seed": np.uint8(1)}),
    ("betweenness_centrality", {"normalized": np.bool_(True), "endpoints": np.bool_(False)}),
    ("cdlp", {"max_iter": np.int64(3)}),
]


@pytest.mark.parametrize(
    "source",
    [
        np.array(3),
        pa.scalar(3),
        np.array([3, 3]),
        pa.array([3]),
        pl.Series([3]),
        da.from_array(np.array([3])),
        dd.from_pandas(pd.Series([3]), npartitions=1),
        dd.from_pandas(pd.Series([3]), npartitions=1).max(),
        (3,),
        iter([3]),
    ],
    ids=lambda source: type(source).__name__,
)
def test_a_source_may_be_of_any_library(source: Any) -> None:
    assert as_sources(source, "uint64").to_pandas().tolist() == [3]


@pytest.mark.parametrize(
    "source", [[[3]], np.array([[3]]), [{3}], [3.0], pa.array([None])], ids=str
)
def test_what_names_no_vertex_is_a_key_error(source: Any) -> None:
    with pytest.raises(
        KeyError, match="expected a vertex of the graph, whose ids are int8"
    ) as e:
        as_sources(source, "int8")
    assert isinstance(e.value, dg.DgraphError)


@pytest.mark.parametrize("name", ["bfs", "sssp"])
def test_sources_in_a_list(graph: dg.Graph, client: Client, name: str) -> None:
    search = getattr(dg, name)
    nothing: list[Any] = [[], np.array([]), pd.Series([], dtype="int64")]
    for none in nothing:
        with pytest.raises(ValueError, match="expected at least one source, got an empty list"):
            search(graph, none)
    same = [client.compute(search(graph, s), sync=True) for s in (2, [2], {2})]
    assert all(found.equals(same[0]) for found in same)
    with pytest.raises(KeyError, match="got 99;"):
        search(graph, [99])


def test_sssp_starts_from_one_vertex(graph: dg.Graph) -> None:
    with pytest.raises(OptionError, match="source must be one vertex, not 2; call sssp"):
        dg.sssp(graph, [1, 2])


@pytest.mark.parametrize(("name", "options"), RIGHT, ids=str)
def test_numpy_scalars_are_as_good_as_pythons(
    graph: dg.Graph, name: str, options: dict[str, Any]
) -> None:
    plain = {key: value.item() if isinstance(value, np.generic) else value
             for key, value in options.items()}  # fmt: skip
    algorithm, arguments = getattr(dg, name), ALGORITHMS[name]
    found = graph._home.client.compute(algorithm(graph, *arguments, **options)).result()
    want = graph._home.client.compute(algorithm(graph, *arguments, **plain)).result()
    pd.testing.assert_frame_equal(found, want)


@pytest.mark.parametrize(
    "options",
    [
        {"directed": "no"},
        {"directed": 1},
        {"slots": 1.5},
        {"slots": "2"},
        {"slots": 0},
        {"slots": True},
        {"virtual_slots": 1.5},
        {"virtual_slots": "4"},
        {"virtual_slots": -1},
        {"slots": 1, "virtual_slots": 2},
        {"topology": [2, 2]},
        {"duplicates": "mean"},
        {"duplicates": None},
        {"self_loops": "no"},
        {"nulls": True},
    ],
    ids=str,
)
def test_a_wrong_option_of_from_edges_is_one_sentence(
    client: Client, options: dict[str, Any]
) -> None:
    with pytest.raises(OptionError, match=f"{next(iter(options))} must be"):
        dg.from_edges(EDGES, client=client, **options)


def test_slots_and_virtual_slots_are_not_for_one_graph(client: Client) -> None:
    both: dict[str, Any] = {"slots": 1, "virtual_slots": 2, "client": client}
    for call in (dg.from_edges, dg.estimate):
        with pytest.raises(OptionError, match="slots=1 with virtual_slots=2"):
            call(EDGES, **both)
    with pytest.raises(OptionError, match="slots=1 with virtual_slots=2"):
        dg.load("nowhere", **both)


def test_the_docstring_names_every_placement() -> None:
    told = (
        (dg.from_edges.__doc__ or "").partition("placement :")[2].partition("rhizome_max :")[0]
    )
    assert re.findall('"(.*?)"', told) == [*NAMED]


def test_numpy_scalars_make_graphs(client: Client) -> None:
    options: dict[str, Any] = {"directed": np.bool_(True), "virtual_slots": np.int64(3)}
    table = EDGES.rename(columns={"weight": "w"})
    with dg.from_edges(table, weight=np.bool_(False), client=client, **options) as graph:
        assert (graph.directed, graph.weighted, graph.slots) == (True, False, 3)


@pytest.mark.parametrize("options", [{"slots": 1.5}, {"virtual_slots": "4"}], ids=str)
def test_a_wrong_option_of_load_and_estimate(client: Client, options: dict[str, Any]) -> None:
    for call in (
        lambda: dg.load("nowhere", client=client, **options),
        lambda: dg.estimate((3, 2), client=client, **options),
    ):
        with pytest.raises(OptionTypeError, match="must be an integer from 1 on or None"):
            call()


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (dg.generate.kronecker, {"scale": 2.5}),
        (dg.generate.kronecker, {"scale": "4"}),
        (dg.generate.kronecker, {"scale": 4, "edgefactor": None}),
        (dg.generate.kronecker, {"scale": 4, "seed": 1.5}),
        (dg.generate.kronecker, {"scale": 4, "weights": "no"}),
        (dg.generate.kronecker, {"scale": 4, "npartitions": 0}),
        (dg.generate.uniform, {"scale": 4, "seed": "x"}),
        (dg.generate.uniform, {"scale": 4, "npartitions": 1.5}),
        (dg.generate.grid, {"rows": 0}),
        (dg.generate.grid, {"rows": 2, "cols": 2.0}),
        (dg.generate.grid, {"rows": 2, "seed": None}),
        (dg.graph500.run, {"scale": "4"}),
        (dg.graph500.run, {"scale": 4, "edgefactor": 1.5}),
        (dg.graph500.run, {"scale": 4, "roots": 0}),
        (dg.graph500.run, {"scale": 4, "seed": "x"}),
        (dg.graph500.run, {"scale": 4, "sssp": "no"}),
        (dg.graph500.run, {"scale": 4, "validate": 1}),
        (dg.graph500.run, {"scale": 4, "slots": 1.5}),
    ],
    ids=lambda some: getattr(some, "__name__", str(some)),
)
def test_a_wrong_size_of_what_is_generated(
    client: Client, make: Callable[..., Any], wrong: dict[str, Any]
) -> None:
    with client.as_current(), pytest.raises(OptionError, match=f"{list(wrong)[-1]} must be"):
        make(**wrong)


@pytest.mark.parametrize("wrong", [{"k": 1.5}, {"k": True}, {"seed": None}], ids=str)
def test_a_wrong_argument_of_search_keys(graph: dg.Graph, wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=f"{next(iter(wrong))} must be"):
        dg.graph500.search_keys(graph, **wrong)


@pytest.mark.parametrize("thing", [nx.path_graph(3), EDGES, "edges.csv", None], ids=type)
def test_what_is_no_graph_is_told_to_become_one(thing: Any) -> None:
    calls = [(getattr(dg, name), arguments) for name, arguments in ALGORITHMS.items()]
    calls += [
        (dg.graph500.search_keys, ()),
        (dg.graph500.validate_bfs, (1, EDGES)),
        (dg.graph500.validate_sssp, (1, EDGES)),
        (dg.graph500.traversed_edges, (EDGES,)),
    ]
    for call, arguments in calls:
        with pytest.raises(TypeError, match=r"expected a graph .*, got .*from_edges") as caught:
            call(thing, *arguments)
        assert isinstance(caught.value, dg.DgraphError)


def test_all_algorithms_are_checked() -> None:
    """Whatever takes a graph first is in the table above."""
    found = {
        name
        for name in dg.__all__
        if inspect.isfunction(call := getattr(dg, name))
        and next(iter(inspect.signature(call).parameters), "") == "g"
    }
    assert found == ALGORITHMS.keys()


def test_a_coroutine_is_told_to_be_awaited() -> None:
    async def graph() -> None:
        """Stand for what from_edges returns with an asynchronous client."""

    coming = graph()
    with pytest.raises(TypeError, match="await it first"):
        dg.bfs(coming, 1)  # type: ignore[arg-type]
    coming.close()


def test_edges_in_place_of_a_graph_are_told_to_become_one() -> None:
    edges = dd.from_pandas(pd.DataFrame({"source": [1], "target": [2]}), npartitions=1)
    with pytest.raises(TypeError, match="make one with"):
        dg.bfs(edges, 1)


@given(st.integers(), st.integers(0, 20), st.integers(0, 20))
def test_an_integer_is_in_its_range_or_refused(value: int, low: int, size: int) -> None:
    for given_value in (value, np.int64(value)) if abs(value) < 2**63 else (value,):
        if low <= value <= low + size:
            assert integer("n", given_value, low, low + size) == value
        else:
            with pytest.raises(ValueError, match=f"n must be an integer from {low} to"):
                integer("n", given_value, low, low + size)


@given(st.floats())
def test_a_number_is_in_its_range_or_refused(value: float) -> None:
    for one in (value, np.float64(value)):
        if 0 <= value <= 1:
            assert number("x", one, 0, 1) == value
        else:
            with pytest.raises(ValueError, match="x must be a number from 0 to 1, not"):
                number("x", one, 0, 1)


@pytest.mark.parametrize("thing", ["1", None, [1], {}, object(), 1j, np.array([1, 2]), EDGES])
def test_things_of_another_kind_are_type_errors(thing: Any) -> None:
    for check in (flag, integer, number):
        with pytest.raises(TypeError, match=r"x must be .*, not .{1,80}$"):
            check("x", thing)
    with pytest.raises(ValueError, match="x must be 'a' or 'b', not"):
        choice("x", thing, ("a", "b"))

"""What users of `dgraph.gnn` get wrong is said in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from distributed import Client

import dgraph as dg
from dgraph.errors import (
    DgraphError,
    GraphLostError,
    OptionError,
    OptionTypeError,
    VertexNotFoundError,
)
from tests.halves import two_halves

HALF: Any = 0.5
ZERO: Any = 0
NO_GRAPH: Any = 7
TABLE = pd.DataFrame({"x": np.arange(120.0)}, index=np.arange(120))
COUNTS = np.array([[3, 1], [4, 0]])
HOT = dg.gnn.Hotness(pd.Series([7, 8]), np.array([2, 1]), COUNTS, COUNTS, COUNTS)
ROOM = dg.gnn.Room(8, 1)


def loader(g: dg.Graph, seeds: Any = (0,), fanouts: Any = (2,), **options: Any) -> Any:
    """Return the first batch."""
    return next(iter(dg.gnn.NeighborLoader(g, seeds, fanouts, **options)))


def plan(**options: Any) -> Any:
    wanted: Any = {"dimension": 1, "transactions": 1, "budget": 1} | options
    return dg.gnn.plan_cache([1], [1], [1], **wanted)


def later(*some: Any) -> Any:
    """Return the table in a Dask DataFrame, and in a Dask array."""
    import dask.array as da
    import dask.dataframe as dd

    return da.from_array(TABLE.to_numpy()) if some else dd.from_pandas(TABLE, npartitions=2)


#: What is done, the error, and what it names.
WRONG: list[tuple[Any, type[Exception], str]] = [
    (lambda g: dg.gnn.sample_neighbors(g, [999]), VertexNotFoundError, "999"),
    (lambda g: dg.gnn.sample_neighbors(g, ["a"]), VertexNotFoundError, "'a'"),
    (lambda g: dg.gnn.sample_neighbors(g, [0], [0]), OptionError, "fanouts"),
    (lambda g: dg.gnn.sample_neighbors(g, [0], [5, -2]), OptionError, r"not \[5, -2\]"),
    (lambda g: dg.gnn.sample_neighbors(g, [0], []), OptionError, "fanouts"),
    (lambda g: dg.gnn.sample_neighbors(g, [0], [HALF]), OptionTypeError, "fanouts"),
    (lambda g: dg.gnn.sample_neighbors(g, [0], batch_size=0), OptionError, "batch_size"),
    (lambda g: dg.gnn.sample_neighbors(g, [0], seed=-1), OptionError, "seed"),
    (lambda g: dg.gnn.presample(g, [[0], [1]]), OptionError, "for each device a list"),
    (lambda g: dg.gnn.presample(g, []), OptionError, "for each device a list"),
    (lambda g: dg.gnn.presample(g, [[[0, 999]]]), VertexNotFoundError, "999"),
    (lambda g: dg.gnn.presample(g, [[[0]]], [0]), OptionError, "fanouts"),
    (lambda g: dg.gnn.make_tablets(g, [0, 999]), VertexNotFoundError, "got 999;"),
    (lambda g: dg.gnn.make_tablets(g, [0], [[0], [2]]), OptionError, "cliques"),
    (lambda g: dg.gnn.make_tablets(g, [0]).batches(0), OptionError, "batch_size"),
    (lambda g: dg.gnn.make_tablets(g, [0]).batches(1, shuffle="x"), OptionError, "shuffle"),
    (lambda g: dg.gnn.compare(g, [0], budget=1, layouts=["x"]), OptionError, "layouts"),
    (lambda g: dg.gnn.compare(g, [0], budget=1, alpha=2.0), OptionError, "alpha"),
    (lambda g: dg.gnn.compare(g, [0], budget=-1), OptionError, "budget"),
    (lambda g: dg.gnn.compare(g, [0], budget=1, fanouts=ZERO), OptionError, "fanouts"),
    (lambda g: dg.gnn.compare(NO_GRAPH, [0], budget=1), OptionTypeError, "int"),
    (lambda g: dg.gnn.Room(1, 1, alpha=-HALF), OptionError, "alpha"),
    (lambda g: dg.gnn.Room(-1, 1), OptionError, "budget"),
    (lambda g: dg.gnn.Room(1, 0), OptionError, "dimension"),
    (lambda g: dg.gnn.Room(1, 1, policy="any"), OptionError, "policy"),
    (lambda g: plan(alpha=2.0), OptionError, "alpha"),
    (lambda g: plan(budget=-1), OptionError, "budget"),
    (lambda g: plan(dimension=-1), OptionError, "dimension"),
    (lambda g: dg.gnn.plan_cache([1], [1, 2], [1], dimension=1, transactions=1, budget=1),
     OptionError, "same vertices"),
    (lambda g: dg.gnn.lay_out("x", HOT, [[0, 1]], ROOM), OptionError, "layouts"),
    (lambda g: dg.gnn.lay_out("legion", HOT, [[0]], ROOM), OptionError, "2 devices.*not of 1"),
    (lambda g: dg.gnn.candidates([[1]], "any"), OptionError, "policy"),
    (lambda g: loader(g, [0, 999]), VertexNotFoundError, "999"),
    (lambda g: loader(g, [0, "a"]), VertexNotFoundError, "'a'"),
    (lambda g: loader(g, fanouts=[0]), OptionError, "fanouts"),
    (lambda g: loader(g, fanouts=[-3]), OptionError, "fanouts"),
    (lambda g: loader(g, batch_size=0), OptionError, "batch_size"),
    (lambda g: loader(g, ahead=-1), OptionError, "ahead"),
    (lambda g: loader(g, features=[1]), OptionTypeError, "not list"),
    (lambda g: loader(g, features=later()), OptionTypeError, "Dask DataFrame; compute"),
    (lambda g: loader(g, features=later("array")), OptionTypeError, "Dask Array; compute"),
    (lambda g: loader(g, features=TABLE.iloc[1:]), VertexNotFoundError, "got none of 0;"),
    (lambda g: loader(g, features=TABLE.set_index("x", drop=False).iloc[:0]),
     VertexNotFoundError, "got none of 0;"),
    (lambda g: loader(g, features=TABLE.iloc[[0, 1, 1]]), OptionError, "two of 1;"),
    (lambda g: loader(g, features=TABLE.where(TABLE["x"] != 7)), OptionError, "NaN.* 7;"),
    (lambda g: loader(g, features=TABLE.astype(str)), OptionTypeError, "numbers"),
    (lambda g: loader(g, features=lambda ids: TABLE.to_numpy()), OptionError, r"\(120, 1\)"),
    (lambda g: loader(g, features=lambda ids: 1), OptionError, r"shape \(\)"),
    (lambda g: loader(g, features=lambda ids: ids * np.nan), OptionError, "NaN for vertex 0;"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_wrong_options_say_what_is_allowed(
    g: dg.Graph, call: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        call(g)
    assert isinstance(caught.value, DgraphError)
    text = str(caught.value)
    assert "\n" not in text
    assert not text.endswith(".")


def test_a_closed_graph_says_so(client: Client) -> None:
    with two_halves(client) as graph:
        loader = dg.gnn.NeighborLoader(graph, [0], [2])
        batches = iter(dg.gnn.NeighborLoader(graph, [0, 1], [2], batch_size=1, ahead=0))
        next(batches)
    calls: list[Any] = [
        lambda: dg.gnn.NeighborLoader(graph, [0], [2]),
        lambda: next(iter(loader)),
        lambda: next(batches),
        lambda: dg.gnn.sample_neighbors(graph, [0]),
        lambda: dg.gnn.presample(graph, [[[0]]]),
        lambda: dg.gnn.make_tablets(graph, [0], [[0]]),
        lambda: dg.gnn.compare(graph, [0], [[0]], budget=1),
    ]
    for call in calls:
        with pytest.raises(GraphLostError, match="graph was closed"):
            call()


def test_a_cache_of_no_bytes_holds_nothing(g: dg.Graph) -> None:
    layouts = [name for name in dg.gnn.LAYOUTS if name != "topo_gpu"]
    table = dg.gnn.compare(
        g, range(0, 120, 8), [[0, 1]], budget=0, fanouts=[2], layouts=layouts
    )
    assert (table["hit_rate"] == 0).all()
    assert (table["relative"] == 1).all()
    assert plan(budget=0).features.size == plan(budget=0).rows.size == 0

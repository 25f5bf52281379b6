"""Keywords that a function does not have are refused in one sentence."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dgraph as dg
from dgraph import errors
from dgraph.config import Options
from dgraph.errors import DgraphError, OptionError
from dgraph.keywords import named
from dgraph.topology import CostModel, Topology

CALLS = [
    "bfs", "sssp", "connected_components", "pagerank", "betweenness_centrality", "cdlp",
    "local_clustering", "triangles", "core_number", "run_vertex_program", "from_edges", "load",
    "read_edges", "estimate", "generate.kronecker", "generate.uniform", "generate.grid",
    "graph500.run",
]  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_all_calls_of_users_refuse_what_they_do_not_have(name: str) -> None:
    call: Any = attrgetter(name)(dg)
    name = call.__name__
    required = [
        one.name
        for one in inspect.signature(call).parameters.values()
        if one.default is inspect.Parameter.empty
    ]
    arguments: dict[str, Any] = dict.fromkeys(required)
    with pytest.raises(DgraphError, match=f"{name} must be .*not (with )?'wieght'") as caught:
        call(**arguments, wieght=1)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("name", "wrong", "meant"),
    [
        ("pagerank", "damping", "alpha"),
        ("pagerank", "max_iterations", "max_iter"),
        ("bfs", "root", "source"),
        ("bfs", "cutoff", "depth_limit"),
        ("sssp", "cutoff", "limit"),
        ("from_edges", "direct", "directed"),
        ("from_edges", "weights", "weight"),
        ("betweenness_centrality", "weights", "weighted"),
        ("read_edges", "usecols", "columns"),
        ("generate.kronecker", "edge_factor", "edgefactor"),
        ("graph500.run", "root", "roots"),
    ],
)
def test_what_was_meant_is_named(name: str, wrong: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"; did you mean '{meant}'\\?$"):
        attrgetter(name)(dg)(np.array([[1, 2]]), **{wrong: 2})


TABLE = pd.DataFrame({"source": [1], "target": [2]})


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: dg.from_edges(TABLE, placement="degre"), "degree"),
        (lambda: dg.from_edges(TABLE, placement="Metis"), "metis"),
        (lambda: dg.from_edges(TABLE, duplicates="mn"), "min"),
        (lambda: dg.from_edges(TABLE, duplicates="frist"), "first"),
        (lambda: dg.from_edges(TABLE, rhizome_allocation="vicinty"), "vicinity"),
        (lambda: dg.from_edges(TABLE, source="sorce"), "source"),
        (lambda: dg.read_edges(__file__, format="parqet"), "parquet"),
        (lambda: dg.read_edges(__file__, format="txt", dtype={"wieght": float}), "weight"),
        (lambda: CostModel.preset("decad", 2), "decade"),
        (lambda: Topology.read("x\ny", format="rankfil"), "rankfile"),
        (lambda: Topology.from_fanouts([2]).distance(0, 1, metric="hop"), "hops"),
    ],
)
def test_of_values_as_well(call: Callable[[], Any], meant: str) -> None:
    with pytest.raises(DgraphError, match=f"; did you mean '{meant}'\\?$"):
        call()


@pytest.mark.parametrize(
    ("key", "value", "meant"),
    [
        ("routing", "dirct", "direct"),
        ("transport", "UNIX", "unix"),
        ("progress", "aut", "auto"),
    ],
)
def test_of_values_of_the_configuration_as_well(key: str, value: str, meant: str) -> None:
    with (
        dask.config.set({f"dgraph.{key}": value}),
        pytest.raises(OptionError, match=f"; did you mean '{meant}'\\?$"),
    ):
        Options.read()


def test_what_to_do_instead_is_said_where_there_is_no_such_option(tmp_path: Path) -> None:
    options: Any = {"encoding": "latin1"}
    with pytest.raises(OptionError, match=r"'encoding'; text must be UTF-8: .*iconv.*read_csv"):
        dg.read_edges(tmp_path, **options)
    with pytest.raises(OptionError) as caught:
        dg.from_edges(TABLE, **options)
    assert "iconv" not in str(caught.value)


def test_what_is_like_nothing_is_no_hint() -> None:
    for word in ("best", 7, None, ["degree"], ""):
        with pytest.raises(OptionError) as caught:
            dg.from_edges(TABLE, placement=word)
        assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize("name", CALLS)
def test_signatures_and_names_are_true(name: str) -> None:
    call: Any = attrgetter(name)(dg)
    name = name.rpartition(".")[2]
    assert call.__name__ == name
    assert call.__wrapped__.__code__.co_name == name
    assert inspect.signature(call) == inspect.signature(call.__wrapped__)
    assert "Parameters" in (call.__doc__ or "")


def test_exceptions_are_at_hand() -> None:
    docs = "".join(attrgetter(name)(dg).__doc__ for name in CALLS)
    documented = set(re.findall(r"^ +(\w+(?:Error|Warning))$", docs, re.MULTILINE))
    assert {"VertexNotFoundError", "MissingFileError", "SavedGraphError"} <= documented
    assert documented | set(errors.__all__) <= set(dg.__all__)


@given(
    known=st.lists(st.sampled_from("abcdef"), unique=True, max_size=3),
    given=st.dictionaries(st.sampled_from("abcdef"), st.integers(), max_size=3),
)
def test_a_call_does_what_it_did_or_names_an_unknown_keyword(
    known: list[str], given: dict[str, int]
) -> None:
    space: dict[str, Any] = {}
    parameters = "".join(f", {name}=0" for name in known)
    exec(f"def some(g{parameters}): return [{', '.join(known)}]", space)
    unknown = [name for name in given if name not in known]
    if unknown:
        with pytest.raises(TypeError, match=f"not (with )?'{unknown[0]}'"):
            named(space["some"])(None, **given)
    else:
        assert named(space["some"])(None, **given) == [given.get(name, 0) for name in known]

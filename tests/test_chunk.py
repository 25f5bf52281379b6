"""One partition becomes a chunk and a receipt: against loops over Python objects."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.edges.chunk import ChunkSpec, make_chunk
from dgraph.edges.columns import read_ids
from dgraph.edges.parts import IdRange
from dgraph.edges.receipt import Receipt
from dgraph.edges.summary import combine
from dgraph.edges.vertex_chunk import VertexSpec, make_vertex_chunk
from dgraph.errors import DgraphError, EdgeTypeError, EdgeValueError
from tests.parts import ids_in

WEIGHTED = ChunkSpec(weight=2)


Former = Callable[[Sequence[Any]], Any]

INTEGERS: dict[str, Former] = {
    "numpy": lambda values: np.array(values, np.int64),
    "nullable": lambda values: pd.array(values, "Int64"),
    "object": lambda values: np.array([*values, None], object)[:-1],
    "arrow": lambda values: pa.array(values, pa.int64()),
    "pandas arrow": lambda values: pd.array(values, "int64[pyarrow]"),
    "category": lambda values: pd.Categorical(pd.array(values, "Int64")),
    "chunked": lambda values: pa.chunked_array([values[:1], values[1:]], pa.int64()),
    "dictionary": lambda values: pa.array(values, pa.int64()).dictionary_encode(),
}
STRINGS: dict[str, Former] = {
    "object": lambda values: np.array([*values, None], object)[:-1],
    "pandas": lambda values: pd.array(values, "str"),
    "string": lambda values: pd.array(values, "string[pyarrow]"),
    "python": lambda values: pd.array(values, "string[python]"),
    "arrow": lambda values: pa.array(values, pa.string()),
    "view": lambda values: pa.array(values, pa.string_view()),
    "large": lambda values: pa.array(values, pa.large_string()).slice(0),
    "category": lambda values: pd.Categorical(values),
    "unused categories": lambda values: pd.Categorical(
        values, categories=["zz", *sorted({value for value in values if value is not None})]
    ),
    "dictionary": lambda values: pa.array(values, pa.string()).dictionary_encode(),
    "dictionaries": lambda values: pa.chunked_array(
        [pa.array(part, pa.string()).dictionary_encode() for part in (values[:2], values[2:])]
    ),
}
NEAR = st.integers(-5, 5)
FAR = st.sampled_from([-(2**63), 2**63 - 1, 0, 1, 2**53, 2**53 + 1, 7 * 10**9])
WORDS = st.sampled_from(["", "a", "b", "é", "z", "😀", "long" * 9, "10", "9"])


def _frame(columns: dict[str, Any]) -> Any:
    """Put columns together, as a pandas DataFrame if they all allow it."""
    if all(isinstance(column, pa.Array | pa.ChunkedArray) for column in columns.values()):
        return pa.table(columns)
    return pd.DataFrame({name: pd.Series(_for_pandas(each)) for name, each in columns.items()})


def _for_pandas(column: Any) -> Any:
    if not isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    whole = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    return pd.arrays.ArrowExtensionArray(whole)


@st.composite
def partitions(draw: st.DrawFn) -> tuple[list[tuple[Any, Any, Any]], Any]:
    """Draw rows (source, target, weight; None is missing), and a frame that holds them."""
    pool, forms = draw(st.sampled_from([(NEAR, INTEGERS), (FAR, INTEGERS), (WORDS, STRINGS)]))
    missing = draw(st.booleans())
    ids = st.one_of(pool, st.none()) if missing else pool
    weight = st.sampled_from([0.0, -1.5, 2.0, None])
    rows = draw(st.lists(st.tuples(ids, ids, weight), min_size=1, max_size=12))
    names = [name for name in forms if not (missing and name == "numpy")]
    here, there = draw(st.sampled_from(names)), draw(st.sampled_from(names))
    source, target, weights = zip(*rows, strict=True)
    columns = {"source": forms[here](source), "target": forms[there](target)}
    weights_form = draw(st.sampled_from(["float", "arrow", "decimal"]))
    columns["weight"] = {
        "float": np.array(weights, np.float64),
        "arrow": pa.array(weights, pa.float64()),
        "decimal": np.array([w if w is None else Decimal(w) for w in weights], object),
    }[weights_form]
    return rows, _frame(columns)


@given(partitions())
@settings(max_examples=150)
def test_a_chunk_holds_the_rows_that_miss_nothing(case: Any) -> None:
    rows, frame = case
    chunk, receipt = make_chunk(frame, WEIGHTED, 3)
    assert receipt.error is None
    kept = [row for row in rows if None not in row]
    assert ids_in(chunk) == [row[:2] for row in kept]
    assert chunk.weight is not None
    assert chunk.weight.tolist() == [row[2] for row in kept]
    lacking = [number for number, row in enumerate(rows) if None in row]
    assert (receipt.rows, receipt.nulls) == (len(rows), len(lacking))
    assert receipt.first_null == (lacking[0] if lacking else None)
    if lacking:
        names = ("source", "target", "weight")
        assert receipt.null_column == names[rows[lacking[0]].index(None)]
    loops = [row[0] for row in kept if row[0] == row[1]]
    assert (receipt.self_loops, receipt.first_loop) == (len(loops), loops[0] if loops else None)
    ids = [end for row in kept for end in row[:2]]
    whole = bool(ids) and isinstance(ids[0], int)
    assert (receipt.low, receipt.high) == ((min(ids), max(ids)) if whole else (None, None))
    assert receipt.kind == (("int" if whole else "str") if ids else None)
    assert pickle.loads(pickle.dumps(receipt)) == receipt


@given(partitions())
@settings(max_examples=50)
def test_a_dictionary_is_ascending_and_without_idle_ids(case: Any) -> None:
    chunk, _ = make_chunk(case[1], WEIGHTED, 0)
    if chunk.ids is not None:
        ids = chunk.ids.to_list()
        used = {end for pair in ids_in(chunk) for end in pair}
        assert ids == sorted(
            used, key=lambda end: end if isinstance(end, int) else end.encode()
        )
    else:
        assert chunk.source.dtype == np.int32


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int32, np.uint64, np.dtype(">i8")]
)
def test_every_width_of_integers(dtype: Any) -> None:
    info = np.iinfo(dtype)
    ends = np.array([[info.min, info.max], [info.max, 5]], dtype)
    for frame in (ends, np.asfortranarray(ends), pd.DataFrame(ends)):
        chunk, receipt = make_chunk(frame, ChunkSpec(), 0)
        assert ids_in(chunk) == [(info.min, info.max), (info.max, 5)]
        assert receipt.id_dtypes == (np.dtype(dtype).name,) * 2
        assert combine([receipt]).dtype == np.dtype(dtype).name


@pytest.mark.parametrize(
    ("source", "target", "dtype"),
    [
        (np.array([1], np.int8), np.array([300], np.int16), "int16"),
        (np.array([1], np.uint32), np.array([-1], np.int32), "int64"),
        (np.array([1], np.uint64), np.array([-1], np.int64), "int64"),
        (np.array([2**63], np.uint64), np.array([1], np.int64), "uint64"),
        (np.array([2**63], object), np.array([1], object), "uint64"),
    ],
)
def test_widths_promote_and_never_to_float(source: Any, target: Any, dtype: str) -> None:
    frame = pd.DataFrame({"source": source, "target": target})
    chunk, receipt = make_chunk(frame, ChunkSpec(), 0)
    assert ids_in(chunk) == [(int(source[0]), int(target[0]))]
    parts = [
        make_chunk(pd.DataFrame({"a": each, "b": each}), ChunkSpec(), number)[1]
        for number, each in enumerate([source, target])
    ]
    assert combine([receipt]).dtype == combine(parts).dtype == dtype


def test_integers_that_fit_no_type_together() -> None:
    mixed = pd.DataFrame({"a": np.array([2**63], np.uint64), "b": np.array([-1])})
    _, receipt = make_chunk(mixed, ChunkSpec(), 0)
    with pytest.raises(EdgeTypeError, match="strings"):
        combine([receipt])
    apart = [make_chunk(mixed[[name, name]], ChunkSpec(), 0)[1] for name in "ab"]
    with pytest.raises(EdgeTypeError, match="strings"):
        combine(apart)
    with pytest.raises(EdgeValueError, match=str(2**64)):
        read_ids(np.array([2**64], object), "source")


@pytest.mark.parametrize(
    ("values", "mention"),
    [
        ([1.0, 2.0], "float64"),
        ([True, False], "bool"),
        ([1, "a"], "mixed"),
        (["a", 1.5], "object"),
        ([b"a", b"b"], "bytes"),
        ([1, 2.5, None], "float64"),
        ([(1, 2), (3, 4)], "object"),
        (pd.array([1.0, None], "Float64"), "Float64"),
        (pd.array([True, None], "boolean"), "boolean"),
        (pd.date_range("2026", periods=2), "datetime64"),
        (pd.Categorical([1.5, 2.5]), "float64"),
        (pd.array([1.5, 2], "double[pyarrow]"), "double"),
    ],
)
def test_ids_of_another_type_are_refused(values: Any, mention: str) -> None:
    frame = pd.DataFrame({"from": pd.Series(values), "to": ["a"] * len(values)})
    chunk, receipt = make_chunk(frame, ChunkSpec(names=("from", "to", "w")), 0)
    assert len(chunk.source) == 0
    with pytest.raises(EdgeTypeError) as caught:
        combine([receipt])
    assert isinstance(caught.value, TypeError | DgraphError)
    assert "'from'" in str(caught.value)
    assert mention in str(caught.value)


def test_columns_of_two_kinds_are_refused() -> None:
    frame = pd.DataFrame({"u": [1], "v": ["a"]})
    _, receipt = make_chunk(frame, ChunkSpec(names=("u", "v", "w")), 0)
    with pytest.raises(EdgeTypeError, match=r"'u' has dtype int64 and column 'v' str"):
        combine([receipt])
    parts = [
        make_chunk(frame[[name, name]], ChunkSpec(), at)[1] for at, name in enumerate("uv")
    ]
    with pytest.raises(EdgeTypeError, match=r"partition 0 .*int64 and partition 1 of str"):
        combine(parts)


@pytest.mark.parametrize(
    "column",
    [
        np.empty(0, dtype)
        for dtype in (float, bool, object, np.int8, "U3", "datetime64[ns]", np.uint64)
    ]
    + [pd.array([], "str"), pd.Categorical([]), pa.array([]), pa.array([], pa.float64())],
    ids=str,
)
def test_no_rows_are_fine_whatever_their_dtype(column: Any) -> None:
    if isinstance(column, pa.Array):
        frame: Any = pa.table({"a": column, "b": column, "w": column})
    else:
        frame = pd.DataFrame({"a": column, "b": column, "w": column})
    chunk, receipt = make_chunk(frame, WEIGHTED, 0)
    assert (receipt.error, receipt.kind, receipt.rows) == (None, None, 0)
    assert chunk.weight is not None
    assert len(chunk.weight) == 0
    filled = Receipt(1, 1, id_dtypes=("str",), kind="str")
    assert combine([receipt, filled]).dtype == "str"
    assert combine([receipt]).dtype in ("int64", "int8", "uint64", "str")


def test_a_column_of_nothing_but_missing_ids_has_no_kind() -> None:
    for column in (np.full(2, np.nan), pd.array([None] * 2, "str"), pa.nulls(2)):
        frame = pa.table({"a": [1, 2], "b": pa.array(column, from_pandas=True)})
        chunk, receipt = make_chunk(frame, ChunkSpec(), 0)
        assert (len(chunk.source), receipt.nulls, receipt.error) == (0, 2, None)


def test_vertices_of_another_kind_are_named_as_such() -> None:
    edges = make_chunk(np.array([[1, 2]]), ChunkSpec(), 0)[1]
    for spec, name in ((VertexSpec(), "vertices="), (VertexSpec(declared=False), "placement=")):
        vertices = make_vertex_chunk(pd.Series(["a"]), spec, 1)[1]
        with pytest.raises(
            EdgeTypeError, match=f"^{name} has ids of dtype str .*edges of int64"
        ):
            combine([edges], vertices=[vertices])


def test_one_self_loop_is_one() -> None:
    receipt = make_chunk(np.array([[1, 2], [2, 2]]), ChunkSpec(), 0)[1]
    with pytest.raises(EdgeValueError, match=r"^1 edge is a self-loop, the first at vertex 2:"):
        combine([receipt], self_loops="error")


def test_policies() -> None:
    ends = [[1, 1], [2, 3], [4, 4]]
    clean = make_chunk(np.array(ends), ChunkSpec(), 0)[1]
    frame = pd.DataFrame(ends, columns=["a", "b"]).assign(w=[1.0, np.nan, np.inf])
    dirty = make_chunk(frame, replace(WEIGHTED, names=("a", "b", "w")), 1)[1]
    with pytest.raises(
        EdgeValueError, match=r"1 edge has a missing .* row 4 \(row 1 of .* 1, .*'w'"
    ):
        combine([clean, dirty])
    with pytest.raises(EdgeValueError, match=r"1 edge has an infinite weight.* row 5 "):
        combine([clean, dirty], nulls="drop")
    with pytest.raises(EdgeValueError, match=r"2 edges are self-loops.* vertex 1:"):
        combine([clean], self_loops="error")
    summary = combine([clean, clean])
    assert (summary.rows, summary.edges, summary.self_loops) == (6, 6, 4)
    assert (summary.low, summary.high, summary.dtype) == (1, 4, "int64")


def test_strings_that_are_no_unicode() -> None:
    with pytest.raises(EdgeValueError, match="Unicode"):
        read_ids(np.array(["a\ud800"], object), "source")


@pytest.mark.parametrize(
    ("part", "ids"),
    [
        (IdRange(1, 4), [1, 2, 3]),
        (np.array([3, 1, 3], np.int8), [1, 3]),
        (pd.Series(["b", "a", "b"]), ["a", "b"]),
        (pd.Series(["b", "a", "b"], dtype="category"), ["a", "b"]),
        (pd.DataFrame({"id": [2, 1]}), [1, 2]),
        (pa.table({"id": ["b", "a"]}), ["a", "b"]),
        (pa.array(["b", "a"]), ["a", "b"]),
        (np.array([[2], [1]]), [1, 2]),
        (np.empty(0), []),
    ],
)
def test_declared_vertices(part: Any, ids: list[Any]) -> None:
    chunk, receipt = make_vertex_chunk(part, VertexSpec(), 0)
    assert chunk.ids.to_list() == ids
    assert receipt.rows == len(part)
    assert combine([], vertices=[receipt]).dtype in ("int64", "int8", "str")


def test_vertices_with_missing_ids() -> None:
    chunk, receipt = make_vertex_chunk(pd.Series(["a", None]), VertexSpec(), 0)
    assert chunk.ids.to_list() == ["a"]
    with pytest.raises(EdgeValueError, match="1 vertex has a missing id"):
        combine([], vertices=[receipt])


def test_vertices_of_the_wrong_kind() -> None:
    edges = make_chunk(np.array([[1, 2]]), ChunkSpec(), 0)[1]
    vertices = make_vertex_chunk(pd.Series(["a"]), VertexSpec(), 1)[1]
    with pytest.raises(EdgeTypeError, match="one kind"):
        combine([edges], vertices=[vertices])


def test_a_placement() -> None:
    spec = VertexSpec(slot=1, declared=False)
    frame = pd.DataFrame({"vertex": ["b", "a", None], "slot": np.array([1, 0, 2], np.uint8)})
    chunk, _ = make_vertex_chunk(frame, spec, 0)
    assert chunk.slots is not None
    assert (chunk.ids.to_list(), chunk.slots.tolist()) == (["b", "a"], [1, 0])
    for slots in ([0.5, 1.0, 2.0], ["a", "b", "c"], [0, -1, 1], pd.array([0, None, 1], "Int8")):
        _, receipt = make_vertex_chunk(frame.assign(slot=slots), spec, 0)
        with pytest.raises(DgraphError, match="slot"):
            combine([], vertices=[receipt])

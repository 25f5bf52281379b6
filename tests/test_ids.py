"""Typed id columns against Python's own sorting, sets and dicts."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.errors import DgraphError, EdgeTypeError
from dgraph.vertices import string_kernels
from dgraph.vertices.ids import (
    Ids,
    IntIds,
    StringIds,
    code_dtype,
    concat_ids,
    ids_from_columns,
)
from dgraph.vertices.sample import bottom_k, splitters

DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@st.composite
def int_ids(draw: st.DrawFn) -> IntIds:
    dtype = draw(st.sampled_from(DTYPES))
    bounds = np.iinfo(dtype)
    edge = st.sampled_from([bounds.min, bounds.max, bounds.max - 1, 0, 2**53 % bounds.max])
    near = st.integers(0, 20)
    values = st.lists(edge | near | st.integers(bounds.min, bounds.max), max_size=60)
    return IntIds(np.array(draw(values), dtype))


# Few characters and shared beginnings make ties; NUL, accents and emoji make trouble.
pieces = st.sampled_from(
    ["", "a", "b", "\0", "é", "😀", "\ud7ff", "\ue000", "prefix-", "ß" * 9]
)
words = st.lists(pieces, max_size=6).map("".join) | st.text(st.characters(codec="utf-8"))
string_ids = st.lists(words, max_size=60).map(StringIds.of)
any_ids = st.one_of(int_ids(), string_ids)


def python_order(values: list[Any]) -> list[Any]:
    return sorted(set(values))


@given(any_ids)
def test_factorize_and_unique_equal_a_sorted_set(ids: Ids) -> None:
    values = ids.to_list()
    codes, distinct = ids.factorize()
    assert distinct.to_list() == python_order(values) == ids.unique().to_list()
    assert distinct.dtype == ids.dtype
    assert codes.dtype == np.int32
    assert codes.tolist() == [python_order(values).index(value) for value in values]
    assert distinct.take(codes) == ids


@given(any_ids)
def test_argsort_equals_a_stable_sort(ids: Ids) -> None:
    values = ids.to_list()
    assert ids.argsort().tolist() == sorted(range(len(values)), key=values.__getitem__)


@given(any_ids, any_ids)
def test_locate_compares_by_value(ids: Ids, queries: Ids) -> None:
    table = ids.unique()
    place = {value: position for position, value in enumerate(table.to_list())}
    assert table.locate(queries).tolist() == [place.get(q, -1) for q in queries.to_list()]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("asked", DTYPES)
def test_few_ids_are_located_by_value(dtype: str, asked: str) -> None:
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    values = [least, least + 1, *range(9, 89), most - 1, most]
    table, place = IntIds(np.array(values, dtype)), {value: i for i, value in enumerate(values)}
    first, last = np.iinfo(asked).min, np.iinfo(asked).max
    for query in (first, first + 1, 0, 9, 88, 89, last // 2 + 1, last - 1, last):
        found = table.locate(IntIds(np.array([query], asked)))
        assert found.dtype == np.int64
        assert found.tolist() == [place.get(query, -1)]


@given(st.one_of(st.tuples(int_ids(), int_ids()), st.tuples(string_ids, string_ids)))
def test_searchsorted_counts_what_is_smaller(pair: tuple[Any, Any]) -> None:
    ids, queries = pair
    values = sorted(ids.to_list())
    table = ids.take(ids.argsort())
    left = [sum(value < q for value in values) for q in queries.to_list()]
    right = [sum(value <= q for value in values) for q in queries.to_list()]
    assert table.searchsorted(queries).tolist() == left
    assert table.searchsorted(queries, side="right").tolist() == right


@given(any_ids, st.integers(0, 60), st.integers(0, 60))
def test_columns_round_trip_even_of_slices(ids: Ids, start: int, stop: int) -> None:
    part = ids.slice(start, stop)
    assert part.to_list() == ids.to_list()[start:stop]
    columns = [np.array(column) for column in part.to_columns()]
    assert ids_from_columns(ids.dtype, columns) == part
    assert pickle.loads(pickle.dumps(part)) == part
    assert part.hash().tolist() == ids.hash()[start:stop].tolist()


@given(st.lists(int_ids(), min_size=1, max_size=4))
def test_concat_keeps_every_integer_or_refuses(parts: list[IntIds]) -> None:
    values = [value for part in parts for value in part.to_list()]
    try:
        joined = concat_ids(parts)
    except EdgeTypeError:
        assert min(values) < 0
        assert max(values) >= 2**63
    else:
        assert joined.to_list() == values


@given(any_ids, st.randoms())
def test_nullable_form_has_missing_values_where_asked(ids: Ids, random: Any) -> None:
    missing = np.array([random.random() < 0.5 for _ in range(len(ids))], bool)
    column = pd.Series(ids.to_nullable(missing))
    want = [None if gone else value for value, gone in zip(ids.to_list(), missing, strict=True)]
    assert [None if value is pd.NA else value for value in column] == want
    names = {"str": "string"} | {
        name: name.replace("i", "I").replace("u", "U") for name in DTYPES
    }
    assert str(column.dtype) == names[ids.dtype]


@given(any_ids)
def test_pandas_form_is_the_users_own(ids: Ids) -> None:
    column = pd.Series(ids.to_pandas())
    assert column.tolist() == ids.to_list()
    assert column.dtype == (pd.Series(["a"]).dtype if ids.kind == "str" else ids.dtype)


@given(st.integers(-(2**63), 2**64 - 1))
def test_an_integer_hashes_alike_in_every_dtype(value: int) -> None:
    fits = [d for d in DTYPES if np.iinfo(d).min <= value <= np.iinfo(d).max]
    z = (value + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    assert {int(IntIds(np.array([value], d)).hash()[0]) for d in fits} == {z ^ z >> 31}


@given(words)
def test_strings_hash_as_murmur64a(word: str) -> None:
    m, raw = 0xC6A4A7935BD1E995, word.encode()
    h = len(raw) * m % 2**64
    for start in range(0, len(raw), 8):
        k = int.from_bytes(raw[start : start + 8], "little")
        if start + 8 <= len(raw):
            k = k * m % 2**64
            k = (k ^ k >> 47) * m % 2**64
        h = (h ^ k) * m % 2**64
    h = (h ^ h >> 47) * m % 2**64
    assert StringIds.of([word]).hash().tolist() == [h ^ h >> 47]


def test_hashes_do_not_change_between_processes() -> None:
    code = (
        "from dgraph.vertices.ids import *; import numpy as np;"
        "import sys; sys.stdout.write("
        "f'{StringIds.of([\"vertex 7\"]).hash()[0]} {IntIds(np.array([7])).hash()[0]}')"
    )
    here = StringIds.of(["vertex 7"]).hash()[0], IntIds(np.array([7])).hash()[0]
    house = Path(__file__).parents[1]
    there = subprocess.run(
        [sys.executable, "-c", code], cwd=house, capture_output=True, check=True
    )
    assert there.stdout.decode().split() == [str(h) for h in here]


@settings(max_examples=20)
@given(string_ids, string_ids)
def test_strings_that_share_a_hash_stay_apart(ids: StringIds, queries: StringIds) -> None:
    def constant(offsets: Any, data: Any) -> Any:
        return np.zeros(len(offsets) - 1, np.uint64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(string_kernels, "hash_strings", constant)
        test_factorize_and_unique_equal_a_sorted_set.hypothesis.inner_test(ids)  # type: ignore[attr-defined]
        test_locate_compares_by_value.hypothesis.inner_test(ids, queries)  # type: ignore[attr-defined]


@pytest.mark.parametrize("spread", [1, 2**30, 2**42])
def test_many_integers(spread: int) -> None:
    random = np.random.default_rng(3)
    values = random.integers(0, 2**20, 50_000) * spread - 2**61
    codes, distinct = IntIds(values).factorize()
    want, inverse = np.unique(values, return_inverse=True)
    assert np.array_equal(distinct.values, want)
    assert np.array_equal(codes, inverse)
    assert np.array_equal(IntIds(values).argsort(), np.argsort(values, kind="stable"))
    assert distinct.locate(IntIds(values[:9])).tolist() == inverse[:9].tolist()  # binary search


def test_many_strings_with_long_shared_beginnings() -> None:
    random = np.random.default_rng(3)
    values = [f"https://example.org/{'x' * 30}/{i}" for i in random.integers(0, 9000, 20_000)]
    ids = StringIds.of(values)
    assert ids.argsort().tolist() == sorted(range(len(values)), key=values.__getitem__)
    codes, distinct = ids.factorize()
    assert distinct.to_list() == sorted(set(values))
    assert distinct.take(codes) == ids
    assert distinct.locate(ids).tolist() == codes.tolist()
    assert distinct.locate(ids.slice(0, 9)).tolist() == codes[:9].tolist()  # binary search


def test_columns_share_memory() -> None:
    values = np.arange(5)
    assert np.shares_memory(IntIds(values).to_columns()[0], values)
    strings = StringIds.of(["ab", "c"])
    again = StringIds.from_columns("str", strings.to_columns())
    for mine, other in zip(strings.to_columns(), again.to_columns(), strict=True):
        assert np.shares_memory(mine, other)


def test_foreign_layouts_are_taken() -> None:
    raw = np.frombuffer(b"\0" + np.arange(4).tobytes(), np.uint8)[1:].view(np.int64)
    for values in (np.arange(8)[::2] // 2, np.arange(4).astype(">i4"), raw):
        assert IntIds(values).factorize()[1].to_list() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "make",
    [
        lambda: IntIds(np.array([1.0])),
        lambda: IntIds(np.array([True])),
        lambda: IntIds(np.array([[1]])),
        lambda: IntIds(np.array([300])).astype("uint8"),
        lambda: StringIds(pa.array(["a", None], pa.large_string())),
        lambda: StringIds(pa.array(["a"], pa.string())),
        lambda: concat_ids([IntIds(np.array([1])), StringIds.of(["a"])]),
    ],
)
def test_wrong_types_are_refused(make: Any) -> None:
    with pytest.raises(TypeError, match="expected") as caught:
        make()
    assert isinstance(caught.value, DgraphError)


def test_an_empty_part_says_nothing_about_the_kind() -> None:
    assert concat_ids([IntIds(np.array([], int)), StringIds.of("a")]) == StringIds.of("a")
    assert concat_ids([StringIds.of(""), StringIds.of("")]).to_list() == []
    assert code_dtype(2**31) is np.int64


@given(any_ids, st.integers(1, 5), st.integers(0, 70), st.randoms())
def test_bottom_k_of_a_union_is_found_from_its_parts(
    ids: Ids, parts: int, k: int, random: Any
) -> None:
    distinct = ids.unique()
    owner = np.array([random.randrange(parts) for _ in range(len(distinct))], int)
    samples = [
        bottom_k(distinct.take(np.flatnonzero(owner == p)[::-1]), k) for p in range(parts)
    ]
    found = bottom_k(concat_ids(samples), k)
    assert found == bottom_k(distinct, k)
    assert found.hash().tolist() == sorted(distinct.hash().tolist())[:k]


@given(any_ids, st.integers(1, 70))
def test_splitters_cut_evenly(ids: Ids, parts: int) -> None:
    distinct = ids.unique()
    cuts = splitters(ids, parts)
    assert len(cuts) == (parts - 1 if len(ids) else 0)
    part = cuts.searchsorted(distinct, side="right")
    sizes = np.bincount(part, minlength=parts)
    assert (np.diff(part) >= 0).all()
    assert sizes.max() <= -(-len(distinct) // parts)

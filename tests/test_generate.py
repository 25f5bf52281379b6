"""Generated graphs: the same edges whatever the partitions, with the right statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.dataframe as dd
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.edges import generate
from dgraph.edges.generate import grid, kronecker, uniform
from dgraph.errors import OptionError

MAKERS: dict[str, Callable[..., dd.DataFrame]] = {
    "kronecker": lambda **more: kronecker(6, 5, **more),
    "uniform": lambda **more: uniform(6, 5, **more),
    "grid": lambda **more: grid(7, 5, **more),
}


def computed(frame: dd.DataFrame) -> pd.DataFrame:
    done: pd.DataFrame = frame.compute(scheduler="synchronous").reset_index(drop=True)
    return done


@given(
    st.sampled_from(list(MAKERS)), st.integers(1, 400), st.integers(-3, 2**64), st.booleans()
)
@settings(max_examples=25)
def test_edges_do_not_depend_on_partitions(
    maker: str, npartitions: int, seed: int, weights: bool
) -> None:
    make = MAKERS[maker]
    npartitions = min(npartitions, 40) if npartitions % 7 else npartitions
    whole = computed(make(seed=seed, weights=weights))
    cut = make(seed=seed, weights=weights, npartitions=npartitions)
    assert cut.npartitions == npartitions
    pd.testing.assert_frame_equal(computed(cut), whole)


@pytest.mark.parametrize("scale", [0, 1, 2, 3, 7, 10])
def test_names_are_a_permutation(scale: int) -> None:
    names = generate._permutation(5)
    renamed = [int(generate._rename(np.uint64(v), names, scale)) for v in range(2**scale)]
    assert sorted(renamed) == list(range(2**scale))
    if scale > 2:
        assert renamed != sorted(renamed)


def test_names_reach_as_far_as_ids_do() -> None:
    names = generate._permutation(1)
    top = np.uint64(2**62 - 1)
    assert 0 <= int(generate._rename(top, names, 62)) < 2**62


def test_quadrants_of_a_kronecker_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without renaming, each bit of the ends falls into A, B, C, D as often as it should."""
    as_they_are = np.array([[1, 0]] * 0, np.uint64).reshape(0, 2)
    monkeypatch.setattr(generate, "_permutation", lambda seed: as_they_are)
    edges = computed(kronecker(10, 64))
    source, target = edges["source"].to_numpy(), edges["target"].to_numpy()
    for bit in range(10):
        quadrant = 2 * (source >> bit & 1) + (target >> bit & 1)
        shares = np.bincount(quadrant, minlength=4) / len(edges)
        np.testing.assert_allclose(shares, [0.57, 0.19, 0.19, 0.05], atol=0.008)
    neighbouring = 4 * (2 * (source >> 1 & 1) + (target >> 1 & 1)) + (
        2 * (source & 1) + (target & 1)
    )
    together = np.bincount(neighbouring, minlength=16) / len(edges)
    expected = np.outer([0.57, 0.19, 0.19, 0.05], [0.57, 0.19, 0.19, 0.05]).ravel()
    np.testing.assert_allclose(together, expected, atol=0.008)


def test_uniform_ends_and_weights() -> None:
    edges = computed(uniform(8, 256, weights=True))
    for name in ("source", "target"):
        counts = np.bincount(edges[name], minlength=256)
        assert 150 < counts.min() <= counts.max() < 370
    weights = edges["weight"].to_numpy()
    assert weights.dtype == np.float32
    assert 0 <= weights.min() < 0.001
    assert 0.999 < weights.max() < 1
    assert abs(weights.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(edges["source"], weights)[0, 1]) < 0.02


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (1, 4), (4, 1), (3, 5)])
def test_grid_is_a_grid(rows: int, cols: int) -> None:
    found = {tuple(sorted(row)) for row in computed(grid(rows, cols)).to_numpy().tolist()}
    expected = nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, cols))
    assert found == {tuple(sorted(edge)) for edge in expected.edges}
    assert len(computed(grid(rows, cols))) == len(found)


def test_seeds_differ() -> None:
    first, second = computed(kronecker(8, seed=1)), computed(kronecker(8, seed=2))
    assert not first.equals(second)
    assert computed(kronecker(0, 3))["source"].to_list() == [0, 0, 0]
    assert computed(uniform(0, 3))["target"].to_list() == [0, 0, 0]
    assert len(computed(kronecker(4, 0))) == 0


def test_dtypes_are_as_declared() -> None:
    for make in MAKERS.values():
        frame = make(weights=True)
        assert frame.dtypes.to_dict() == computed(frame).dtypes.to_dict()
        assert frame.dtypes.astype(str).to_list() == ["int64", "int64", "float32"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: kronecker(-1),
        lambda: kronecker(63),
        lambda: kronecker(2.5),  # type: ignore[arg-type]
        lambda: kronecker(True),
        lambda: uniform(3, -1),
        lambda: grid(0),
        lambda: grid(3, npartitions=-1),
    ],
)
def test_wrong_sizes_say_what_is_allowed(call: Callable[[], Any]) -> None:
    with pytest.raises(OptionError, match="must be an integer from"):
        call()

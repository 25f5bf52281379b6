"""Label propagation: the oracle's labels, bit for bit, however the graph is spread."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dgraph.algorithms.cdlp as cdlp_module
from dgraph.algorithms.cdlp import cdlp_slot
from tests.harness import Steps, frame_of
from tests.reference import PlainGraph, build, plain
from tests.strategies import spread_graphs


def oracle(graph: PlainGraph, rounds: int) -> list[int]:
    """Count the votes of every vertex in every round; vertices are orders."""
    voters: list[list[int]] = [[] for _ in range(graph.n)]
    source, target, _ = graph.arcs
    for u, v in zip(source.tolist(), target.tolist(), strict=True):
        voters[v].append(u)
        if graph.directed:
            voters[u].append(v)
    label = list(range(graph.n))
    for _ in range(rounds):
        counts = [Counter(label[u] for u in row) for row in voters]
        label = [
            min(votes, key=lambda one: (-votes[one], one)) if votes else own
            for own, votes in zip(label, counts, strict=True)
        ]
    return label


def expected(graph: PlainGraph, rounds: int) -> pd.DataFrame:
    labels = graph.ids.take(np.array(oracle(graph, rounds), np.int64))
    return pd.DataFrame({"vertex": graph.ids.to_pandas(), "label": labels.to_pandas()})


@given(drawn=spread_graphs(), rounds=st.integers(0, 7), data=st.data())
def test_is_the_oracles_for_any_spread(drawn: Any, rounds: int, data: st.DataObject) -> None:
    graph, spread = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cdlp_module, "COUNTERS", data.draw(st.sampled_from([0, 2**24])))
        patch.setattr(cdlp_module, "FEW", data.draw(st.sampled_from([0, 2, 16])))
        found = frame_of(cdlp_slot, spread.shards(graph), rounds)
    pd.testing.assert_frame_equal(found, expected(graph, rounds))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("counters", [0, 2**24])
def test_is_the_oracles_where_rows_are_long(
    directed: bool, counters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cdlp_module, "COUNTERS", counters)
    rng = np.random.default_rng(3)
    ends = (rng.random((2, 4000)) ** 4 * 300).astype(np.int64)
    graph = plain(*ends, directed=directed, vertices=np.arange(300))
    want = expected(graph, 6)
    for slots in (1, 3):
        pd.testing.assert_frame_equal(frame_of(cdlp_slot, build(graph, slots), 6), want)


def test_an_edge_changes_its_labels_for_ever() -> None:
    steps = Steps()
    found = frame_of(cdlp_slot, build(plain([1], [2]), 2), 5, observer=steps)
    assert found["label"].tolist() == [2, 1]
    assert steps.stages.count("round") == 5


def test_rounds_end_when_no_label_changes() -> None:
    steps = Steps()
    graph = plain([1, 2, 3], [2, 3, 1])
    found = frame_of(cdlp_slot, build(graph, 2), 1000, observer=steps)
    assert found["label"].tolist() == [1, 1, 1]
    assert steps.stages.count("round") == 3


def test_a_loop_is_one_vote_or_two() -> None:
    # 5 hears 1 twice and itself
    for directed, label in ((False, 1), (True, 1)):
        graph = plain([1, 1, 5], [5, 5, 5], directed=directed)
        assert frame_of(cdlp_slot, build(graph, 1), 1)["label"].tolist()[1] == label
    # 5 hears 1 and itself; 0 hears nobody
    for directed, label in ((False, 1), (True, 5)):
        graph = plain([1, 5], [5, 5], directed=directed, vertices=[0])
        assert frame_of(cdlp_slot, build(graph, 2), 1)["label"].tolist() == [0, 5, label]


def test_agrees_with_lagraph(shared: Path) -> None:
    text = shared / "data/lagraph/jagmesh7.mtx"
    rows = [line.split() for line in text.read_text().splitlines() if not line.startswith("%")]
    ends = np.array(rows[1:], np.int64).T
    graph = plain(ends[0], ends[1])
    want = pd.read_csv(shared / "data/lagraph/expected/jagmesh7-cdlp.csv")
    for slots in (1, 3):
        found = frame_of(cdlp_slot, build(graph, slots), 11)
        np.testing.assert_array_equal(found.to_numpy(), want.to_numpy())

"""Envelopes come back as they were packed, in every encoding, of every dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dgraph.exchange.encoding import choose, encode_parts
from dgraph.exchange.envelope import (
    SMALL,
    Parts,
    open_frames,
    open_parts,
    pack_frames,
    pack_parts,
)
from dgraph.exchange.frame import DTYPES, HEADER, Frame, pack

dtypes = st.sampled_from(DTYPES)


def filled(chance: np.random.Generator, size: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Return any bits that the dtype can hold."""
    if dtype.kind == "b":
        return chance.integers(0, 2, size).astype(dtype)
    return np.frombuffer(chance.bytes(size * dtype.itemsize), dtype)


def equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


@given(
    st.lists(st.tuples(st.integers(0, 700), st.floats(0, 1)), min_size=1, max_size=5),
    dtypes,
    st.integers(0, 2**32),
)
def test_combined_parts(slots: list[tuple[int, float]], dtype: Any, seed: int) -> None:
    """Of each slot some of its vertices are meant: none, a few, many, or all of the first."""
    chance = np.random.default_rng(seed)
    sizes = np.array([size for size, _ in slots])
    bases = np.concatenate([[0], np.cumsum(sizes)])
    held = [np.flatnonzero(chance.random(size) < share) for size, share in slots]
    numbers = np.concatenate([some + base for some, base in zip(held, bases, strict=False)])
    values = filled(chance, numbers.size, dtype)
    counts = np.array([some.size for some in held])
    owners = np.flatnonzero(counts)
    begin = np.concatenate([[0], np.cumsum(counts[owners])])
    if not owners.size:
        return
    envelope = pack_parts(7, 9, Parts(numbers, values), owners, begin, bases)
    assert (envelope.source, envelope.target, envelope.count) == (7, 9, numbers.size)
    found = open_parts(envelope, bases)
    assert found.numbers.tolist() == numbers.tolist()
    assert equal(found.values, values)


@given(st.integers(1, 700), st.floats(0, 1), st.integers(0, 2**32))
def test_the_shortest_encoding_is_taken(n: int, share: float, seed: int) -> None:
    meant = np.random.default_rng(seed).random(n) < share
    meant[-1] = True  # so that n is one more than the largest id
    ids = np.flatnonzero(meant).astype(np.int32)
    _, offsets, bitmaps = encode_parts(ids, np.array([0, ids.size]))
    lengths = {"dense": 0, "bitmap": 8 * -(-n // 64), "offsets": 4 * ids.size}
    if ids.size < n:
        del lengths["dense"]
    assert offsets.nbytes + bitmaps.nbytes == min(lengths.values())
    encoding, size = choose(n, ids.size, 8)
    assert size == min(8 * n, *(some + 8 * ids.size for some in lengths.values()))
    assert encoding in ("dense", *lengths)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**40) | st.integers(0, 9),
            st.lists(st.tuples(dtypes, st.integers(0, 2 * SMALL)), max_size=3),
        ),
        max_size=6,
    ),
    st.integers(0, 2**32),
)
def test_whole_frames(frames: list[tuple[int, list[tuple[Any, int]]]], seed: int) -> None:
    chance = np.random.default_rng(seed)
    packed = [
        Frame(
            at, 100 + at, tuple(filled(chance, size, dtype) for dtype, size in columns), count
        )
        for at, (count, columns) in enumerate(frames)
    ]
    found = open_frames(pack_frames(1, 2, packed))
    for one, other in zip(found, packed, strict=True):
        assert (one.source, one.target, one.count) == (other.source, other.target, other.count)
        assert len(one.columns) == len(other.columns)
        assert all(map(equal, one.columns, other.columns))


@given(st.lists(st.tuples(dtypes, st.integers(0, 50)), max_size=4))
def test_a_frame_knows_its_bytes_on_the_wire(columns: list[tuple[Any, int]]) -> None:
    frame = Frame(0, 1, tuple(np.zeros(size, dtype) for dtype, size in columns), 1)
    buffers = pack(frame, run=3, superstep=5)
    assert frame.nbytes == sum(memoryview(some).nbytes for some in buffers) >= HEADER.size

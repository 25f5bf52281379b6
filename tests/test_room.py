"""Memory that is used again: never while somebody still looks at it."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dgraph.exchange.room import LIMIT, SMALLEST, Room
from dgraph.shard.scratch import LEAST, Scratch

SIZES = st.integers(0, 3 * SMALLEST)


@given(
    st.lists(st.tuples(SIZES, st.sampled_from(["u1", "i4", "f8"]), st.integers(0, 9))),
    st.sampled_from([SMALLEST, 5 * SMALLEST, LIMIT]),
)
def test_what_is_in_use_stays_as_it_is(asked: list[tuple[int, str, int]], limit: int) -> None:
    room = Room(limit)
    used: list[tuple[Any, Any]] = []
    for number, (size, dtype, dropped) in enumerate(asked):
        array = room.array(size // np.dtype(dtype).itemsize, dtype)
        array[:] = number % 100
        # a part of it, of another type, is enough to hold it
        used.append((array[: array.size // 2].view(np.uint8), array[:1].copy()))
        del array
        if dropped < len(used):
            del used[dropped]
        for part, value in used:
            assert np.array_equal(
                part.view(value.dtype), np.repeat(value, part.size // value.itemsize)
            )


def test_room_that_is_free_is_used_again() -> None:
    room = Room()
    places = {room.array(SMALLEST, np.uint8).ctypes.data for _ in range(20)}
    assert len(places) == 1


def test_what_is_too_long_to_be_kept_drives_nothing_out() -> None:
    room = Room(2 * SMALLEST)
    first = room.array(SMALLEST, np.uint8)
    place = first.ctypes.data
    del first
    room.array(3 * SMALLEST, np.uint8)
    others = np.empty(SMALLEST, np.uint8)  # lies where it was, had that been forgotten
    assert room.array(SMALLEST, np.uint8).ctypes.data == place != others.ctypes.data


def test_long_arrays_to_borrow_are_whole_and_can_be_written() -> None:
    scratch = Scratch()
    array = scratch.borrow(LEAST // 8 + 3, np.float64)
    array[:] = 1.5
    assert array.size == LEAST // 8 + 3
    assert array.sum() == 1.5 * array.size
    scratch.give_back(array)
    assert scratch.borrow(LEAST // 8 + 3, np.float64) is array

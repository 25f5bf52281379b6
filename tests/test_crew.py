"""Slots of a process that do pieces of each other's work."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dgraph.engine.crew import Crew

PATIENCE = 60


def test_a_slot_that_is_done_does_what_another_has_not_begun() -> None:
    crew, is_helped = Crew(), threading.Event()
    who: dict[int, int] = {}

    def work(piece: int) -> tuple[int, bool]:
        who[piece] = threading.get_ident()
        if piece:
            is_helped.set()
        return piece, is_helped.wait(PATIENCE)  # nobody but the other slot can do the second

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(crew.share, 0, work, 2)
        while not who:
            assert not one.done()
        other = pool.submit(crew.share, 1, lambda piece: -piece, 1)
        assert one.result(PATIENCE) == [(0, True), (1, True)]
        assert other.result(PATIENCE) == [0]
    assert who[0] != who[1]


def test_an_error_is_raised_where_the_work_belongs() -> None:
    crew, is_helped = Crew(), threading.Event()

    def work(piece: int) -> None:
        if piece:
            is_helped.set()
            raise MemoryError("the second")
        assert is_helped.wait(PATIENCE)

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(crew.share, 0, work, 2)
        while not crew._jobs:
            assert not one.done()
        assert pool.submit(crew.share, 1, str, 3).result(PATIENCE) == ["0", "1", "2"]
        with pytest.raises(MemoryError, match="the second"):
            one.result(PATIENCE)
    assert not crew._jobs


def test_no_pieces() -> None:
    assert Crew().share(0, lambda piece: piece, 0) == []

"""What a channel over MPI holds, with sends that end one by one and in any sequence."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dgraph.exchange.frame import Frame
from dgraph.exchange.transport.bundle import encode
from dgraph.exchange.transport.mpi import APART, LARGEST, MpiChannel


class Send:
    """A send that ends when it is told to; MPI takes requests that have ended as null."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.has_ended = False
        self.is_null = False


class Requests:
    """What is asked of MPI.Request."""

    @staticmethod
    def Testall(requests: Sequence[Send]) -> bool:
        return all(some.has_ended for some in requests)

    @staticmethod
    def Testsome(requests: Sequence[Send]) -> list[int] | None:
        if all(some.is_null for some in requests):
            return None
        ended = [at for at, some in enumerate(requests) if some.has_ended and not some.is_null]
        for at in ended:
            requests[at].is_null = True
        return ended[::-1]  # MPI says them in any sequence


class World:
    """A job in which sends wait."""

    def __init__(self) -> None:
        self.sends: list[Send] = []
        self.mpi = SimpleNamespace(
            Request=Requests, Status=lambda: SimpleNamespace(Get_count=lambda _: 0), BYTE=None
        )
        self.comm = SimpleNamespace(Isend=self.isend, Irecv=lambda *_: None)

    def isend(self, message: memoryview, rank: int, tag: int) -> Send:
        self.sends.append(Send(message.nbytes))
        return self.sends[-1]

    def greet(self, rank: int, run: int) -> int:
        return 1

    def heard(self, rank: int, run: int) -> int:
        return 2


@given(
    st.lists(st.integers(0, 3 * LARGEST), min_size=1, max_size=3),
    st.data(),
)
def test_held_is_what_has_not_gone(sizes: list[int], data: st.DataObject) -> None:
    world: Any = World()
    channel = MpiChannel(world, 5, 1, 7, "peer")
    assert channel.meet()
    columns = tuple(np.zeros(size, np.int8) for size in sizes)
    bundle = encode(7, 0, [Frame(0, 1, columns, 1)], np.zeros(0, np.int64), "sum")
    assert not channel.send(bundle)
    assert sum(send.size for send in world.sends) == sum(some.nbytes for some in bundle)
    for send in data.draw(st.permutations(list(world.sends))):
        assert channel.held == sum(some.size for some in world.sends if not some.has_ended) > 0
        send.has_ended = True
        channel.nudge()
    assert channel.held == 0
    assert channel.flush()
    channel.send(encode(7, 1, [], np.zeros(1, np.int64), "sum"))
    assert channel.held == world.sends[-1].size


def test_long_columns_are_cut() -> None:
    world: Any = World()
    channel = MpiChannel(world, 5, 1, 7, "peer")
    columns = (np.zeros(2 * LARGEST + 1, np.int8), np.zeros(APART - 1, np.int8))
    channel.send(encode(7, 0, [Frame(0, 1, columns, 1)], np.zeros(0, np.int64), "sum"))
    assert [send.size for send in world.sends][1:] == [APART - 1, LARGEST, LARGEST, 1]

"""Where slots meet that go on in compiled code: a barrier in memory, and a clock.

A Python thread that waits for another is woken 40 to 60 us after it could go on, and a level
of a search may have less to do than that. A thread that looks at a word of memory all the time
goes on within a microsecond. If the others take long it offers its core to whoever wants it,
and after some milliseconds it sleeps between looks.

The words of a meeting are an int64 array of `SIZE`, zeros to begin with::

    [COUNT]   how many have come to this meeting
    [TURN]    how many meetings have ended
    [OVER]    not zero: there will be no meeting any more

each in a cache line of its own. Whoever cannot come sets the last; a process that was stopped
sets nothing, so who waits for slots of other processes asks its hub now and then to look after
them. To ask, a kernel has two numbers: what to call, and which hub.
"""

from __future__ import annotations

import ctypes
import platform
from itertools import count
from time import CLOCK_MONOTONIC
from typing import Any, Protocol
from weakref import WeakValueDictionary

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from dgraph.kernels import kernel

__all__ = [
    "NOBODY",
    "OVER",
    "SIZE",
    "Watcher",
    "clock",
    "meet",
    "next_number",
    "set_number",
    "watched_by",
]

COUNT, TURN, OVER, SIZE = 0, 8, 16, 24

#: Looks of a thread before it offers its core, some 20 us; how often it looks between two
#: offers; offers before it sleeps, some ms; and the microseconds that it then sleeps each time.
LOOKS, SHORT, OFFERS, NAP = 2000, 100, 2000, 50

#: Seconds of waiting after which the hub is asked to look after the others.
PATIENCE = 0.25

#: Instead of two numbers: nobody is asked.
NOBODY = np.zeros(2, np.int64)

_CAN_PAUSE = platform.machine() in ("x86_64", "AMD64")
_INT64 = ir.IntType(64)

_offer_core = types.ExternalFunction("sched_yield", types.int32())
_nap = types.ExternalFunction("usleep", types.int32(types.uint32))


class Watcher(Protocol):
    """Looks after the slots that others wait for."""

    def look_after(self) -> None:
        """Call the meetings off if there is a reason; raises nothing."""


_watchers: WeakValueDictionary[int, Watcher] = WeakValueDictionary()
_numbers = count(1)


def _look_after(number: int) -> None:
    watcher = _watchers.get(number)
    if watcher is not None:
        watcher.look_after()


_ask = ctypes.CFUNCTYPE(None, ctypes.c_int64)(_look_after)


def watched_by(watcher: Watcher) -> NDArray[np.int64]:
    """Return by what a kernel asks somebody to look after the others."""
    number = next(_numbers)
    _watchers[number] = watcher
    where = ctypes.cast(_ask, ctypes.c_void_p).value
    return np.array([where, number], np.int64)


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    holder = make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, holder, [index], wraparound=False)


@intrinsic
def _look(typing_context: Any, array: Any, index: Any) -> Any:
    """Emit a pause, as loops that wait should have, and a load that is done anew each time."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if _CAN_PAUSE:
            form = ir.FunctionType(ir.VoidType(), [])
            pause = cgutils.get_or_insert_function(builder.module, form, "llvm.x86.sse2.pause")
            builder.call(pause, [])
        place = _place(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(place, "seq_cst", 8)

    return types.int64(array, types.intp), generate


@intrinsic
def _write(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], *arguments[:2])
        builder.store_atomic(arguments[2], place, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), generate


@intrinsic
def _count(typing_context: Any, array: Any, index: Any) -> Any:
    """Emit an addition of 1 that returns what was there before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], *arguments)
        return builder.atomic_rmw("add", place, ir.Constant(_INT64, 1), "seq_cst")

    return types.int64(array, types.intp), generate


@intrinsic
def _nanoseconds(typing_context: Any) -> Any:
    """Emit a call of `clock_gettime`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        parts = cgutils.alloca_once(builder, ir.ArrayType(_INT64, 2))
        number = ir.IntType(32)
        form = ir.FunctionType(number, [number, parts.type])
        read = cgutils.get_or_insert_function(builder.module, form, "clock_gettime")
        builder.call(read, [ir.Constant(number, CLOCK_MONOTONIC), parts])
        seconds, rest = (
            builder.load(cgutils.gep_inbounds(builder, parts, 0, part)) for part in (0, 1)
        )
        return builder.add(builder.mul(seconds, ir.Constant(_INT64, 10**9)), rest)

    return types.int64(), generate


@kernel(inline="always")
def clock():  # type: ignore[no-untyped-def]
    """Return the seconds of `time.perf_counter`, or of a clock that runs as it does."""
    return 1e-9 * _nanoseconds()  # type: ignore[call-arg]


@kernel(inline="always")
def next_number(numbers, place):  # type: ignore[no-untyped-def]
    """Return an entry and add 1 to it, while no other slot can do so."""
    return _count(numbers, place)  # type: ignore[call-arg]


@kernel(inline="always")
def set_number(numbers, place, value):  # type: ignore[no-untyped-def]
    """Set an entry so that whoever sees it sees all that was written before."""
    _write(numbers, place, value)  # type: ignore[call-arg]


@intrinsic
def _call(typing_context: Any, where: Any, number: Any) -> Any:
    """Emit a call of Python, which takes the GIL for its time."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        form = ir.FunctionType(ir.VoidType(), [_INT64])
        builder.call(builder.inttoptr(arguments[0], form.as_pointer()), [arguments[1]])
        return context.get_dummy_value()

    return types.void(where, number), generate


@kernel
def meet(words, parties, watcher):  # type: ignore[no-untyped-def]
    """Wait until so many have come; what they wrote before can be read after.

    Parameters
    ----------
    words : int64 array
    parties : int
    watcher : int64 array of length 2
        See :func:`watched_by`.

    Returns
    -------
    bool
        False if the meetings were called off.
    """
    turn: Any = _look(words, TURN)  # type: ignore[call-arg]
    if _count(words, COUNT) == parties - 1:
        _write(words, COUNT, 0)
        _write(words, TURN, turn + 1)
        return _look(words, OVER) == 0
    for _ in range(LOOKS):
        if _look(words, TURN) != turn:
            return True
    offers, asked = 0, clock()
    while _look(words, OVER) == 0:
        for _ in range(SHORT):
            if _look(words, TURN) != turn:
                return True
        if offers < OFFERS:
            _offer_core()
            offers += 1
        else:
            _nap(NAP)
            if watcher[0] != 0 and clock() > asked + PATIENCE:
                _call(watcher[0], watcher[1])
                asked = clock()
    return False

"""The supersteps of a vertex program on one slot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.algorithms._messages import (
    arcs_along,
    combine,
    count_arcs,
    identity,
    list_arcs,
    mark_receivers,
)
from dgraph.algorithms._totals import exact_totals
from dgraph.build.joining import whole_rows
from dgraph.engine.changes import exchange_changes
from dgraph.engine.columns import Column, Orders, Plain
from dgraph.engine.context import Context
from dgraph.engine.translate import ids_of_orders
from dgraph.errors import OptionError
from dgraph.results import NULLABLE_VERTEX, VERTEX
from dgraph.shard import Shard, number_dtype
from dgraph.shard.bits import positions, set_bits, words

__all__ = ["BLOCK", "FEW", "Run", "columns_of", "vertex_program_slot"]

#: Edges of which the messages are computed at a time; bounds memory.
BLOCK = 2**20

#: Receivers are looked up if the active have less than 1 / FEW of the edges, else all are.
FEW = 16

Array = NDArray[Any]


@dataclass
class Run:
    """What all vertices know of the run.

    Parameters
    ----------
    superstep : int
        0 during `init_vertex`, then 1, 2, ...
    phase : int
        How often the program was woken; see :meth:`VertexProgram.wake`.
    num_vertices, num_edges : int
        Of the whole graph.
    directed, weighted : bool
    totals : dict
        The sums of what `aggregate` returned in this superstep.
    """

    superstep: int
    phase: int
    num_vertices: int
    num_edges: int
    directed: bool
    weighted: bool
    totals: dict[str, Any] = field(default_factory=dict)


class State:
    """The fields of a program on a slot, and who is active."""

    def __init__(self, ctx: Context, shard: Shard, program: Any) -> None:
        self.ctx, self.shard, self.program = ctx, shard, program
        self.run = Run(
            0, 0, shard.num_vertices, shard.num_edges, shard.directed, shard.weighted
        )
        self.shared = list(program.fields if program.shared is None else program.shared)
        self.fields: dict[str, Array] = {}
        for name, dtype in program.fields.items():
            size = shard.size if name in self.shared else shard.masters
            self.fields[name] = np.zeros(size, _numpy_dtype(dtype, shard))
        self.active = np.zeros(words(shard.size), np.uint64)
        self.marks = np.zeros(words(shard.size), np.uint64)
        self.everyone = True
        self.message = _numpy_dtype(program.message, shard)

    def __call__(self, vertices: Any, names: Sequence[str] | None = None) -> SimpleNamespace:
        """Return the fields of some local ids."""
        chosen = self.program.fields if names is None else names
        return SimpleNamespace(**{name: self.fields[name][vertices] for name in chosen})

    @property
    def direction(self) -> str:
        """How messages go in this phase."""
        chosen: str | tuple[str, ...] = self.program.direction
        if isinstance(chosen, str):
            return chosen
        return chosen[min(self.run.phase, len(chosen) - 1)]

    def receivers(self) -> NDArray[np.int32]:
        """Return the masters that are active or may get a message."""
        if self.everyone:
            return np.arange(self.shard.masters, dtype=np.int32)
        first = words(self.shard.masters)
        return _listed(self.active[:first] | self.marks[:first])

    def store(self, vertices: NDArray[np.int32], values: Mapping[str, Any], call: str) -> None:
        """Write fields that a call of the program has returned."""
        unknown = set(values) - set(self.fields)
        if unknown:
            raise OptionError(
                f"{self._name(call)} returned {sorted(unknown)[0]!r}, "
                f"expected fields among {list(self.fields)}"
            )
        for name, some in values.items():
            kind = self.fields[name].dtype
            self.fields[name][vertices] = self.checked(some, vertices.size, kind, call, name)

    def checked(self, some: Any, size: int, dtype: Any, call: str, what: str) -> Array:
        """Return what a call of the program has returned as an array, if it is right."""
        array = np.asarray(some)
        if array.ndim == 0:
            array = np.full(size, array)
        if array.shape != (size,) or not np.can_cast(array.dtype, dtype, "same_kind"):
            raise OptionError(
                f"{self._name(call)} returned {array.dtype} of shape {array.shape} as {what}, "
                f"expected {dtype} of shape ({size},)"
            )
        return array.astype(dtype, copy=False)

    def _name(self, call: str) -> str:
        return f"{type(self.program).__name__}.{call}"


async def vertex_program_slot(
    ctx: Context, shard: Shard, program: Any, max_iter: int | None
) -> dict[str, Column]:
    """Run a program on the masters of a slot; see :func:`run_vertex_program`."""
    shard = await whole_rows(ctx, shard)
    state = State(ctx, shard, program)
    ctx.stage = "init_vertex"
    everyone = np.arange(shard.masters, dtype=np.int32)
    values, mask = program.init_vertex(_described(shard), state.run)
    missing = set(program.fields) - set(values)
    if missing:
        raise OptionError(
            f"{type(program).__name__}.init_vertex must return field {sorted(missing)[0]!r}"
        )
    state.store(everyone, values, "init_vertex")
    awake = await _activate(state, everyone, mask, "init_vertex")
    while max_iter is None or state.run.superstep < max_iter:
        if not awake and not await _wake(state, everyone):
            break
        ctx.stage = "superstep"
        state.run.superstep += 1
        awake = await _superstep(state)
    return {
        name: _column(dtype, state.fields[name][: shard.masters])
        for name, dtype in columns_of(program).items()
    }


async def _superstep(state: State) -> int:
    """Let the vertices exchange messages once; return how many are active then."""
    program, run = state.program, state.run
    vertices, message = _messages(state)
    old = state(vertices)
    state.store(vertices, program.compute_reduce(old, message, run), "compute_reduce")
    new = state(vertices)
    parts = program.aggregate(new, old, run)
    if parts is not None:
        run.totals = await exact_totals(state.ctx, parts)
    return await _activate(
        state, vertices, program.update_status(new, old, run), "update_status"
    )


def _messages(state: State) -> tuple[NDArray[np.int32], Array]:
    """Return the masters that are active or get a message, and the combined messages."""
    shard, program = state.shard, state.program
    arcs, weights = arcs_along(shard, state.direction, arriving=True)
    vertices = state.receivers()
    combined = np.full(vertices.size, identity(program.combiner, state.message), state.message)
    got = np.zeros(vertices.size, bool)
    for begin, end, room in _blocks(count_arcs(arcs, vertices)):
        block = vertices[begin:end]
        rows, sources, places = list_arcs(arcs, block, state.active, room)
        if rows.size:
            weight = weights[places].astype(np.float64) if weights.size else np.ones(rows.size)
            messages = program.compute_scatter(
                state(sources, state.shared),
                state(block[rows]),
                SimpleNamespace(weight=weight),
                state.run,
            )
            messages = state.checked(
                messages, rows.size, state.message, "compute_scatter", "messages"
            )
            combine(program.combiner, rows, messages, combined[begin:end])
            got[begin:end][rows] = True
    active = (state.active[vertices >> 6] >> (vertices & 63).astype(np.uint64)) & np.uint64(1)
    chosen = got | (active != 0)
    return vertices[chosen], combined[chosen]


def _blocks(counts: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """Cut vertices into blocks of about `BLOCK` edges: begin, end, edges.

    Examples
    --------
    >>> list(_blocks(np.array([BLOCK - 1, 3, 2])))
    [(0, 1, 1048575), (1, 3, 5)]
    """
    ends = np.cumsum(counts)
    begin, done = 0, 0
    while begin < counts.size:
        end = max(int(np.searchsorted(ends, done + BLOCK, side="right")), begin + 1)
        yield begin, end, int(ends[end - 1]) - done
        begin, done = end, int(ends[end - 1])


async def _activate(state: State, vertices: NDArray[np.int32], mask: Any, call: str) -> int:
    """Let the masked vertices be the active ones, here and on other slots; return how many."""
    ctx, shard = state.ctx, state.shard
    chosen = vertices[state.checked(mask, vertices.size, np.dtype(bool), call, "the mask")]
    going, _ = arcs_along(shard, state.direction, arriving=False)
    edges = int(count_arcs(going, chosen).sum())
    many = edges * FEW > going.sources.size + going.more_sources.size
    state.marks[:] = 0
    if not many:
        mark_receivers(going, chosen, state.marks)
    shared = [state.fields[name] for name in state.shared]
    work = None if many else edges
    proxies = await exchange_changes(
        ctx, shard, chosen, shared, state.marks, (chosen.size, many), work
    )
    awake, crowd = ctx.vote.tolist()
    state.everyone = crowd > 0
    state.active[:] = 0
    set_bits(state.active, chosen)
    set_bits(state.active, proxies)
    return int(awake)


async def _wake(state: State, everyone: NDArray[np.int32]) -> int:
    """Ask the program whether it goes on; return how many vertices are active then."""
    state.run.phase += 1
    mask = state.program.wake(state(everyone), state.run)
    return await _activate(state, everyone, False if mask is None else mask, "wake")


def _described(shard: Shard) -> SimpleNamespace:
    """Return what a program may know of the vertices at first."""
    return SimpleNamespace(
        id=shard.ids.to_pandas(),
        number=shard.order.copy(),
        rank=shard.rank[: shard.masters].copy(),
        out_degree=np.diff(shard.out.offsets),
        in_degree=np.diff(shard.into.offsets),
    )


def _listed(bits: NDArray[np.uint64]) -> NDArray[np.int32]:
    room = np.empty(64 * bits.size, np.int32)
    return room[: positions(bits, room)]


def _numpy_dtype(dtype: str, shard: Shard) -> np.dtype[Any]:
    if dtype in (VERTEX, NULLABLE_VERTEX):
        return number_dtype(shard.num_vertices)
    return np.dtype(dtype)


def columns_of(program: Any) -> dict[str, str]:
    names = program.fields if program.columns is None else program.columns
    return {name: program.fields[name] for name in names}


def _column(dtype: str, values: Array) -> Column:
    if dtype == VERTEX:
        return Orders(values)
    return NullableOrders(values) if dtype == NULLABLE_VERTEX else Plain(values)


@dataclass(frozen=True, slots=True)
class NullableOrders(Column):
    """A vertex for each master, by its order; -1 none."""

    orders: Array

    async def in_users_ids(self, ctx: Context, shard: Shard) -> Any:
        """Return user ids in their nullable form; two exchanges."""
        ids = await ids_of_orders(ctx, shard, np.maximum(self.orders, 0))
        return ids.to_nullable(self.orders < 0)

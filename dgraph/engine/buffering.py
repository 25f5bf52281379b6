"""The buffers of a run on one worker: how large they are at first, and what they may hold."""

from __future__ import annotations

from collections.abc import Mapping

from distributed.system import MEMORY_LIMIT

from dgraph.config import LEAST_CAP, BufferOptions
from dgraph.engine.spec import RunSpec
from dgraph.exchange.buffers import Plan
from dgraph.exchange.routing.choice import ALPHA, BETA
from dgraph.topology import CostModel

__all__ = ["find_cap", "make_plans"]

#: The part of a worker's memory that buffers may hold, if nothing else is said.
SHARE = 0.05

#: The level whose measured costs are those of a carrier.
_MEASURED = {"mpi": 1, "shm": 1, "unix": 1, "tcp": 2, "comm": 2}


def find_cap(options: BufferOptions, memory_limit: int | None) -> int:
    """Return the most bytes that all buffers of a worker may hold.

    Parameters
    ----------
    options : BufferOptions
    memory_limit : int or None
        Of the worker; None: what the machine has.

    Examples
    --------
    >>> find_cap(BufferOptions(), 4 << 30), find_cap(BufferOptions(cap=1 << 21), None)
    (214748364, 2097152)
    """
    if options.cap is not None:
        return options.cap
    return max(LEAST_CAP, int(SHARE * (memory_limit or MEMORY_LIMIT)))


def make_plans(
    spec: RunSpec, me: int, carriers: Mapping[int, str], cap: int
) -> dict[int, Plan]:
    """Return how the buffers for each other member behave.

    Parameters
    ----------
    spec : RunSpec
    me : int
    carriers : mapping of int to {"mpi", "shm", "unix", "tcp", "comm"}
        The other members, and what leads to them.
    cap : int
    """
    options = spec.options.buffers
    cost = spec.options.cost
    grows = options.mode == "dynamic" and spec.options.routing != "mst"
    model = None if cost is None else CostModel.of(cost, spec.topology)
    here = spec.members[me].slots[0]
    plans = {}
    for other, carrier in carriers.items():
        size = options.size
        level = int(spec.topology.level(here, spec.members[other].slots[0]))
        if size is None and model is not None:
            size = model.buffer_bytes(level)
        elif size is None:
            size = CostModel(ALPHA, BETA).buffer_bytes(_MEASURED[carrier])
        if carrier == "mpi":
            size = LEAST_CAP  # its messages are so long, see LARGEST
        plans[other] = Plan(min(size, cap), options.reserved, grows, level)
    return plans

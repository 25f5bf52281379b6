"""Which routing is the cheapest for a superstep, from figures that every slot shares.

The estimate is of the time that passes: the sum over the stages of what the most loaded slot
spends on the frames that it sends or receives, or the most loaded link above a domain on their
bytes, and of the latency of the farthest level, which passes once for all frames of a stage:
so a stage more over an expensive level costs what it does there. Where frames decide, of
routings that take little longer than the fastest the one with the least work for all links
together is taken: monitor sends as many bytes across as rail, but in fewer frames.

Messages are taken for spread evenly. Of M messages that meet on their way to N vertices,
N M / (N + M) are left. All slots come to the same choice, for the arithmetic is that of IEEE
754 without any function of a library.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dgraph.exchange.routing.ground import Ground
from dgraph.exchange.routing.links import Ends, Stage, stages
from dgraph.topology import CostModel

__all__ = ["HEAD", "Load", "cheapest", "estimate", "measured"]

#: Bytes of a frame without messages.
HEAD = 72

#: Seconds that a stage costs beside its frames: measured, between threads of a process.
STAGE = 3e-5

#: Seconds that a slot spends on a value that it hands to a gateway, or gets from one, on its
#: way back from a vertex, more than on one that goes straight: measured at scale 18. Of bits
#: this is more than the byte costs on most links. Messages to vertices take 30 ns more to be
#: merged; that is left out, for what has met need not be sent, nor applied, one by one. It
#: decides whether gateways are worth it, not which: what is one slot's work or all slots' is
#: then left to the links.
PICKED = 2e-9

#: Another routing has to be so much cheaper than direct.
GAIN = 0.9

#: A superstep in which frames decide, not bytes, may take so many times as long as over the
#: fastest routing if it is less work for the links. On 4 domains of 8 slots, the far level 100
#: times as expensive, SSSP sends 0.36 of the far frames of aml (scale 18), and 0.51 with 1.11;
#: with 1.15 PageRank takes 1.12 times as long as over the best routing (scale 12).
CLOSE = 1.12

#: Seconds per frame and per byte between threads of a process, over a Unix socket, and over
#: Dask's tcp comm between hosts.
ALPHA = (1e-6, 5e-6, 3.3e-4)
BETA = (1e-10, 1.25e-10, 1.25e-9)

#: Seconds per frame over a TCP socket between hosts; a level above is taken to cost twice as
#: much.
TCP = 3e-5


class Load(NamedTuple):
    """What a superstep has to carry.

    Parameters
    ----------
    messages : int
        Between slots, in all.
    width : float
        Bytes of each.
    vertices : int
        To how many vertices, in all; 0 if messages cannot be combined.
    always : bool
        Whether frames are sent on every link, for votes.
    """

    messages: int
    width: float
    vertices: int = 0
    always: bool = False


def measured(height: int) -> CostModel:
    """Return the costs of process, host and network as they were measured on one machine.

    Examples
    --------
    >>> measured(1).alpha
    (1e-06, 5e-06)
    """
    more = [2.0**k for k in range(1, max(height - 1, 1))]
    alpha = (*ALPHA[:-1], TCP, *(TCP * factor for factor in more))
    beta = BETA + tuple(BETA[-1] * factor for factor in more)
    return CostModel(alpha[: height + 1], beta[: height + 1])


@lru_cache(maxsize=1024)  # the next run asks the same
def cheapest(
    names: tuple[str, ...], backwards: bool | None, ground: Ground, cost: CostModel, load: Load
) -> str:
    """Return the name of the best routing; None: for a superstep that goes both ways.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> ground = Ground(Topology.from_fanouts([8, 4]))
    >>> far = CostModel((1e-6, 1e-2), (1e-10, 1e-8))
    >>> cheapest(("direct", "rail", "monitor"), False, ground, far, Load(100, 8, always=True))
    'monitor'
    """
    found = {name: _weigh(name, backwards, ground, cost, load) for name in names}
    most = GAIN * found.get("direct", (float("inf"), 0.0))[0]
    picked = PICKED if backwards else 0.0
    worth = {
        name: some
        for name, some in found.items()
        if _weigh(name, backwards, ground, cost, load, picked)[0] < most
    }
    if not worth:
        return "direct"
    fastest = min(worth, key=lambda name: worth[name][0])
    seconds = worth[fastest][0]
    empty = _weigh(fastest, backwards, ground, cost, load._replace(width=0.0))[0]
    if 2 * empty < seconds:
        return fastest
    close = [name for name, some in worth.items() if some[0] <= CLOSE * seconds]
    return min(close, key=lambda name: worth[name][1])


def estimate(name: str, backwards: bool, ground: Ground, cost: CostModel, load: Load) -> float:
    """Return the seconds that a superstep takes on the links.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> ground = Ground(Topology.from_fanouts([2, 2]))
    >>> cost = CostModel((1e-6, 1e-4), (0, 0))
    >>> [round(estimate(name, False, ground, cost, Load(100, 8, always=True)), 6)
    ...  for name in ("direct", "rail", "monitor")]
    [0.000231, 0.000161, 0.000192]
    """
    return _weigh(name, backwards, ground, cost, load)[0]


def _weigh(
    name: str,
    backwards: bool | None,
    ground: Ground,
    cost: CostModel,
    load: Load,
    picked: float = 0.0,
) -> tuple[float, float]:
    """Return the seconds that a superstep takes, and those of work for all links together."""
    seconds = work = 0.0
    for stage in stages(name, backwards, ground):
        if stage.sent.slot.size:
            busiest, whole = _weigh_stage(stage, ground, cost, load, picked)
            seconds += STAGE + busiest
            work += whole
    return seconds, work


def _weigh_stage(
    stage: Stage, ground: Ground, cost: CostModel, load: Load, picked: float
) -> tuple[float, float]:
    """Return what the most loaded slot or link spends in a stage, and what all links do."""
    most = work = waits = 0.0
    for ends in (stage.sent, stage.got):
        alpha, beta = np.array(cost.alpha)[ends.level], np.array(cost.beta)[ends.level]
        latency = np.array(cost.latency)[ends.level] if cost.latency else 0.0 * alpha
        messages, frames = _expected(ends, stage.share, ground.topology.slots, load)
        size = load.width * messages + HEAD * frames
        handling = ends.times * ((alpha - latency) * frames + beta * size + picked * messages)
        most = max(most, float(np.bincount(ends.slot, handling).max()))
        for level in range(1, ground.topology.height + 1):
            above = ends.level >= level
            if above.any():
                domain = ground.topology.domain_of(level - 1)[ends.slot[above]]
                passing = (cost.link[level] if cost.link else beta) * size * ends.times
                most = max(most, float(np.bincount(domain, passing[above]).max()))
        # a frame that is sent now and then makes a stage wait now and then
        waits = float((latency * frames).max())
        slowest = np.array(cost.slowest)[ends.level]
        work = float((ends.times * (alpha * frames + slowest * size)).sum())
    return most + waits, work


def _expected(ends: Ends, share: float, slots: int, load: Load) -> tuple[Any, Any]:
    """Return the messages and frames on each link."""
    messages = share * load.messages * ends.pairs / (slots * max(slots - 1, 1))
    if load.vertices:
        room = load.vertices * ends.kinds / slots
        merged = messages * room / (messages + room)
        messages = np.where(ends.pairs > ends.kinds, merged, messages)
    frames = np.ones(messages.size) if load.always else messages / (1 + messages)
    return messages, frames

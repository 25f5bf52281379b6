"""Which routing is the cheapest for a superstep, from figures that every slot shares.

The estimate is of the time that passes: the sum over the stages of what the most loaded slot
spends on the frames that it sends or receives, or the most loaded link above a domain on their
bytes, and of the latency of the farthest level, which passes once for all frames of a stage:
so a stage more over an expensive level costs what it does there. Where frames decide, of
routings that take little longer than the fastest the one with the least work for all links
together is taken: monitor sends as many bytes across as rail, but in fewer frames. Where bytes
decide it is the one with the fewest stages. What passes for all at once is neither: few frames
do not shorten it.

Some slots have more to say than others, and all that a domain says may pass one gateway. How
many times as much the fullest slot has, and the fullest domain of each level, is known of the
proxies (:mod:`dgraph.exchange.routing.uneven`); what slots handle is taken for spread like
these, and evenly over those to whom it goes.
Of k slots each sends M to N vertices, to each at most one. Where these meet,
N k M / (N + (k - 1) M) are left: M for one slot, never more than N. So
many are left of tosses at vertices of all degrees (of t tosses N t / (N + t)), of which each
slot makes as many as give M. On the emulated network PageRank's messages are met within 3 %.
Which vertices they are about takes 4 bytes each, or a bit for each that they could be about.
In a superstep that goes both ways each way has its own messages.

All slots come to the same choice, for the arithmetic is that of IEEE 754 without any function
of a library.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgraph.exchange.routing.ground import Ground
from dgraph.exchange.routing.links import stages
from dgraph.kernels import kernel
from dgraph.topology import CostModel

__all__ = ["HEAD", "Load", "cheapest", "estimate", "measured"]

#: Bytes of a frame without messages.
HEAD = 72

#: Bytes that say which vertex a message is about.
NUMBER = 4.0

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

#: Of routings that take at most so many times as long where bytes decide, that with the fewest
#: stages is taken: what gateways spend on merging is not reckoned with, and they do it one
#: after the other. On the emulated network tree, reckoned at 0.97 of rail, takes 1.3 times as
#: long.
ALIKE = 1.07

#: Seconds per frame and per byte between threads of a process, over a Unix socket, and over
#: Dask's tcp comm between hosts.
ALPHA = (1e-6, 5e-6, 3.3e-4)
BETA = (1e-10, 1.25e-10, 1.25e-9)

#: Seconds per frame over a TCP socket between hosts; a level above is taken to cost twice as
#: much.
TCP = 3e-5


class Flow(NamedTuple):
    """Messages that go one way.

    Parameters
    ----------
    messages : int
        Between slots, in all.
    width : float
        Bytes of each.
    places : int
        About how many pairs of a vertex and a slot there could be a message. Which of them
        there are goes along, beside the bytes of each; 0: nothing of that kind does.
    """

    messages: int
    width: float
    places: int = 0


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
    places : int
        See `Flow`.
    back : Flow
        What goes the other way, in a superstep that goes both ways.
    uneven : tuple of float
        See :func:`~dgraph.exchange.routing.uneven.uneven`; none: messages are spread evenly.
    """

    messages: int
    width: float
    vertices: int = 0
    always: bool = False
    places: int = 0
    back: Flow = Flow(0, 0.0)
    uneven: tuple[float, ...] = ()

    def without_bytes(self) -> Load:
        """Return as many messages that hold nothing."""
        return self._replace(width=0.0, places=0, back=Flow(self.back.messages, 0.0))


class _Weight(NamedTuple):
    """The seconds of a superstep, what of them is latency, and those of all links' work."""

    seconds: float
    latency: float
    work: float


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
    names: tuple[str, ...],
    backwards: bool | None,
    ground: Ground,
    cost: CostModel,
    load: Load,
    picked: float = PICKED,
) -> str:
    """Return the name of the best routing; None: for a superstep that goes both ways.

    What slots spend on a value because there are gateways is `picked`.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> ground = Ground(Topology.from_fanouts([8, 4]))
    >>> far = CostModel((1e-6, 1e-2), (1e-10, 1e-8))
    >>> cheapest(("direct", "rail", "monitor"), False, ground, far, Load(100, 8, always=True))
    'monitor'
    """
    found = {name: _weigh(name, backwards, ground, cost, load) for name in names}
    most = GAIN * found["direct"].seconds if "direct" in found else float("inf")
    picked = picked if backwards else 0.0
    worth = {
        name: some
        for name, some in found.items()
        if some.seconds < most
        and (not picked or _weigh(name, backwards, ground, cost, load, picked).seconds < most)
    }
    if not worth:
        return "direct"
    fastest = min(worth, key=lambda name: worth[name].seconds)
    seconds = worth[fastest].seconds
    empty = _weigh(fastest, backwards, ground, cost, load.without_bytes())
    if 2 * empty.seconds < seconds + empty.latency:
        alike = [name for name, some in worth.items() if some.seconds <= ALIKE * seconds]
        return min(alike, key=lambda name: (_moving(name, backwards, ground), worth[name]))
    close = [name for name, some in worth.items() if some.seconds <= CLOSE * seconds]
    return min(close, key=lambda name: worth[name].work)


def _moving(name: str, backwards: bool | None, ground: Ground) -> int:
    """Return how many stages there are in which something moves."""
    return sum(stage.sent.slot.size > 0 for stage in stages(name, backwards, ground))


def estimate(
    name: str, backwards: bool | None, ground: Ground, cost: CostModel, load: Load
) -> float:
    """Return the seconds that a superstep takes on the links; backwards None: of both ways.

    Examples
    --------
    >>> from dgraph.topology import Topology
    >>> ground = Ground(Topology.from_fanouts([2, 2]))
    >>> cost = CostModel((1e-6, 1e-4), (0, 0))
    >>> [round(estimate(name, False, ground, cost, Load(100, 8, always=True)), 6)
    ...  for name in ("direct", "rail", "monitor")]
    [0.000231, 0.000161, 0.000192]
    """
    return _weigh(name, backwards, ground, cost, load).seconds


def _weigh(
    name: str,
    backwards: bool | None,
    ground: Ground,
    cost: CostModel,
    load: Load,
    picked: float = 0.0,
) -> _Weight:
    """Return what a superstep costs over a routing."""
    (costs, links), domains = _costs_by_level(cost), _domains(ground)
    slots = ground.topology.slots
    pairs = slots * max(slots - 1, 1)
    # of each slot to each other one
    flows = [
        (flow.messages / pairs, float(flow.width), flow.places / pairs)
        for flow in (Flow(load.messages, load.width, load.places), load.back)
    ]
    most = np.array(load.uneven or (1.0,) * (ground.topology.height + 2))
    figures = *flows, load.vertices / slots, load.always, picked, most
    seconds = latency = work = 0.0
    for stage in stages(name, backwards, ground):
        if stage.sent.slot.size:
            sides = [
                _weigh_side(ends, *figures, costs, links, domains)
                for ends in (stage.sent, stage.got)
            ]
            # a frame that is sent now and then makes a stage wait now and then
            seconds += STAGE + max(most for most, _, _ in sides) + sides[1][1]
            latency += sides[1][1]
            work += sides[1][2]
    return _Weight(seconds, latency, work)


@lru_cache(maxsize=64)
def _costs_by_level(cost: CostModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return alpha, beta, latency and what is slower, by level; and what a byte costs on links.

    The latter by the level of its frame and by that of the link: if links have no costs of
    their own, what the frame's level costs.

    Examples
    --------
    >>> _costs_by_level(CostModel((0, 0), (1e-9, 2e-9)))[1].tolist()
    [[1e-09, 1e-09], [2e-09, 2e-09]]
    """
    none = (0.0,) * len(cost.alpha)
    costs = np.array([cost.alpha, cost.beta, cost.latency or none, cost.slowest], np.float64)
    links = np.array(cost.link) if cost.link else costs[1][:, None]
    return costs, np.ascontiguousarray(np.broadcast_to(links, (len(none),) * 2))


@lru_cache(maxsize=64)
def _domains(ground: Ground) -> NDArray[np.int64]:
    """Return for each level below the top and each slot its domain."""
    levels = range(ground.topology.height)
    rows = [ground.topology.domain_of(level) for level in levels]
    return np.array(rows, np.int64).reshape(-1, ground.topology.slots)


@kernel(nogil=False)
def _met(each, pairs, kinds, room):  # type: ignore[no-untyped-def]
    """Return how many messages are left of those of so many pairs of slots, to `kinds` slots.

    Examples
    --------
    >>> _met(10.0, 3, 3, 20.0), round(_met(10.0, 2, 1, 20.0), 9), _met(10.0, 2, 1, 0.0)
    (30.0, 13.333333333, 20.0)
    """
    if room <= 0.0 or pairs <= kinds:
        return each * pairs
    own = min(each, room)
    return room * pairs * own / (room + (pairs / kinds - 1.0) * own)


@kernel(nogil=False)
def _load_link(flow, pairs, kinds, room):  # type: ignore[no-untyped-def]
    """Return the messages of one way on a link, and their bytes.

    Examples
    --------
    >>> _load_link((10.0, 8.0, 0.0), 1, 1, 0.0), _load_link((10.0, 8.0, 160.0), 1, 1, 0.0)
    ((10.0, 80.0), (10.0, 100.0))
    """
    each, width, places = flow
    messages = _met(each, pairs, kinds, room)
    told = min(NUMBER * messages, _met(places, pairs, kinds, room) / 8.0)
    return messages, width * messages + told


@kernel(nogil=False)
def _carry(ends, i, ahead, back, room, always, most, least):  # type: ignore[no-untyped-def]
    """Return frames, messages and bytes of a link, where they are those of the fullest domain.

    Of that of the reach of the link, or a wider one.
    """
    _, _, _, pairs, kinds, reach, pairs_back, kinds_back, reach_back = ends
    more = most[max(reach[i], least)]
    one = ahead[0] * more, ahead[1], ahead[2] * more
    messages, size = _load_link(one, pairs[i], kinds[i], room)
    if pairs_back[i]:
        more = most[max(reach_back[i], least)]
        other = back[0] * more, back[1], back[2] * more
        some, size_back = _load_link(other, pairs_back[i], kinds_back[i], room)
        messages, size = messages + some, size + size_back
    frames = 1.0 if always else messages / (1.0 + messages)
    return frames, messages, size + HEAD * frames


@kernel(nogil=False)
def _weigh_side(  # type: ignore[no-untyped-def]
    ends, ahead, back, room, always, picked, most, costs, links, domains
):
    """Return what the most loaded slot or link spends, how long all wait, and all work.

    One superstep in which the choice took milliseconds would cost what it saves, so this is
    compiled.
    """
    spent, passing = np.zeros(domains.shape[1]), np.zeros(domains.shape)
    work = waits = 0.0
    slot, level, times = ends[0], ends[1], ends[2]
    for i in range(slot.size):
        alpha, beta, latency, slowest = costs[:, level[i]]
        frames, messages, size = _carry(ends, i, ahead, back, room, always, most, 0)
        handling = (alpha - latency) * frames + beta * size + picked * messages
        spent[slot[i]] += times[i] * handling
        # what many slots say is mostly about the vertices that all have, and meets: on links as
        # many bytes pass as if all slots were alike, or fewer
        frames, _, size = _carry(ends, i, ahead, back, room, always, most, most.size - 1)
        for above in range(level[i]):
            link = links[level[i], above + 1]
            passing[above, domains[above, slot[i]]] += link * size * times[i]
        waits = max(waits, latency * frames)
        work += times[i] * (alpha * frames + slowest * size)
    busiest = spent.max()
    if passing.size:
        busiest = max(busiest, passing.max())
    return busiest, waits, work

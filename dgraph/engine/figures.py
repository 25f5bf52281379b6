"""About how many messages a superstep to come will have: the same on all slots.

By these figures `auto` chooses its way. They are what all slots know alike: what a program says
of the superstep to come, or what was sent in the last of the same kind, which rides on the
votes::

    votes of the program, what is counted of the kind
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from dgraph.engine.network import ALIKE_EACH_TIME, AUTO, Network
from dgraph.exchange.routing.choice import NUMBER, Flow

__all__ = ["FADE", "VALUE", "Figures"]

Votes = NDArray[np.int64]

#: A superstep may have this part of the messages of the one before.
FADE = 4

#: Bytes of a value that is not known better.
VALUE = 8.0

#: Whether a kind of superstep goes the ways of its routing backwards; None: both at once.
_BACKWARDS = {"reduce": False, "multicast": True, "changes": None}

#: What is counted of a kind, if not just its messages.
_COUNTED = {"changes": ("marks", "news")}


class Figures:
    """What is known of the supersteps of one slot, and which way they go.

    Parameters
    ----------
    network : Network

    Attributes
    ----------
    most : bool
        Whether most masters will have news, should there have been none before.

    Examples
    --------
    >>> from dgraph.exchange.routing.ground import Ground
    >>> from dgraph.topology import Topology
    >>> figures = Figures(Network(Ground(Topology.from_fanouts([2, 2])), "auto"))
    >>> figures.about("reduce"), figures.learn("reduce", np.array([7, 100])).tolist()
    (4, [7])
    >>> figures.about("reduce")
    100
    """

    def __init__(self, network: Network) -> None:
        self.most = False
        self._network = network
        self._last: dict[str, int] = {}
        self._sent: tuple[int, ...] = ()

    def about(self, name: str) -> int:
        """Return about how many messages of a kind there will be, a few in any case.

        To take a longer way for nothing costs little, to send many frames straight costs much.
        """
        return max(self._last.get(name, 0), self._network.slots)

    def expect(self, name: str, messages: int) -> None:
        """Say about how many messages there will be next, which every slot has to say.

        Examples
        --------
        >>> from dgraph.exchange.routing.ground import Ground
        >>> from dgraph.topology import Topology
        >>> figures = Figures(Network(Ground(Topology.from_fanouts([2, 2])), "auto"))
        >>> figures.expect("reduce", 50)
        >>> figures.about("reduce")
        50
        """
        self._last[name] = messages

    def choose(
        self,
        kind: str,
        width: float,
        total: int,
        vertices: int,
        uneven: tuple[float, ...] = (),
    ) -> str:
        """Return the routing of a superstep.

        Parameters
        ----------
        kind : {"reduce", "multicast", "changes"}
        width : float
            Bytes of a value.
        total : int
            Proxies of all slots.
        vertices : int
        uneven : tuple of float
            How the proxies are spread: see :func:`~dgraph.exchange.routing.uneven.uneven`.
        """
        backwards = _BACKWARDS[kind]
        choose = partial(self._network.choose, uneven=uneven)
        if kind in ALIKE_EACH_TIME:
            return choose(kind, backwards, total, width, vertices)
        if kind == "reduce":
            return choose(kind, backwards, self.about(kind), NUMBER + width, vertices)
        unknown = self.most and "news" not in self._last
        news = Flow(total if unknown else self.about("news"), width, total)
        return choose(kind, backwards, self.about("marks"), 0.0, vertices, total, news)

    def counts(self, marks: int, news: int) -> None:
        """Say what the frames of a superstep that goes straight are about."""
        self._sent = marks, news

    def counted(self, messages: int) -> tuple[int, ...]:
        """Return what has been said of a superstep that goes straight, or its messages."""
        found, self._sent = self._sent or (messages,), ()
        return found

    def add_to(self, ballot: Votes, kind: str, *sent: int) -> Votes:
        """Return a vote with what this slot sends."""
        if self._network.routing != AUTO or kind in ALIKE_EACH_TIME:
            return ballot
        return np.append(ballot, np.array(sent, np.int64))

    def learn(self, kind: str, vote: Votes) -> Votes:
        """Take what all slots have sent out of a total, and return the rest."""
        if self._network.routing != AUTO or kind in ALIKE_EACH_TIME:
            return vote
        names = _COUNTED.get(kind, (kind,))
        for name, count in zip(names, vote[-len(names) :].tolist(), strict=True):
            self._last[name] = max(count, self.about(name) // FADE)
        return vote[: -len(names)]

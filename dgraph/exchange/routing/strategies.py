"""The strategies by name, and which of them go the ways of which backwards.

Messages to one vertex meet on their way (reduce). What a vertex has to say to many slots takes
the same ways backwards and parts where messages would meet (broadcast), so a value crosses to
a domain as rarely as messages do. Backwards aml is rail, rail is aml, and the others are
themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dgraph.exchange.routing.aml import Aml
from dgraph.exchange.routing.direct import Direct
from dgraph.exchange.routing.ground import Ground, Strategy
from dgraph.exchange.routing.monitor import Monitor
from dgraph.exchange.routing.mst import Mst
from dgraph.exchange.routing.multileader import MultiLeader
from dgraph.exchange.routing.rail import Rail
from dgraph.exchange.routing.tree import TreeRoute

__all__ = ["BACKWARDS", "STRATEGIES"]

STRATEGIES: dict[str, Callable[[Ground], Strategy]] = {
    "direct": Direct,
    "aml": Aml,
    "mst": Mst,
    "rail": Rail,
    "monitor": Monitor,
    "multileader": MultiLeader,
    "tree": TreeRoute,
}

#: What has the ways of each, backwards. What rail sends inside a group waits for the second
#: stage there, and so shares the frames of what has come from other groups.
BACKWARDS: dict[str, Callable[[Ground], Strategy]] = STRATEGIES | {
    "aml": Rail,
    "rail": partial(Aml, patient=True),
    "multileader": partial(MultiLeader, backwards=True),
}

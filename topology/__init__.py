r"""The communication hierarchy: which slots are near each other, and what distance costs.

A **slot** is one lane of computation, a leaf of the **domain tree**. A **domain** is all slots
below one switching point; its height is 0 if it holds slots only, else one more than the
greatest height below it. The **level** of two slots is the height of the lowest domain that
holds both::

    level 2                 network
                          /         \
    level 1          host a          host b
                    /      \            |
    level 0     process  process     process
                 / \       / \       / | \
    slots       0   1     2   3     4  5  6        level(0, 1) = 0
                                                   level(0, 2) = 1
                                                   level(0, 4) = 2

>>> tree = Topology.from_paths(["a/p", "a/p", "a/q", "a/q", "b", "b", "b"])
>>> tree.level(0, [1, 2, 4])
array([0, 1, 2])
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dgraph.topology.contention import contention, gini
from dgraph.topology.cost import CostModel, com_cost, pair_costs, theta
from dgraph.topology.groups import Groups
from dgraph.topology.host import host_key, whereabouts
from dgraph.topology.lattice import Crowd, Lattice
from dgraph.topology.machine import Machine, Traffic
from dgraph.topology.probed import Probe
from dgraph.topology.reading import Reading
from dgraph.topology.simulate import simulate
from dgraph.topology.tree import Topology

__all__ = [
    "CostModel",
    "Crowd",
    "Groups",
    "Lattice",
    "Machine",
    "Probe",
    "Reading",
    "Topology",
    "Traffic",
    "com_cost",
    "contention",
    "gini",
    "host_key",
    "pair_costs",
    "probe",
    "simulate",
    "theta",
    "whereabouts",
]


def probe(client: Any = None, **options: Any) -> Any:
    """Measure latency and rate of a cluster by level and transport.

    Takes the options of `dgraph.engine.probe.probe` and returns a `Probe`.
    """
    # The engine is above this layer, so it is named where it is used.
    return import_module("dgraph.engine.probe").probe(client, **options)

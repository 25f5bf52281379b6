"""How evenly traffic loads the links of the domain tree, and how long frames wait for them.

Every domain below the root has one link up and one down. What is sent in one stage comes to a
link at once and passes it one frame after the other, those of lower source slots first: a frame
waits for what is before it. Hops within the lowest domains use no link.

After Rhizomes, where contention is told as a histogram of the cycles for which channels refuse
a message.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgraph.distinct import distinct
from dgraph.topology.cost import CostModel
from dgraph.topology.machine import Machine, Traffic
from dgraph.topology.simulate import check_slots, machine_for, one_by_one
from dgraph.topology.tree import Topology

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["contention", "gini"]


def contention(
    topology: Topology,
    stages: Iterable[Traffic] | Traffic,
    machine: Machine | CostModel | str,
) -> DataFrame:
    """Return what passes each directed link in each stage.

    Parameters
    ----------
    topology : Topology
        Whose leaves are the slots of the traffic.
    stages : iterable of Traffic, or Traffic
        One after the other.
    machine : Machine, CostModel or str
        Of which only the seconds per byte of links count: a machine, the costs of frames and
        bytes, or the name of a preset of `Machine`.

    Returns
    -------
    pandas DataFrame
        A row for each stage and link, idle links too:

        - stage: int64, from 0 on
        - level: int64, from 1 on, of the domain to which the link leads up
        - domain: int64, the number of the domain below the link, among those of level - 1
        - direction: "up" or "down"
        - frames, bytes: int64, what passes
        - busy: float64, seconds in which something passes; simulated
        - waited: float64, seconds that frames stood in line, summed over them; simulated

    Raises
    ------
    OptionError
        If the machine has fewer levels than the topology, a slot is not in the topology, or a
        stage is no Traffic.

    Examples
    --------
    >>> tree = Topology.from_fanouts([2, 2])
    >>> machine = Machine((0, 0), (0, 0), (0, 0), (0, 0.5))
    >>> found = contention(tree, [Traffic.of([0, 1, 2], [2, 3, 3], [4, 2, 9])], machine)
    >>> found[["domain", "direction", "frames", "bytes", "busy", "waited"]].values.tolist()[:2]
    [[0, 'up', 2, 6, 3.0, 2.0], [0, 'down', 0, 0, 0.0, 0.0]]
    """
    import pandas as pd

    machine = machine_for(topology, machine)
    parts = [
        _load(topology, number, traffic, height, machine.link[height])
        for number, traffic in enumerate(one_by_one(stages))
        for height in range(1, topology.height + 1)
    ]
    names = ["stage", "level", "domain", "direction", "frames", "bytes", "busy", "waited"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=names)


def _load(
    topology: Topology, stage: int, traffic: Traffic, height: int, each: float
) -> DataFrame:
    """Return the rows of the links from the level below to this height."""
    import pandas as pd

    check_slots(topology, traffic)
    domain = topology.domain_of(height - 1)
    links = distinct(domain)
    climbs = (topology.level(traffic.source, traffic.target) >= height) & (traffic.frames > 0)
    order = np.lexsort((traffic.target[climbs], traffic.source[climbs]))
    ends = [side[climbs][order] for side in (traffic.source, traffic.target)]
    frames, size = (amount[climbs][order] for amount in (traffic.frames, traffic.bytes))
    rows = []
    for direction, slots in zip(("up", "down"), ends, strict=True):
        at = np.searchsorted(links, domain[slots])
        counts = [
            np.bincount(at, amount, minlength=len(links)).astype(np.int64)
            for amount in (frames, size)
        ]
        waited = _waited(at, frames, size * each, len(links))
        rows.append(
            pd.DataFrame(
                {
                    "stage": stage,
                    "level": height,
                    "domain": links,
                    "direction": direction,
                    "frames": counts[0],
                    "bytes": counts[1],
                    "busy": counts[1] * each,
                    "waited": waited,
                }
            )
        )
    return pd.concat(rows).sort_values("domain", kind="stable")


def _waited(
    link: NDArray[np.int64], frames: NDArray[np.int64], seconds: ArrayLike, links: int
) -> NDArray[np.float64]:
    """Return for how long the frames of each link wait, those of a pair being alike.

    Examples
    --------
    >>> _waited(np.array([0, 0]), np.array([1, 2]), np.array([5.0, 2.0]), 1)
    array([11.])
    """
    spent = np.asarray(seconds, np.float64)
    waited = np.zeros(links)
    for number in distinct(link).tolist():
        mine = link == number
        begins = np.cumsum(spent[mine]) - spent[mine]
        own = spent[mine] * (frames[mine] - 1) / 2  # of the same pair, one after the other
        waited[number] = (frames[mine] * begins + own).sum()
    return waited


def gini(values: ArrayLike) -> float:
    """Return how unequal values are: 0 all the same, towards 1 one has everything.

    Examples
    --------
    >>> gini([3, 3, 3]), round(gini([0, 0, 1]), 3)
    (0.0, 0.667)
    """
    ordered = np.sort(np.asarray(values, np.float64))
    total, n = ordered.sum(), ordered.size
    weights = 2 * np.arange(1, n + 1) - n - 1
    return float((weights * ordered).sum() / (n * total)) if total else 0.0

"""What each device caches: Legion's way, and those of the systems that it is compared with.

.. list-table::

    * - legion
      - a part of the graph for each clique, whose devices share out what is hot, rows and
        features
    * - topo_cpu
      - the same with features only
    * - topo_gpu
      - the same, but all rows on every device, if they fit
    * - quiver_plus
      - no partition; hot vertices dealt round a clique, the same in every clique
    * - gnnlab
      - no partition; the same hot vertices on every device, no links
    * - pagraph_plus
      - a part of the graph for each device, which caches what is hot there, no links
    * - pagraph
      - the same, but of what its training vertices can reach, by in-degree
    * - none
      - nothing

All know what is hot from the pre-sampling; what the names stand for is simplified to that. All
but the first three cache features only, unless told how much is for rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.arguments import choice, integer, number
from dgraph.errors import OptionError
from dgraph.gnn.cache import CachePlan, feature_bytes, plan_cache, row_bytes
from dgraph.gnn.candidates import POLICIES, hottest, settle
from dgraph.gnn.hotness import Hotness
from dgraph.gnn.tablets import as_cliques

__all__ = ["LAYOUTS", "Held", "Room", "lay_out"]

Array = NDArray[Any]
Flags = NDArray[np.bool_]
Cliques = Sequence[Sequence[int]]

LAYOUTS = (
    "legion", "topo_cpu", "topo_gpu", "quiver_plus", "gnnlab", "pagraph_plus", "pagraph", "none"
)  # fmt: skip


@dataclass(frozen=True)
class Room:
    """What each device has for its cache.

    Parameters
    ----------
    budget : int
        Bytes of a device; 0: no cache.
    dimension : int
        Features of a vertex, float32.
    alpha : float, optional
        The part of the budget that is for rows. Default: planned by Legion, none elsewhere.
    policy : {"local", "interleave"}
        See `dgraph.gnn.candidates`.
    """

    budget: int
    dimension: int
    alpha: float | None = None
    policy: str = "local"

    def __post_init__(self) -> None:
        """Check all of it."""
        integer("budget", self.budget, 0)
        integer("dimension", self.dimension, 1)
        choice("policy", self.policy, POLICIES)
        if self.alpha is not None:
            number("alpha", self.alpha, 0, 1, also=" or None")


@dataclass(frozen=True, eq=False)
class Held:
    """What the devices hold.

    Parameters
    ----------
    rows, features : bool arrays of shape (devices, vertices)
    linked : bool
        Whether devices read from the others of their clique.
    plans : tuple of CachePlan
        Of the cliques, where there are any.
    """

    rows: Flags
    features: Flags
    linked: bool
    plans: tuple[CachePlan, ...] = ()

    def near(self, cliques: Cliques) -> Flags:
        """Return whose features each device finds in caches, its own or its clique's.

        Parameters
        ----------
        cliques : list of lists of devices

        Returns
        -------
        bool array of shape (devices, vertices)
            Such as a `dgraph.gnn.FeatureCache` of the device is to hold.

        Examples
        --------
        >>> own = np.array([[True, False], [False, True]])
        >>> Held(own, own, linked=True).near([[0, 1]]).tolist()
        [[True, True], [True, True]]
        """
        found = self.features.copy()
        for clique in cliques if self.linked else ():
            found[list(clique)] = self.features[list(clique)].any(axis=0)
        return found


def lay_out(
    name: str, hot: Hotness, cliques: Cliques, room: Room, reachable: Array | None = None
) -> Held | None:
    """Fill the caches of all devices.

    Parameters
    ----------
    name : str
        One of LAYOUTS.
    hot : Hotness
        Of the batches that the layout would train with.
    cliques : list of lists of devices
    room : Room
    reachable : bool array of shape (devices, vertices), optional
        What each device's training vertices can reach; for "pagraph".

    Returns
    -------
    Held, or None if it does not fit

    Examples
    --------
    >>> import pandas as pd
    >>> heat = np.array([[5, 1, 0, 3], [2, 4, 0, 3]])
    >>> hot = Hotness(pd.Series(range(4)), np.ones(4, int), heat, heat, heat)
    >>> room = Room(budget=128, dimension=16, alpha=0.0)
    >>> lay_out("legion", hot, [[0, 1]], room).features.astype(int).tolist()
    [[1, 0, 0, 1], [0, 1, 1, 0]]
    >>> lay_out("gnnlab", hot, [[0, 1]], room).features.astype(int).tolist()
    [[1, 0, 0, 1], [1, 0, 0, 1]]
    """
    choice("layouts", name, LAYOUTS)
    fit(cliques, hot.devices)
    if name in ("legion", "topo_cpu"):
        alpha = 0.0 if name == "topo_cpu" else room.alpha
        return _shared_out(hot, cliques, room, alpha)
    if name == "topo_gpu":
        return _all_rows(hot, cliques, room)
    heat_t, heat_f, linked = hot.topology, hot.features, False
    if name == "pagraph":
        heat_t = heat_f = np.where(
            _all(hot) if reachable is None else reachable, hot.neighbours, -1
        )
    elif name in ("gnnlab", "quiver_plus"):
        heat_t = np.broadcast_to(heat_t.sum(axis=0), heat_t.shape)
        heat_f = np.broadcast_to(heat_f.sum(axis=0), heat_f.shape)
        linked = name == "quiver_plus"
    for_rows = int((room.alpha or 0.0) * room.budget) if name != "none" else 0
    for_features = room.budget - for_rows if name != "none" else 0
    sizes = np.full(hot.neighbours.size, feature_bytes(room.dimension))
    groups = cliques if linked else [[device] for device in range(hot.devices)]
    rows = _dealt(heat_t, row_bytes(hot.neighbours), for_rows, groups)
    return Held(rows, _dealt(heat_f, sizes, for_features, groups), linked)


def fit(cliques: Cliques, devices: int) -> None:
    """Check that cliques are those of the devices that were counted.

    Examples
    --------
    >>> fit([[0, 1]], 3)
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionError: cliques must be of the 3 devices for which there are counts, \
not of 2; use those with which the tablets were made
    """
    if (named := sum(map(len, as_cliques(cliques)))) != devices:
        raise OptionError(
            f"cliques must be of the {devices} devices for which there are counts, not of "
            f"{named}; use those with which the tablets were made"
        )


def _all(hot: Hotness) -> Flags:
    return np.ones(hot.features.shape, np.bool_)


def _dealt(heat: Array, size: Array, room: int, groups: Cliques) -> Flags:
    """Deal the hottest vertices of each group round its devices."""
    held = np.zeros(heat.shape, np.bool_)
    for group in groups:
        some = heat[list(group)]
        queue = hottest(some.sum(axis=0))
        queue = queue[some.sum(axis=0)[queue] >= 0]
        where = settle(some, queue, size, np.full(len(group), room), "interleave")
        held[np.array(group)[where[where >= 0]], np.flatnonzero(where >= 0)] = True
    return held


def _shared_out(hot: Hotness, cliques: Cliques, room: Room, alpha: float | None) -> Held:
    """Plan the cache of each clique, and put what it holds where it is read most."""
    rows, features = np.zeros((2, *hot.features.shape), np.bool_)
    sizes = (
        row_bytes(hot.neighbours),
        np.full_like(hot.neighbours, feature_bytes(room.dimension)),
    )
    plans = []
    for clique in cliques:
        own = hot.of(clique)
        plan = plan_cache(
            own.topology.sum(axis=0),
            own.features.sum(axis=0),
            own.neighbours,
            dimension=room.dimension,
            transactions=int(own.transactions.sum()),
            budget=room.budget * len(clique),
            alpha=alpha,
        )
        plans.append(plan)
        for_rows = int(np.floor(plan.alpha * room.budget + 1e-9))
        shares = (own.topology, plan.rows, for_rows), (
            own.features, plan.features, room.budget - for_rows
        )  # fmt: skip
        for held, size, (heat, queue, share) in zip(
            (rows, features), sizes, shares, strict=True
        ):
            where = settle(heat, queue, size, np.full(len(clique), share), room.policy)
            cached = np.flatnonzero(where >= 0)
            held[np.array(clique)[where[cached]], cached] = True
    return Held(rows, features, True, tuple(plans))


def _all_rows(hot: Hotness, cliques: Cliques, room: Room) -> Held | None:
    """Put all rows on every device, and share out features in what is left."""
    left = room.budget - int(row_bytes(hot.neighbours).sum())
    if left < 0:
        return None
    rest = Room(left, room.dimension, 0.0, room.policy)
    held = _shared_out(hot, cliques, rest, 0.0)
    return Held(_all(hot), held.features, True)

"""What caches gain: hits, and what has to be read from the feature store, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dgraph.arguments import choice, integer
from dgraph.errors import OptionError, RoomWarning
from dgraph.gnn.cache import feature_bytes, row_bytes
from dgraph.gnn.hotness import LINE, Hotness, presample
from dgraph.gnn.layouts import LAYOUTS, Held, Room, fit, lay_out
from dgraph.gnn.sampling import BATCH_SIZE, FANOUTS, as_fanouts
from dgraph.gnn.tablets import Tablets, as_cliques, make_tablets
from dgraph.graph import Graph, check_graph, home_of
from dgraph.topology import Topology
from dgraph.warn import warn

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["PARTED", "Trial", "compare", "hit_rates", "measured", "predict", "traffic"]

Array = NDArray[Any]
Cliques = Sequence[Sequence[int]]

#: With which batches each layout trains: of cliques' parts, of devices' parts, of no parts.
PARTED = {
    "quiver_plus": "global",
    "gnnlab": "global",
    "pagraph_plus": "devices",
    "pagraph": "devices",
}


def hit_rates(held: Held, hot: Hotness, cliques: Cliques) -> NDArray[np.float64]:
    """Return, for each device, of all features that it reads the part that caches have.

    Examples
    --------
    >>> import pandas as pd
    >>> heat = np.array([[5, 1, 0, 3], [2, 4, 0, 3]])
    >>> hot = Hotness(pd.Series(range(4)), np.ones(4, int), heat, heat, heat)
    >>> own = np.array([[1, 0, 0, 1], [0, 1, 0, 0]], bool)
    >>> hit_rates(Held(own, own, linked=False), hot, [[0, 1]]).round(2).tolist()
    [0.89, 0.44]
    >>> hit_rates(Held(own, own, linked=True), hot, [[0, 1]]).tolist()
    [1.0, 1.0]
    """
    fit(cliques, hot.devices)
    read = hot.features.sum(axis=1)
    found = np.where(held.near(cliques), hot.features, 0).sum(axis=1)
    rates: NDArray[np.float64] = found / np.maximum(read, 1)
    return rates


def traffic(held: Held, hot: Hotness, cliques: Cliques, dimension: int) -> NDArray[np.int64]:
    """Return how many cache lines each device reads from each device, and from the host.

    Returns
    -------
    int64 array of shape (devices, devices + 1)
        The last column is the host: the feature store.

    Examples
    --------
    >>> import pandas as pd
    >>> heat = np.array([[5, 1, 0, 3], [2, 4, 0, 3]])
    >>> hot = Hotness(pd.Series(range(4)), np.ones(4, int), heat, heat, 0 * heat)
    >>> own = np.array([[1, 0, 0, 0], [0, 1, 0, 0]], bool)
    >>> traffic(Held(own, own, linked=True), hot, [[0, 1]], dimension=16).tolist()
    [[5, 1, 3], [2, 4, 3]]
    """
    fit(cliques, hot.devices)
    lines = np.zeros((hot.devices, hot.devices + 1), np.int64)
    each = -(-feature_bytes(dimension) // LINE)
    for flags, counts in ((held.rows, hot.transactions), (held.features, each * hot.features)):
        source = _sources(flags, held.linked, cliques)
        for device in range(hot.devices):
            np.add.at(lines[device], source[device], counts[device])
    return lines


def _sources(flags: Array, linked: bool, cliques: Cliques) -> NDArray[np.int64]:
    """Return whence each device reads each vertex: itself, its clique, else the host."""
    devices = len(flags)
    source = np.full(flags.shape, devices, np.int64)
    for clique in cliques if linked else ():
        for device in sorted(clique, reverse=True):
            source[np.ix_(np.array(clique), np.flatnonzero(flags[device]))] = device
    for device in range(devices):
        source[device, flags[device]] = device
    return source


def predict(
    hot: Hotness, later: Hotness, cliques: Cliques, room: Room, alphas: Sequence[float]
) -> DataFrame:
    """Set what the plan of Legion's cache says beside what another epoch counts.

    Parameters
    ----------
    hot, later : Hotness
        Of the epoch by which the cache is filled, and of the one that is counted.
    cliques : list of lists of devices
    room : Room
    alphas : sequence of float

    Returns
    -------
    pandas DataFrame
        alpha; predicted and counted: cache lines read from the host.
    """
    import pandas as pd

    rows = []
    for alpha in alphas:
        fixed = Room(room.budget, room.dimension, alpha, room.policy)
        held = lay_out("legion", hot, cliques, fixed)
        assert held is not None
        counted = int(traffic(held, later, cliques, room.dimension)[:, -1].sum())
        rows.append((alpha, sum(plan.transactions for plan in held.plans), counted))
    return pd.DataFrame(rows, columns=["alpha", "predicted", "counted"])


@dataclass(frozen=True, eq=False)
class Trial:
    """What is trained: the hotness of two epochs of each way to part the graph."""

    g: Graph
    training: Any
    cliques: Cliques
    placement: Any
    fanouts: Sequence[int]
    batch_size: int
    seed: int
    _tablets: dict[str, Tablets] = field(default_factory=dict)
    _epochs: dict[tuple[str, int], Hotness] = field(default_factory=dict)
    _reached: list[Array] = field(default_factory=list)

    def tablets(self, how: str) -> Tablets:
        """Return the tablets of cliques' parts, or of devices'."""
        if how not in self._tablets:
            alone = [[device] for device in range(sum(map(len, self.cliques)))]
            cliques = alone if how == "devices" else self.cliques
            self._tablets[how] = make_tablets(
                self.g, self.training, cliques, placement=self.placement
            )
        return self._tablets[how]

    def batches(self, how: str, number: int) -> list[list[Array]]:
        """Return the batches of an epoch, by device."""
        shuffle = "global" if how == "global" else "local"
        tablets = self.tablets("cliques" if how == "global" else how)
        return tablets.batches(self.batch_size, epoch=number, seed=self.seed, shuffle=shuffle)

    def held(self, name: str, room: Room) -> Held | None:
        """Return a layout that is filled by the first epoch; None if it does not fit."""
        how = PARTED.get(name, "cliques")
        reachable = self.reachable() if name == "pagraph" else None
        return lay_out(name, self.epoch(how, 0), self.cliques, room, reachable)

    def epoch(self, how: str, number: int) -> Hotness:
        """Return what an epoch reads; "global": batches of all training vertices together."""
        if (how, number) not in self._epochs:
            self._epochs[how, number] = presample(
                self.g, self.batches(how, number), self.fanouts, seed=self.seed + number
            )
        return self._epochs[how, number]

    def reachable(self) -> Array:
        """Return what the training vertices of each device can reach in as many hops."""
        if not self._reached:
            whole = [[some] if len(some) else [] for some in self.tablets("devices").of_device]
            hot = presample(self.g, whole, [-1] * len(self.fanouts))
            self._reached.append(hot.features > 0)
        return self._reached[0]


def compare(
    g: Graph,
    training: Any,
    cliques: Topology | Cliques | None = None,
    *,
    budget: int,
    dimension: int = 100,
    fanouts: Sequence[int] = FANOUTS,
    batch_size: int = BATCH_SIZE,
    layouts: Sequence[str] = LAYOUTS,
    alpha: float | None = None,
    policy: str = "local",
    placement: Any = "hierarchy",
    seed: int = 0,
) -> DataFrame:
    """Set Legion's cache beside those of other systems: one epoch fills, the next is counted.

    Parameters
    ----------
    g : Graph
    training, cliques, placement
        As in `dgraph.gnn.make_tablets`.
    budget : int
        Bytes of each device's cache.
    dimension : int
        Features of a vertex, float32.
    fanouts, batch_size, seed
        As in `dgraph.gnn.sample_neighbors`.
    layouts : sequence of str
        See `dgraph.gnn.layouts`.
    alpha : float, optional
        The part of each cache that is for topology. Default: Legion plans its own, others
        cache features only.
    policy : {"local", "interleave"}
        See `dgraph.gnn.candidates`.

    Returns
    -------
    pandas DataFrame
        A row per layout: layout; hit_rate of features, mean over the devices; spread, its
        largest minus its least; alpha, the mean over the cliques; transactions: cache lines
        read from the host; relative: of those without a cache, of the same batches; busiest:
        most that one device reads from there. Not a number where a layout does not fit.

    Warns
    -----
    RoomWarning
        If "topo_gpu" does not fit; says how much it needs.

    Examples
    --------
    >>> import dgraph as dg
    >>> with dg.from_edges(dg.generate.grid(12, 12)) as g:
    ...     table = compare(g, range(0, 144, 2), [[0, 1], [2, 3]], budget=4000, dimension=16,
    ...                     fanouts=[4, 4], batch_size=8, layouts=["legion", "none"])
    >>> (table["relative"] < 0.6).tolist()
    [True, False]
    """
    import pandas as pd

    check_graph(g)
    for name in layouts:
        choice("layouts", name, LAYOUTS)
    room = Room(integer("budget", budget, 0), integer("dimension", dimension, 1), alpha, policy)
    if home_of(g).client.asynchronous:
        raise OptionError(
            "g must be a graph of a client that waits, not of an asynchronous one; await "
            "presample instead"
        )
    groups = as_cliques(g.topology if cliques is None else cliques)
    trial = Trial(g, training, groups, placement, as_fanouts(fanouts), batch_size, seed)
    rows = [measured(name, trial, room) for name in layouts]
    for name in (row["layout"] for row in rows if np.isnan(row["hit_rate"])):
        needed = int(row_bytes(trial.epoch("cliques", 0).neighbours).sum())
        warn(
            f"layout {name!r} does not fit and has no figures: all rows take {needed:,} bytes "
            f"on every device, more than budget={room.budget}; raise it, or leave that out",
            RoomWarning,
        )
    return pd.DataFrame(rows)


def measured(name: str, trial: Trial, room: Room) -> dict[str, Any]:
    """Return a row of what `compare` returns."""
    how, cliques = PARTED.get(name, "cliques"), trial.cliques
    hot, later = trial.epoch(how, 0), trial.epoch(how, 1)
    held = trial.held(name, room)
    names = ("hit_rate", "spread", "alpha", "transactions", "relative", "busiest")
    if held is None:
        return {"layout": name} | dict.fromkeys(names, np.nan)
    rates = hit_rates(held, later, cliques)
    host = traffic(held, later, cliques, room.dimension)[:, -1]
    nothing = lay_out("none", hot, cliques, room)
    assert nothing is not None
    without = traffic(nothing, later, cliques, room.dimension)[:, -1].sum()
    planned = [plan.alpha for plan in held.plans]
    figures = (
        rates.mean(),
        rates.max() - rates.min(),
        float(np.mean(planned)) if planned else room.alpha or 0.0,
        int(host.sum()),
        host.sum() / max(without, 1),
        int(host.max()),
    )
    return {"layout": name} | dict(zip(names, figures, strict=True))

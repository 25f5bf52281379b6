"""The figures of Legion: each a function from what was asked for to tables.

Hits and transactions are counted: one epoch fills the caches, the next one is counted. Epochs
are timed: the graph and the features of all vertices lie in a worker process, the feature
store, and this process is the device that trains. It holds what the layout has planned for it
and for its clique, and asks the worker for the rest. Nothing is trained.
"""

from __future__ import annotations

import statistics
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from distributed import Client, Future, LocalCluster
from numpy.typing import NDArray

import dgraph as dg
from benchmarks import command
from benchmarks.command import Workbench
from benchmarks.hierarchy.tables import Plot, Table
from benchmarks.placement.inputs import grid, kronecker
from dgraph.gnn.measuring import PARTED, Trial, measured
from dgraph.graph import home_of

__all__ = ["FIGURES", "Bench", "Settings"]

#: Two pairs of linked devices.
CLIQUES = ((0, 1), (2, 3))

#: A device's cache: as many bytes as the features of this part of all vertices.
CACHES = (0.0125, 0.05, 0.1)

#: Of which caches the paper has the traffic matrix, and the spread of hit rates.
MATRIX, SPREAD = 0.025, 0.05

#: The part of the vertices that is trained, and neighbours that are drawn.
TRAINED, FANOUTS = 0.1, (25, 10)

#: Whether the feature store is another process, so that what it sends really crosses.
APART = True

ALPHAS = tuple(part / 10 for part in range(11))

Array = NDArray[Any]


@dataclass(frozen=True)
class Settings(command.Settings):
    """What the command line says.

    Parameters
    ----------
    dimension : int
        Features of a vertex.
    batch_size : int
        Seeds of a batch.
    """

    scale: int = 13
    dimension: int = 100
    batch_size: int = 128


class Bench(Workbench[Settings]):
    """What figures share."""

    @cached_property
    def client(self) -> Client:
        """A client of one worker process, the feature store."""
        cluster = LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=APART,
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
        )
        self.stack.enter_context(cluster)
        client: Client = self.stack.enter_context(Client(cluster, set_as_default=False))
        return client

    @cached_property
    def trials(self) -> dict[str, Trial]:
        """Both graphs, with their training vertices and epochs."""
        self.say("a worker process for the graphs")
        edges = {
            "kronecker": kronecker(self.settings.scale),
            "grid": grid(1 << (self.settings.scale // 2)),
        }
        return {name: self._trial(some) for name, some in edges.items()}

    def _trial(self, edges: pd.DataFrame) -> Trial:
        g = self.stack.enter_context(dg.from_edges(edges, client=self.client))
        every = vertices(g)
        size = max(int(TRAINED * len(every)), 8)
        training = np.random.default_rng(1).choice(every, size, replace=False)
        batch_size = self.settings.batch_size
        return Trial(g, training, CLIQUES, "hierarchy", FANOUTS, batch_size, 0)

    def room(self, trial: Trial, part: float, alpha: float | None = None) -> dg.gnn.Room:
        """Return the cache that has room for the features of this part of all vertices."""
        features = int(part * trial.g.num_vertices)
        return dg.gnn.Room(
            4 * self.settings.dimension * features, self.settings.dimension, alpha
        )


def vertices(g: dg.Graph) -> Array:
    """Return all vertices, ascending."""
    frame = home_of(g).client.compute(g.vertices(), sync=True)
    return np.sort(frame["vertex"].to_numpy())


class Store:
    """The features of all vertices, in a worker; says how long it was waited for."""

    def __init__(self, client: Client, every: Array, dimension: int) -> None:
        self._client = client
        self._table: Future[Any] = client.submit(_make, every, dimension, pure=False)
        self._lock = threading.Lock()
        self.seconds = 0.0

    def __call__(self, wanted: Array) -> Array:
        """Fetch the features of vertices."""
        began = perf_counter()
        found: Array = self._client.submit(_take, self._table, wanted, pure=False).result()
        with self._lock:
            self.seconds += perf_counter() - began
        return found


def _make(every: Array, dimension: int) -> pd.DataFrame:
    values = np.random.default_rng(2).random((len(every), dimension), np.float32)
    return pd.DataFrame(values, index=every)


def _take(table: pd.DataFrame, wanted: Array) -> Array:
    found: Array = table.to_numpy()[table.index.get_indexer(pd.Index(wanted))]
    return found


@dataclass
class Timed:
    """A device with its cache, and what its epochs have taken."""

    seeds: Array
    cache: dg.gnn.FeatureCache
    seconds: list[float] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)

    def epoch(self, trial: Trial, store: Store, turn: int) -> None:
        """Iterate over the batches of an epoch."""
        loader = dg.gnn.NeighborLoader(
            trial.g,
            self.seeds,
            trial.fanouts,
            features=self.cache,
            batch_size=trial.batch_size,
            seed=1 + turn,
        )
        before, began = store.seconds, perf_counter()
        for _ in loader:
            pass
        self.seconds.append(perf_counter() - began)
        self.waited.append(store.seconds - before)


def layouts(bench: Bench) -> Iterator[Table]:
    """Count hits and transactions, and time epochs, of all layouts and caches."""
    for graph, trial in bench.trials.items():
        rows: list[dict[str, Any]] = []
        timed: dict[int, Timed] = {}
        store = Store(bench.client, vertices(trial.g), bench.settings.dimension)
        for part in CACHES:
            room = bench.room(trial, part)
            bench.say(f"{graph}: caches of {part:.2%}, all layouts")
            for name in dg.gnn.LAYOUTS:
                row = {"cache": f"{part:.2%}"} | measured(name, trial, room)
                if row["hit_rate"] == row["hit_rate"]:
                    timed[len(rows)] = _device(trial, name, room, store)
                rows.append({key: _plain(value) for key, value in row.items()})
        for turn in range(bench.settings.turns):
            bench.say(
                f"{graph}: epochs of all layouts, turn {turn + 1} of {bench.settings.turns}"
            )
            for some in timed.values():
                some.epoch(trial, store, turn)
        for at, some in timed.items():
            rows[at]["epoch_s"] = statistics.median(some.seconds)
            rows[at]["store_s"] = statistics.median(some.waited)
        yield Table(
            f"gnn_{graph}",
            f"{graph}, {trial.g.num_vertices:,} vertices: layouts and caches",
            rows,
            [
                "cache: of a device, as features of a part of all vertices; relative: to no "
                "cache; busiest: lines from",
                "the feature store to one device; epoch_s: of that device, median of "
                f"{bench.settings.turns} turns; store_s: waited for the store",
                "in it, in threads beside the sampler; -: all rows of the graph do not fit",
            ],
            Plot("layout", "relative", "cache"),
        )


def _device(trial: Trial, name: str, room: dg.gnn.Room, store: Store) -> Timed:
    """Return the device that reads most from the feature store, with its cache."""
    how = PARTED.get(name, "cliques")
    held, later = trial.held(name, room), trial.epoch(how, 1)
    assert held is not None
    lines = dg.gnn.traffic(held, later, trial.cliques, room.dimension)
    device = int(np.argmax(lines[:, -1]))
    near = held.near(trial.cliques)[device]
    seeds = np.concatenate(trial.batches(how, 1)[device])
    return Timed(seeds, dg.gnn.FeatureCache(store, later.vertices[near]))


def _plain(value: Any) -> Any:
    """Return a figure as tables show it; what is no number is missing."""
    if isinstance(value, float | np.floating):
        return float(value) if value == value else None
    return value


def devices(bench: Bench) -> Iterator[Table]:
    """Show the hit rate of each device."""
    for graph, trial in bench.trials.items():
        rows = []
        for name in dg.gnn.LAYOUTS[:-1]:
            held = trial.held(name, bench.room(trial, SPREAD))
            if held is not None:
                later = trial.epoch(PARTED.get(name, "cliques"), 1)
                rates = dg.gnn.hit_rates(held, later, trial.cliques).tolist()
                row: dict[str, Any] = {f"device {at}": rate for at, rate in enumerate(rates)}
                rows.append({"layout": name} | row | {"spread": max(rates) - min(rates)})
        title = f"{graph}: hit rates of devices, caches of {SPREAD:.1%}"
        yield Table(f"gnn_devices_{graph}", title, rows)


def matrix(bench: Bench) -> Iterator[Table]:
    """Show who reads how many cache lines from whom."""
    for graph, trial in bench.trials.items():
        rows = []
        for name in ("legion", "quiver_plus", "gnnlab", "pagraph_plus"):
            room = bench.room(trial, MATRIX)
            held, later = trial.held(name, room), trial.epoch(PARTED.get(name, "cliques"), 1)
            assert held is not None
            lines = dg.gnn.traffic(held, later, trial.cliques, room.dimension)
            for device, row in enumerate(lines.tolist()):
                names = [*(f"from {other}" for other in range(len(lines))), "from host"]
                rows.append(
                    {"layout": name, "device": device} | dict(zip(names, row, strict=True))
                )
        title = f"{graph}: cache lines that devices read, caches of {MATRIX:.1%}"
        notes = ["the largest entry of the host's column decides how long an epoch reads"]
        yield Table(f"gnn_matrix_{graph}", title, rows, notes)


def alphas(bench: Bench) -> Iterator[Table]:
    """Show what Legion's plan predicts beside what the next epoch counts."""
    for graph, trial in bench.trials.items():
        room = bench.room(trial, SPREAD)
        epochs = trial.epoch("cliques", 0), trial.epoch("cliques", 1)
        found: Any = dg.gnn.predict(*epochs, trial.cliques, room, ALPHAS).to_dict("records")
        title = (
            f"{graph}: lines from the feature store by the part for rows, "
            f"caches of {SPREAD:.1%}"
        )
        for row in found:
            row["counted/predicted"] = row["counted"] / max(row["predicted"], 1)
        plot = Plot("alpha", "counted")
        yield Table(f"gnn_alpha_{graph}", title, found, plot=plot)


def shuffles(bench: Bench) -> Iterator[Table]:
    """Hold batches of devices' own tablets beside those of all training vertices together."""
    rows = []
    for graph, trial in bench.trials.items():
        room = bench.room(trial, SPREAD)
        for shuffle, how in (("local", "cliques"), ("global", "global")):
            held = dg.gnn.lay_out("legion", trial.epoch(how, 0), trial.cliques, room)
            assert held is not None
            later = trial.epoch(how, 1)
            rates = dg.gnn.hit_rates(held, later, trial.cliques)
            lines = dg.gnn.traffic(held, later, trial.cliques, room.dimension)[:, -1]
            rows.append(
                {
                    "graph": graph,
                    "shuffle": shuffle,
                    "hit_rate": float(rates.mean()),
                    "transactions": int(lines.sum()),
                    "busiest": int(lines.max()),
                }
            )
    yield Table("gnn_shuffle", f"Legion's cache by shuffle, {SPREAD:.1%}", rows)


FIGURES = {
    "layouts": layouts,
    "devices": devices,
    "matrix": matrix,
    "alpha": alphas,
    "shuffle": shuffles,
}

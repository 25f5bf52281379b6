"""Rhizomes: what splitting the rows of heavy vertices does, as tables of counters.

::

    python -m benchmarks.placement.rhizomes --scale 14 [--out FOLDER]

star       a hub with a million leaves: messages at the busiest slot, the hub's work by slot
figure 3   by rhizome_max: messages and computation of the busiest slot
figure 4   contention: a histogram of the messages of each link, largest / mean, Gini
figure 5   scaling: the busiest slot by the number of slots, with rhizomes and without

Counts do not depend on the machine; seconds are those of one thread that runs one slot after
the other, so the busiest slot's are what a superstep would take if each slot had its own core.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dgraph as dg
from benchmarks.placement.watched import Watch, entries, lay_out, watch
from dgraph.algorithms.bfs import bfs_slot
from dgraph.algorithms.cdlp import cdlp_slot
from dgraph.algorithms.pagerank import pagerank_slot
from dgraph.build.rhizomes import Rhizomes
from dgraph.shard import Shard
from dgraph.topology import Topology

__all__ = ["contention", "far_bytes", "gini", "kronecker", "scaling", "speed_up", "star"]

#: Values of rhizome_max in the tables.
MOST = (1, 2, 4, 8, 16, 32, 64)

TREE = Topology.from_fanouts([4, 4])

#: Rounds of PageRank and of label propagation.
ROUNDS = 3


def _split(most: int, allocation: str = "random", cutoff: int | None = None) -> Any:
    return None if most == 1 else Rhizomes(most, allocation, cutoff)


def _pagerank(shards: list[Shard], **options: Any) -> Watch:
    return watch(pagerank_slot, shards, 0.85, None, ROUNDS, None, **options)


def star(leaves: int, most: tuple[int, ...] = (1, 16)) -> pd.DataFrame:
    """Split the hub of a star on 16 slots.

    Returns
    -------
    pandas DataFrame
        rhizome_max; uncombined: the most messages that a slot would get if every edge sent one,
        and every rhizome one to its root; received: the most that one gets in a superstep of
        PageRank as it is; entries: the most entries of the hub on a slot; for each algorithm
        the seconds of the busiest slot in all rounds, the first of which compiles nothing.

    Examples
    --------
    >>> found = star(160)
    >>> found["uncombined"].tolist(), found["entries"].tolist()
    ([150, 15], [160, 10])
    """
    frame = pd.DataFrame({"source": np.zeros(leaves, int), "target": np.arange(1, leaves + 1)})
    rows = []
    for number in most:
        shards = lay_out(frame, TREE, "degree", _split(number))
        _pagerank(shards), watch(cdlp_slot, shards, 1)
        ranks, labels = _pagerank(shards), watch(cdlp_slot, shards, ROUNDS)
        rows.append(
            {
                "rhizome_max": number,
                "uncombined": max(_uncombined(shard) for shard in shards),
                "received": ranks.most_received,
                "entries": max(_of_heaviest(shard) for shard in shards),
                "pagerank_busiest": sum(ranks.busiest),
                "pagerank_all": sum(ranks.all),
                "cdlp_busiest": sum(labels.busiest),
                "cdlp_all": sum(labels.all),
            }
        )
    return pd.DataFrame(rows)


def _uncombined(shard: Shard) -> int:
    """Return the messages to a slot if nobody combines: one an edge, one a sibling."""
    count = int(np.count_nonzero(shard.into.targets >= shard.masters))
    split = shard.into_split
    if split is not None:
        count += int(np.count_nonzero(split.rows.targets >= shard.masters))
        count += sum(some.size for some in split.sent)
    return count


def _of_heaviest(shard: Shard) -> int:
    """Return how many entries of the row of the vertex of rank 0 lie here."""
    where = np.flatnonzero(shard.rank[: shard.masters] == 0)
    found = int(np.diff(shard.into.offsets)[where].sum())
    split = shard.into_split
    if split is not None:
        pieces = np.flatnonzero(shard.rank[split.vertices] == 0)
        found += int(np.diff(split.rows.offsets)[pieces].sum())
    return found


def kronecker(scale: int) -> pd.DataFrame:
    """Return the edges of a Kronecker graph."""
    made: pd.DataFrame = dg.generate.kronecker(scale).compute(scheduler="threads")
    return made


def _heavy_source(shards: list[Shard]) -> Any:
    """Return the id of the vertex of rank 0: a search from it reaches what can be reached."""
    where = next(s for s in shards if s.masters and s.rank[0] == 0)
    return where.ids.slice(0, 1)


def far_bytes(
    frame: pd.DataFrame,
    layouts: dict[str, tuple[str, Rhizomes | None]],
    routings: tuple[str, ...] = ("direct", "rail", "tree"),
) -> pd.DataFrame:
    """Count the bytes between domains of 4 domains of 4 slots, by layout and routing.

    Returns
    -------
    pandas DataFrame
        layout, routing, bfs, pagerank (bytes, without those of the result's columns), and of
        the layout edge_balance: the largest number of entries of a slot over the mean.
    """
    rows = []
    for name, (placement, rhizomes) in layouts.items():
        shards = lay_out(frame, TREE, placement, rhizomes)
        held, source = entries(shards), _heavy_source(shards)
        for routing in routings:
            way: dict[str, Any] = {"topology": TREE, "routing": routing}
            search = watch(bfs_slot, shards, source, **way)
            rows.append(
                {
                    "layout": name,
                    "routing": routing,
                    "bfs": search.far_bytes(TREE),
                    "pagerank": _pagerank(shards, **way).far_bytes(TREE),
                    "edge_balance": float(held.max() / held.mean()),
                }
            )
    return pd.DataFrame(rows)


def speed_up(frame: pd.DataFrame, most: tuple[int, ...] = MOST) -> pd.DataFrame:
    """Make the paper's figure 3: the busiest slot by rhizome_max, over that without."""
    rows = []
    for number in most:
        shards = lay_out(frame, TREE, "degree", _split(number))
        _pagerank(shards)
        ranks, held = _pagerank(shards), entries(shards)
        split = [s.into_split for s in shards if s.into_split is not None]
        rows.append(
            {
                "rhizome_max": number,
                "split": sum(some.heavy.size for some in split),
                "uncombined": max(_uncombined(shard) for shard in shards),
                "received": ranks.most_received,
                "entries": int(held.max()),
                "busiest": sum(ranks.busiest),
            }
        )
    found = pd.DataFrame(rows)
    for name in ("uncombined", "received", "busiest"):
        found[f"{name}_gain"] = found[name].iloc[0] / found[name]
    return found


def gini(values: Any) -> float:
    """Return how unequal values are: 0 all the same, towards 1 one has everything.

    Examples
    --------
    >>> gini([3, 3, 3]), gini([0, 0, 1])
    (0.0, 0.6666666666666666)
    """
    ordered = np.sort(np.asarray(values, np.float64))
    total, n = ordered.sum(), ordered.size
    weights = 2 * np.arange(1, n + 1) - n - 1
    return float((weights * ordered).sum() / (n * total)) if total else 0.0


def contention(
    frame: pd.DataFrame, most: tuple[int, ...] = (1, 16), bins: int = 8
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make the paper's figure 4: the load of the links between slots in a round of PageRank.

    Returns
    -------
    links : pandas DataFrame
        rhizome_max, largest, mean, largest / mean, Gini, of the messages of a directed link.
    histogram : pandas DataFrame
        Links by messages: a column for each rhizome_max, over the same bins.
    """
    loads, rows = {}, []
    for number in most:
        ranks = _pagerank(lay_out(frame, TREE, "degree", _split(number)))
        load = max(ranks.received, key=lambda some: int(some.sum()))
        loads[number] = load[~np.eye(len(load), dtype=bool)]
        mean = loads[number].mean()
        rows.append(
            {
                "rhizome_max": number,
                "largest": int(loads[number].max()),
                "mean": float(mean),
                "largest / mean": float(loads[number].max() / max(mean, 1)),
                "gini": gini(loads[number]),
            }
        )
    top = max(int(load.max()) for load in loads.values())
    edges = np.linspace(0, max(top, 1), bins + 1)
    counted = {number: np.histogram(load, edges)[0] for number, load in loads.items()}
    histogram = pd.DataFrame(counted, index=pd.Index(edges[1:].astype(int), name="up to"))
    return pd.DataFrame(rows), histogram


def scaling(frame: pd.DataFrame, domains: tuple[int, ...] = (1, 2, 4, 8)) -> pd.DataFrame:
    """Make the paper's figure 5: the busiest slot by slots, 4 in a domain."""
    rows = []
    for count in domains:
        tree = Topology.from_fanouts([4, count])
        row: dict[str, Any] = {"slots": tree.slots}
        for number in (1, 16):
            shards = lay_out(frame, tree, "degree", _split(number))
            ranks = _pagerank(shards)
            row[f"entries_{number}"] = int(entries(shards).max())
            row[f"received_{number}"] = ranks.most_received
            row[f"uncombined_{number}"] = max(_uncombined(shard) for shard in shards)
        rows.append(row)
    return pd.DataFrame(rows)


def _plot(folder: Path, gains: pd.DataFrame, histogram: pd.DataFrame) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
    names = [name for name in gains.columns if name.endswith("_gain")]
    gains.plot(x="rhizome_max", y=names, logx=True, marker="o", ax=left)
    histogram.plot.bar(ax=right, xlabel="messages of a link, up to", ylabel="links")
    figure.tight_layout()
    figure.savefig(folder / "rhizomes.png")
    plt.close(figure)


def main() -> None:
    """Write all tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--scale", type=int, default=14)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    frame = kronecker(options.scale)
    links, histogram = contention(frame)
    tables = {
        "star": star(1 << (options.scale + 2)),
        "figure 3, by rhizome_max": speed_up(frame),
        "figure 4, links": links,
        "figure 4, histogram": histogram,
        "figure 5, by slots": scaling(frame),
    }
    for name, some in tables.items():
        sys.stdout.write(f"{name}\n{some.round(4).to_string()}\n\n")
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        for name, some in tables.items():
            some.to_csv(options.out / f"{name.replace(', ', '-').replace(' ', '-')}.csv")
        if importlib.util.find_spec("matplotlib"):
            _plot(options.out, tables["figure 3, by rhizome_max"], histogram)


if __name__ == "__main__":
    main()

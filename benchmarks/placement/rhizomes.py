"""Rhizomes: what splitting the rows of heavy vertices does, in counts and seconds.

Counts do not depend on the machine. Seconds of computation are those of one thread that runs
one slot after the other, so the busiest slot's are what a superstep would take if each slot had
a core of its own.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pandas as pd
from distributed import Client
from numpy.typing import NDArray

import dgraph as dg
from benchmarks.hierarchy.lab import Lab
from benchmarks.placement.inputs import star_graph
from dgraph.shard import Shard
from dgraph.topology import Topology, gini
from dgraph.topology import contention as contention_of

__all__ = ["contention", "far_bytes", "scaling", "speed_up", "star", "star_seconds"]

#: Values of rhizome_max in the tables; numbers of domains.
MOST = (1, 2, 4, 8, 16, 32, 64)
DOMAINS = (1, 2, 4, 8)

TREE = Topology.from_fanouts([4, 4])


def star(
    client: Client, leaves: int, most: Sequence[int] = (1, 16), turns: int = 5
) -> pd.DataFrame:
    """Split the hub of a star on 16 slots.

    Parameters
    ----------
    most : sequence of int
        Values of rhizome_max; the first one splits nothing.
    turns : int
        Runs behind each measured time.

    Returns
    -------
    pandas DataFrame
        rhizome_max; uncombined: the most messages that a slot would get if every edge sent one,
        and every rhizome one to its root; received: the most that one gets in a stage of
        PageRank as it is; entries: the most entries of the hub on a slot. For PageRank and
        CDLP, seconds of all rounds, on one thread: busiest, of the busiest slot; own, what it
        has more than a slot that holds leaves only, which is its work for the hub; all, of
        all slots.
    """
    with ExitStack() as stack:
        labs = {
            number: stack.enter_context(
                Lab(star_graph(leaves), TREE, client, rhizome_max=number)
            )
            for number in most
        }
        rows: list[dict[str, Any]] = [
            {
                "rhizome_max": number,
                "uncombined": max(_uncombined(shard) for shard in lab.shards),
                "received": lab.run("pagerank", "direct").without_output().most_received,
                "entries": max(_of_heaviest(shard) for shard in lab.shards),
            }
            for number, lab in labs.items()
        ]
        for algorithm in ("pagerank", "cdlp"):
            computed = _computed(list(labs.values()), algorithm, turns)
            without_hub = np.median(computed[0], axis=1).sum()
            for row, seconds in zip(rows, computed, strict=True):
                busiest = float(seconds.max(axis=1).sum())
                row |= {
                    f"{algorithm}_busiest": busiest,
                    f"{algorithm}_own": busiest - float(without_hub),
                    f"{algorithm}_all": float(seconds.sum()),
                }
    return pd.DataFrame(rows)


def _computed(labs: Sequence[Lab], algorithm: str, turns: int) -> list[NDArray[np.float64]]:
    """Return what each slot computes in each stage: a row a stage, medians of seconds."""
    found: list[list[list[list[float]]]] = [[] for _ in labs]
    for _ in range(turns + 1):
        for lab, seconds in zip(labs, found, strict=True):
            stages = lab.run(algorithm, "direct", threads=1).without_output().stages
            seconds.append([stage.computation for stage in stages])
    # the first turn compiles, and takes memory
    return [np.median(np.array(seconds[1:]), axis=0) for seconds in found]


def star_seconds(
    client: Client, leaves: int, turns: int, slots: int = 2
) -> dict[str, dict[int, list[float]]]:
    """Time PageRank and CDLP on a star, whole and split over all slots, by turns.

    Returns
    -------
    dict
        By algorithm and rhizome_max the wall time of the supersteps of each turn.
    """
    calls: dict[str, Callable[[dg.Graph], object]] = {
        "pagerank": lambda g: dg.pagerank(g, max_iter=10, tol=None),
        "cdlp": lambda g: dg.cdlp(g),
    }
    found: dict[str, dict[int, list[float]]] = {}
    with ExitStack() as stack:
        graphs = {
            number: stack.enter_context(
                dg.from_edges(
                    star_graph(leaves), rhizome_max=number, virtual_slots=slots, client=client
                )
            )
            for number in (1, slots)
        }
        for name, call in calls.items():
            found[name] = {number: [] for number in graphs}
            for turn in range(turns + 1):
                for number, g in graphs.items():
                    call(g)
                    found[name][number] += [g.runs[-1].seconds] * (turn > 0)
    return found


def star_walls(
    client: Client, leaves: int, turns: int, slots: Sequence[int] = (2, 16)
) -> list[dict[str, Any]]:
    """Return a row for each number of slots and algorithm: medians of `star_seconds`."""
    rows: list[dict[str, Any]] = []
    for number in slots:
        for name, seconds in star_seconds(client, leaves, turns, number).items():
            whole, split = map(statistics.median, seconds.values())
            row = {"slots": number, "algorithm": name, "whole": whole, "split": split}
            rows.append(row | {"split/whole": split / whole})
    return rows


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


def _entries(shards: Sequence[Shard]) -> NDArray[np.int64]:
    """Return the entries of rows that each slot holds."""
    held = [
        sum(
            rows.targets.size + (0 if split is None else split.rows.targets.size)
            for rows, split in shard.families
        )
        for shard in shards
    ]
    return np.array(held)


def far_bytes(
    client: Client,
    frame: pd.DataFrame,
    layouts: Mapping[str, Mapping[str, Any]],
    routings: Sequence[str] = ("direct", "rail", "tree"),
) -> pd.DataFrame:
    """Count the bytes between domains of 4 domains of 4 slots, by layout and routing.

    Parameters
    ----------
    layouts : mapping of str to mapping
        Options of `dgraph.from_edges`, by a name.

    Returns
    -------
    pandas DataFrame
        layout, routing, bfs, pagerank (bytes, without those of the result's columns), and of
        the layout edge_balance: the largest number of entries of a slot over the mean.
    """
    rows = []
    for name, options in layouts.items():
        with Lab(frame, TREE, client, **options) as lab:
            held = _entries(lab.shards)
            for routing in routings:
                sent = {
                    each: int(lab.run(each, routing).without_output().counts()[2, -1])
                    for each in ("bfs", "pagerank")
                }
                even = float(held.max() / held.mean())
                rows.append({"layout": name, "routing": routing, **sent, "edge_balance": even})
    return pd.DataFrame(rows)


def speed_up(client: Client, frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Make the paper's figure 3: the busiest slot by rhizome_max, over that without."""
    rows: list[dict[str, Any]] = []
    for number in MOST:
        with Lab(frame, TREE, client, rhizome_max=number) as lab:
            lab.run("pagerank", "direct", threads=1)
            ranks = lab.run("pagerank", "direct", threads=1).without_output()
            split = [s.into_split for s in lab.shards if s.into_split is not None]
            row: dict[str, Any] = {
                "rhizome_max": number,
                "split": sum(some.heavy.size for some in split),
                "uncombined": max(_uncombined(shard) for shard in lab.shards),
                "received": ranks.most_received,
                "entries": int(_entries(lab.shards).max()),
                "busiest": ranks.busiest,
            }
        rows.append(row)
        for name in ("uncombined", "received", "busiest"):
            row[f"{name}_gain"] = rows[0][name] / max(row[name], 1e-9)
    return rows


def contention(
    client: Client,
    frame: pd.DataFrame,
    machine: str,
    most: Sequence[int] = (1, 16),
    bins: int = 8,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Make the paper's figure 4: the load of each directed link in ten rounds of PageRank.

    Returns
    -------
    links : list of dict
        For the links from slot to slot, and those of domains up and down: rhizome_max, how many
        there are, messages in all, largest, mean, largest / mean, Gini.
    histogram : list of dict
        Links from slot to slot and what they carry in all, by the messages of one.
    waiting : list of dict
        Of the links of the domain tree, as `_waiting` tells them.
    """
    loads, rows, waits = {}, [], []
    for number in most:
        with Lab(frame, TREE, client, rhizome_max=number) as lab:
            ranks = lab.run("pagerank", "direct").without_output()
        waits += _waiting(number, contention_of(TREE, ranks.traffic(), machine))
        sent = np.sum(ranks.messages, axis=0)
        loads[number] = sent[~np.eye(len(sent), dtype=bool)]
        for kind, load in (("slot to slot", loads[number]), ("domain", _of_domains(sent))):
            rows.append(
                {
                    "rhizome_max": number,
                    "link": kind,
                    "links": load.size,
                    "messages": int(load.sum()),
                    "largest": int(load.max()),
                    "mean": float(load.mean()),
                    "largest/mean": float(load.max() / max(load.mean(), 1)),
                    "gini": gini(load),
                }
            )
    top = max(int(load.max()) for load in loads.values())
    edges = np.linspace(0, max(top, 1), bins + 1)
    histogram = []
    for number, load in loads.items():
        links = np.histogram(load, edges)[0].tolist()
        carried = np.histogram(load, edges, weights=load)[0].astype(int).tolist()
        histogram += [
            {
                "rhizome_max": number,
                "messages up to": round(end),
                "links": some,
                "messages": sum_,
            }
            for end, some, sum_ in zip(edges[1:].tolist(), links, carried, strict=True)
        ]
    return rows, histogram, waits


def _waiting(rhizome_max: int, passes: pd.DataFrame) -> list[dict[str, Any]]:
    """Sum up what passes each directed link of the domain tree in each superstep.

    Returns a row for each level and direction: links, frames, bytes, seconds that frames waited
    (simulated), all in all; the largest and the Gini coefficient over links and supersteps.
    """
    return [
        {
            "rhizome_max": rhizome_max,
            "level": level,
            "direction": direction,
            "links": each["domain"].nunique(),
            **{name: each[name].sum() for name in ("frames", "bytes", "waited")},
            **{f"{name}_most": each[name].max() for name in ("bytes", "waited")},
            **{f"{name}_gini": gini(each[name]) for name in ("bytes", "waited")},
        }
        for (level, direction), each in passes.groupby(["level", "direction"], sort=True)
    ]


def _of_domains(sent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what passes the links of the leaf domains, up and then down."""
    domain = np.empty(TREE.slots, np.int64)
    for number, slots in enumerate(TREE.domains(0)):
        domain[slots] = number
    away = np.where(domain[:, None] != domain[None, :], sent, 0)
    count = int(domain.max()) + 1
    up, down = (np.bincount(domain, away.sum(axis), minlength=count) for axis in (1, 0))
    found: NDArray[np.int64] = np.concatenate([up, down]).astype(np.int64)
    return found


def scaling(client: Client, frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Make the paper's figure 5: the busiest slot by slots, 4 in a domain."""
    rows = []
    for count in DOMAINS:
        tree = Topology.from_fanouts([4, count])
        for number in (1, 16):
            with Lab(frame, tree, client, rhizome_max=number) as lab:
                lab.run("pagerank", "direct", threads=1)
                ranks = lab.run("pagerank", "direct", threads=1).without_output()
                row: dict[str, Any] = {
                    "slots": tree.slots,
                    "rhizome_max": number,
                    "entries": int(_entries(lab.shards).max()),
                    "received": ranks.most_received,
                    "uncombined": max(_uncombined(shard) for shard in lab.shards),
                    "busiest": ranks.busiest,
                }
            rows.append(row)
    return rows

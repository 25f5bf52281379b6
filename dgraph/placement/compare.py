"""Placements side by side: what each cuts, repeats, costs and takes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import pandas as pd
from distributed import Client

from dgraph.build.strategy import name_of
from dgraph.clients import find_client
from dgraph.errors import OptionError
from dgraph.graph import Graph
from dgraph.placement.assign import build_graph
from dgraph.placement.resolve import resolve
from dgraph.topology import Topology

__all__ = ["compare"]


def compare(
    edges: Any,
    placements: Iterable[Any],
    source: Hashable = "source",
    target: Hashable = "target",
    *,
    topology: Topology | None = None,
    slots: int | None = None,
    directed: bool | None = None,
    vertices: Any = None,
    measure: Mapping[str, Callable[[Graph], Any]] | None = None,
    client: Client | None = None,
) -> pd.DataFrame:
    """Build a graph with one placement after the other and compare the figures.

    Parameters
    ----------
    edges, source, target, directed, vertices
        As in `dgraph.from_edges`. A lazy collection is computed once for each placement.
    placements : list of str, objects of `dgraph.placement`, or frames
    topology : Topology, optional
        The domain tree over virtual slots. Default: that of the cluster.
    slots : int, optional
        So many virtual slots. Default: as many as `topology` has.
    measure : mapping of str to function of a graph, optional
        Algorithms to run on each graph, by a name; they must leave a record in ``g.runs``.
    client : distributed.Client, optional
        A synchronous one.

    Returns
    -------
    pandas DataFrame
        A row for each placement: placement; seconds (what the placement takes beside a build);
        cut_top (edges across the top level); cut (edges between slots, a list by level);
        replication (slots on which a vertex occurs, mean); vertex_balance, edge_balance
        (largest / mean); cost (sum over cut edges of 1, 10, 100, ... by level). For each name
        in `measure`: NAME_seconds, NAME_frames, NAME_bytes, the last two lists by level.

    Examples
    --------
    >>> import dgraph as dg
    >>> tree = dg.topology.Topology.from_fanouts([2, 2])
    >>> found = compare(dg.generate.grid(8, 8), ["hash", "hierarchy"], topology=tree)
    >>> found["cut_top"][1] < found["cut_top"][0]
    np.True_
    """
    client = find_client(client)
    if client.asynchronous:
        raise OptionError("compare waits for what it measures: give it a synchronous client")
    strategies = [resolve(placement) for placement in placements]
    options = {"directed": directed, "vertices": vertices}
    rows = []
    for strategy in strategies:
        with build_graph(
            edges, strategy, source, target, slots, topology, client, options
        ) as graph:
            rows.append({"placement": name_of(strategy), **_figures(graph)})
            for name, run in (measure or {}).items():
                run(graph)
                record = graph.runs[-1]
                rows[-1][f"{name}_seconds"] = record.seconds
                rows[-1][f"{name}_frames"] = list(record.frames.values())
                rows[-1][f"{name}_bytes"] = list(record.bytes.values())
    return pd.DataFrame(rows)


def _figures(graph: Graph) -> dict[str, Any]:
    figures, seconds = graph.placement.figures(), graph.report["seconds"]
    return {
        "seconds": seconds.get("draft", 0.0) + seconds["placing"],
        "cut_top": figures.cut_top,
        "cut": list(figures.cut),
        "replication": figures.replication,
        "vertex_balance": figures.vertex_balance,
        "edge_balance": figures.edge_balance,
        "cost": figures.cost,
    }

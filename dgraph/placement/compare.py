"""Placements side by side: what each cuts, repeats, costs and takes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, Self

import pandas as pd
from distributed import Client

from dgraph.build.rhizomes import Rhizomes
from dgraph.build.strategy import EdgeStrategy, Strategy, name_of
from dgraph.clients import find_client
from dgraph.engine.compiling import seconds_compiled
from dgraph.engine.members import find_members
from dgraph.errors import OptionError
from dgraph.graph import Graph
from dgraph.keywords import hint
from dgraph.placement.assign import build_graph
from dgraph.placement.resolve import resolve
from dgraph.policies import Policies
from dgraph.topology import Topology

__all__ = ["compare"]

#: Kernels were compiled for more than this part of the time: it is measured again.
COUNTS = 0.01

#: Options of `dgraph.from_edges` that lay a graph out, and what they are called here.
_OPTIONS = {
    "rhizome_max": "most",
    "rhizome_allocation": "allocation",
    "rhizome_cutoff": "cutoff",
}


class _Layout(NamedTuple):
    """A strategy, and how heavy vertices are split over it."""

    strategy: Strategy | EdgeStrategy
    rhizomes: Rhizomes

    @classmethod
    def of(cls, entry: Any) -> Self:
        """Return what an entry of the list of placements means.

        >>> _Layout.of({"placement": "hash", "rhizome_max": 8}).name
        'hash + rhizomes 8'
        """
        if not isinstance(entry, Mapping):
            return cls(resolve(entry), Rhizomes(None))
        if unknown := [name for name in entry if name not in ("placement", *_OPTIONS)]:
            raise OptionError(
                f"the options of a placement must be among placement, {', '.join(_OPTIONS)}, "
                f"not {unknown[0]!r}"[:200]
                + hint(unknown[0], _OPTIONS)
            )
        options = {_OPTIONS[name]: value for name, value in entry.items() if name in _OPTIONS}
        strategy = resolve(entry.get("placement", "degree"))
        return cls(strategy, Rhizomes(**{"most": None, **options}))

    @property
    def name(self) -> str:
        """What the row is called."""
        name = name_of(self.strategy)
        return name if self.rhizomes.off else f"{name} + rhizomes {self.rhizomes.most}"


def compare(
    edges: Any,
    placements: Iterable[Any],
    source: Hashable = "source",
    target: Hashable = "target",
    weight: Hashable = None,
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
    edges, source, target, weight, directed, vertices
        As in `dgraph.from_edges`. A lazy collection is computed once for each placement, and
        once more where kernels had to be compiled first: no figure holds that time.
    placements : list
        Names, objects of `dgraph.placement`, or frames; or, to split heavy vertices as well,
        options of `dgraph.from_edges` as a mapping: placement, rhizome_max,
        rhizome_allocation, rhizome_cutoff.
    topology : Topology, optional
        The domain tree over virtual slots. Default: that of the cluster.
    slots : int, optional
        So many virtual slots. Default: as many as `topology` has.
    measure : mapping of str to function of a graph, optional
        Algorithms to run on each graph, by a name: figures are those of the last of ``g.runs``,
        or 0 where there is none. Typical: a search and ten rounds of PageRank.
    client : distributed.Client, optional
        A synchronous one.

    Returns
    -------
    pandas DataFrame
        A row for each placement: placement; seconds (what the placement takes beside a build);
        cut_top (edges across the top level); cut (edges between slots, a list by level);
        replication (slots on which a vertex occurs, mean); vertex_balance, edge_balance
        (largest / mean); cost (sum over cut edges of 1, 10, 100, ... by level); build_seconds
        (what the whole build took); split, parts (heavy vertices that are split, and in how
        many parts they lie). For each name in `measure`: NAME_seconds, NAME_frames, NAME_bytes,
        the last two lists by level. `plot` draws it.

    Examples
    --------
    >>> import dgraph as dg
    >>> tree = dg.topology.Topology.from_fanouts([2, 2])
    >>> ways = ["hash", "hierarchy", {"placement": "hierarchy", "rhizome_max": 4}]
    >>> found = compare(dg.generate.grid(8, 8), ways, topology=tree)
    >>> found["cut_top"][1] < found["cut_top"][0]
    np.True_
    >>> found["placement"].tolist()
    ['hash', 'hierarchy', 'hierarchy + rhizomes 4']
    >>> runs = {"bfs": lambda g: dg.bfs(g, 0)}
    >>> compare(dg.generate.grid(8, 8), ["hash"], measure=runs).columns[-3:].tolist()
    ['bfs_seconds', 'bfs_frames', 'bfs_bytes']
    """
    client = find_client(client)
    if client.asynchronous:
        raise OptionError("compare waits for what it measures: give it a synchronous client")
    layouts = [_Layout.of(entry) for entry in placements]
    client.sync(find_members, client)
    options = {"weight": weight, "directed": directed, "vertices": vertices}

    def row(layout: _Layout) -> dict[str, Any]:
        policies = Policies(rhizomes=layout.rhizomes)
        with build_graph(
            edges, layout.strategy, source, target, slots, topology, client, options, policies
        ) as graph:
            named = {"placement": layout.name}
            return named | _figures(graph) | _measured(graph, measure or {})

    return pd.DataFrame([_compiled(client, partial(row, layout)) for layout in layouts])


def _compiled(client: Client, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Measure, and once more if the figures hold a compilation, which is done only once."""
    before = client.sync(seconds_compiled, client)
    found = measure()
    compiled = client.sync(seconds_compiled, client) - before
    took = sum(seconds for name, seconds in found.items() if name.endswith("_seconds"))
    return measure() if compiled > COUNTS * took else found


def _measured(graph: Graph, measure: Mapping[str, Callable[[Graph], Any]]) -> dict[str, Any]:
    """Run algorithms on a graph; return seconds, frames and bytes of each, 0 if none ran."""
    found: dict[str, Any] = {}
    for name, run in measure.items():
        before = len(graph.runs)
        run(graph)
        none = dict.fromkeys(range(graph.topology.height + 1), 0)
        record = graph.runs[-1] if len(graph.runs) > before else None
        found[f"{name}_seconds"] = record.seconds if record else 0.0
        found[f"{name}_frames"] = list((record.frames if record else none).values())
        found[f"{name}_bytes"] = list((record.bytes if record else none).values())
    return found


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
        "build_seconds": sum(seconds[phase] for phase in ("inspect", "absorb", "build")),
        "split": figures.split,
        "parts": figures.parts,
    }

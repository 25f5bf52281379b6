"""Tablets: which device trains which vertices, so that neighbours meet on linked devices.

Legion's hierarchical partition::

    devices     ->  cliques, whose devices all have fast links with each other
    vertices    ->  a part for each clique, with few edges between parts
    training    ->  tablets: those of a part, dealt to the devices of its clique
    a tablet    ->  batches: every device shuffles its own

On a cluster of CPUs a clique is a lowest domain of the topology, and a device is a slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.arguments import choice, integer
from dgraph.errors import OptionError, VertexNotFoundError
from dgraph.graph import Graph, check_graph, home_of
from dgraph.named_ids import as_list
from dgraph.placement.assign import assign
from dgraph.topology import Topology

__all__ = ["Batches", "Tablets", "make_tablets"]

Array = NDArray[Any]

#: For each device the batches of an epoch, each an array of vertices.
Batches = Sequence[Sequence[Any]]

#: A clique trains at most so many times its share of the training vertices.
EVEN = 1.03


@dataclass(frozen=True, eq=False)
class Tablets:
    """The training vertices of each device.

    Parameters
    ----------
    cliques : tuple of tuple of int
        The devices of each clique.
    of_device : tuple of arrays
        For each device its training vertices, in the users' ids.

    Examples
    --------
    >>> tablets = Tablets(((0, 1),), (np.array([4, 6]), np.array([5])))
    >>> [[batch.tolist() for batch in some] for some in tablets.batches(2)]
    [[[4, 6]], [[5]]]
    """

    cliques: tuple[tuple[int, ...], ...]
    of_device: tuple[Array, ...]

    def batches(
        self, batch_size: int, *, epoch: int = 0, seed: int = 0, shuffle: str = "local"
    ) -> list[list[Array]]:
        """Return the batches of an epoch, by device.

        Parameters
        ----------
        batch_size : int
            Seeds of a batch; the last one of a device may be smaller.
        epoch, seed : int
            Other numbers, other batches.
        shuffle : {"local", "global"}
            Local: every device its own tablet. Global: all training vertices together, cut
            into as many parts as there are devices, as without a partition.
        """
        size = integer("batch_size", batch_size, 1)
        own = list(self.of_device)
        if choice("shuffle", shuffle, ("local", "global")) == "global":
            every = _shuffled(np.concatenate(own), seed, epoch, len(own))
            return [_cut(some, size) for some in np.array_split(every, len(own))]
        return [
            _cut(_shuffled(some, seed, epoch, device), size) for device, some in enumerate(own)
        ]


def _shuffled(vertices: Array, *key: int) -> Array:
    return vertices[np.random.default_rng(key).permutation(len(vertices))]


def _cut(vertices: Array, size: int) -> list[Array]:
    return [vertices[at : at + size] for at in range(0, len(vertices), size)]


def make_tablets(
    g: Graph,
    training: Any,
    cliques: Topology | Sequence[Sequence[int]] | None = None,
    *,
    placement: Any = "hierarchy",
) -> Tablets:
    """Deal the training vertices to devices, those of one region to one clique.

    Parameters
    ----------
    g : Graph
    training : list, array or Series of vertices
        Typical: a tenth of all.
    cliques : Topology or list of lists of int, optional
        The devices of each clique, numbered from 0 on: the lowest domains of a topology, or
        what ``Topology.read(...).reading.details["cliques"]`` says of ``nvidia-smi topo -m``.
        Default: those of the graph's topology.
    placement : str or object of `dgraph.placement`
        What cuts the graph into a part for each clique; not asked if there is one clique only.

    Returns
    -------
    Tablets
        Disjoint, and together the training vertices. In a clique they differ by one vertex at
        most, and a clique has at most 1.03 times its share, rounded up: what a part has above
        that goes to cliques with room, the lightest vertices first.

    Raises
    ------
    VertexNotFoundError
        If a training vertex is not in the graph.

    Examples
    --------
    >>> import dgraph as dg
    >>> g = dg.from_edges(np.array([[1, 2], [2, 3], [3, 1], [3, 4], [4, 5], [5, 6], [6, 4]]))
    >>> tablets = make_tablets(g, [1, 2, 4, 5], [[0], [1]])
    >>> sorted(sorted(some.tolist()) for some in tablets.of_device)
    [[1, 2], [4, 5]]
    """
    check_graph(g)
    groups = as_cliques(g.topology if cliques is None else cliques)
    ranked = _in_order(g, training)
    parts = _parts(g, ranked, len(groups), placement)
    share = np.array([len(group) for group in groups]) / sum(map(len, groups))
    parts = even(parts, np.ceil(EVEN * share * len(ranked)).astype(np.int64))
    of_device: list[Array] = [ranked[:0]] * sum(map(len, groups))
    for number, group in enumerate(groups):
        mine = ranked[parts == number]
        for at, device in enumerate(group):
            of_device[device] = mine[at :: len(group)]
    return Tablets(groups, tuple(of_device))


def as_cliques(cliques: Topology | Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the devices of each clique, checked.

    Examples
    --------
    >>> as_cliques(Topology.from_fanouts([2, 2])), as_cliques([[0, 2], [1]])
    (((0, 1), (2, 3)), ((0, 2), (1,)))
    """
    lists = cliques.domains(0) if isinstance(cliques, Topology) else cliques
    groups = tuple(tuple(int(device) for device in group) for group in lists)
    every = sorted(device for group in groups for device in group)
    if not all(groups) or not every or every != list(range(len(every))):
        raise OptionError(
            "cliques must name each device from 0 on once, such as [[0, 1], [2, 3]], not "
            f"{[list(group) for group in groups]!r}"
        )
    return groups


def _in_order(g: Graph, training: Any) -> Array:
    """Return the distinct training vertices in the vertex order."""
    wanted = pd.Index(as_list(training)).unique()
    degrees = _computed(g, g.degrees()).set_index("vertex").sum(axis=1)
    found = degrees.reindex(wanted)
    if found.isna().any():
        first = wanted.tolist()[int(np.argmax(found.isna()))]
        raise VertexNotFoundError(
            f"expected training vertices of the graph, got {first!r}; name such as occur in "
            "its edges or were declared in vertices="
        )
    table = pd.DataFrame({"vertex": wanted, "degree": -found.to_numpy()})
    ids = table.sort_values(["degree", "vertex"])["vertex"].to_numpy()
    return ids if ids.dtype.kind in "iu" else ids.astype(object)


def _parts(g: Graph, ranked: Array, count: int, placement: Any) -> NDArray[np.int64]:
    """Return the part of each training vertex."""
    if count == 1:
        return np.zeros(len(ranked), np.int64)
    client = home_of(g).client
    options: dict[str, Any] = {"slots": count, "directed": g.directed, "client": client}
    placed = assign(g.edges(), placement, vertices=g.vertices(), **options)
    owner = _computed(g, placed).set_index("vertex")["slot"]
    return owner.reindex(ranked).to_numpy(np.int64)


def _computed(g: Graph, frame: Any) -> pd.DataFrame:
    found: pd.DataFrame = home_of(g).client.compute(frame, sync=True)
    return found


def even(parts: NDArray[np.int64], most: NDArray[np.int64]) -> NDArray[np.int64]:
    """Move the last ones of parts that are too large to those with most room.

    Parameters
    ----------
    parts : int array
    most : int array
        How many each part may have; together enough.

    Examples
    --------
    >>> even(np.array([0, 0, 1, 0, 0]), np.array([3, 3]))
    array([0, 0, 1, 0, 1])
    """
    parts = parts.copy()
    room = most - np.bincount(parts, minlength=len(most))
    for part in np.flatnonzero(room < 0).tolist():
        for at in np.flatnonzero(parts == part)[room[part] :]:
            to = int(np.argmax(room))
            parts[at] = to
            room[to] -= 1
        room[part] = 0
    return parts

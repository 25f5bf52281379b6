"""The graphs that are measured: the same edges for dgraph and for every rival.

A graph is a folder of parquet files with the columns source and target: distinct undirected
edges without loops, each once, in random order, either end first. Ids are 0..n-1. A weighted
graph is a folder of its own, whose files also have the column weight.

``compact`` numbers only the vertices that have an edge, so that the rivals, which count
vertices from 0 to the largest id, and dgraph, which knows the ids that occur, have the same
ones. Without it all 2**scale are there, as in Graph500 and in GAPBS's own generator, and
dgraph is told of them by ``vertices=``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import dgraph as dg
from benchmarks.edges import Ends, distinct, read, read_weights, symmetric, write
from benchmarks.timing import Phases

__all__ = ["EdgeFiles", "grid", "karate", "kronecker", "weighted"]

#: The largest weight, as in the GAP Benchmark Suite: integers from 1 on.
HEAVIEST = 255

#: Zachary's karate club: person -> those of higher numbers he met outside the club.
_KARATE = {
    0: (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31),
    1: (2, 3, 7, 13, 17, 19, 21, 30),
    2: (3, 7, 8, 9, 13, 27, 28, 32),
    3: (7, 12, 13),
    4: (6, 10),
    5: (6, 10, 16),
    6: (16,),
    8: (30, 32, 33),
    9: (33,),
    13: (33,),
    14: (32, 33),
    15: (32, 33),
    18: (32, 33),
    19: (33,),
    20: (32, 33),
    22: (32, 33),
    23: (25, 27, 29, 32, 33),
    24: (25, 27, 31),
    25: (31,),
    26: (29, 33),
    27: (33,),
    28: (31, 33),
    29: (32, 33),
    30: (32, 33),
    31: (32, 33),
    32: (33,),
}


@dataclass
class EdgeFiles:
    """A graph on the disk, and what was found when it was made.

    Parameters
    ----------
    name : str
    folder : Path
        Holds it, in all the formats that were asked for.
    vertices, edges : int
    compact : bool
        Whether every id from 0 on has an edge.
    phases : Phases
        Seconds it took to generate and to write.
    weighted : bool
        Whether the edges have weights, the same in both directions.
    """

    name: str
    folder: Path
    vertices: int
    edges: int
    compact: bool = True
    phases: Phases = field(default_factory=Phases)
    weighted: bool = False

    @property
    def parquet(self) -> str:
        """What `dg.read_edges` and pyarrow read."""
        return str(self.folder / "edges")

    @cached_property
    def strings(self) -> str:
        """The same edges with string ids, written when first asked for."""
        source, target = read(self.parquet)
        names = pa.array([f"user-{number}" for number in range(self.vertices)])
        write(self.folder / "strings", names.take(source), names.take(target))
        return str(self.folder / "strings")

    @cached_property
    def serialized(self) -> str:
        """GAPBS's .sg: bool directed, int64 arcs, int64 vertices, offsets, neighbours.

        In the .wsg of a weighted graph each neighbour is followed by the weight, an int32.
        """
        rows = symmetric(*read(self.parquet), self.vertices, read_weights(self.parquet))
        columns = [rows.indices, rows.data] if self.weighted else [rows.indices]
        path = self.folder / ("graph.wsg" if self.weighted else "graph.sg")
        with path.open("wb") as file:
            file.write(b"\0")
            file.write(np.array([rows.nnz, self.vertices], dtype=np.int64).tobytes())
            file.write(rows.indptr.astype(np.int64).tobytes())
            file.write(np.column_stack(columns).astype(np.int32).tobytes())
        return str(path)

    @property
    def declared(self) -> dict[str, Any]:
        """The arguments of `dg.from_edges`: vertices without an edge, the column of weights."""
        told: dict[str, Any] = {} if self.compact else {"vertices": np.arange(self.vertices)}
        return told | ({"weight": "weight"} if self.weighted else {})

    def sources(self, count: int, seed: int = 1) -> list[int]:
        """Return vertices to search from: distinct, drawn at random, each with an edge."""
        connected = np.flatnonzero(with_edge(read(self.parquet), self.vertices))
        draw = np.random.default_rng(seed)
        chosen = draw.choice(connected, min(count, len(connected)), replace=False)
        return [int(vertex) for vertex in chosen]


def with_edge(ends: tuple[Ends, Ends], vertices: int) -> NDArray[np.bool_]:
    """Tell for each vertex whether it has an edge.

    >>> with_edge((np.array([2]), np.array([0])), 4).tolist()
    [True, False, True, False]
    """
    found = np.zeros(vertices, dtype=np.bool_)
    for end in ends:
        found[end] = True
    return found


def kronecker(
    folder: Path, scale: int, edgefactor: int = 16, seed: int = 1, *, compact: bool = True
) -> EdgeFiles:
    """Generate a Kronecker graph and write it."""
    phases = Phases()
    with phases("generation"):
        frame = dg.generate.kronecker(scale, edgefactor, seed=seed).compute()
    with phases("writing"):
        ends = distinct(frame["source"].to_numpy(), frame["target"].to_numpy(), seed)
        del frame
        vertices = 1 << scale
        if compact:
            numbers = np.cumsum(with_edge(ends, vertices)) - 1
            vertices, ends = int(numbers[-1]) + 1, (numbers[ends[0]], numbers[ends[1]])
        write(folder / "edges", pa.array(ends[0]), pa.array(ends[1]))
    return EdgeFiles(f"kronecker {scale}", folder, vertices, len(ends[0]), compact, phases)


def weighted(folder: Path, files: EdgeFiles, seed: int = 1) -> EdgeFiles:
    """Give the edges of a graph weights drawn from 1 to `HEAVIEST`, and write them anew."""
    phases = Phases(dict(files.phases.seconds))
    with phases("writing"):
        weights = np.random.default_rng(seed).integers(1, HEAVIEST + 1, files.edges)
        write(folder / "edges", *map(pa.array, (*read(files.parquet), weights)))
    name = f"{files.name} weighted"
    return EdgeFiles(name, folder, files.vertices, files.edges, files.compact, phases, True)


def grid(folder: Path, side: int, seed: int = 1) -> EdgeFiles:
    """Write a grid of side x side vertices; from the corner 0, BFS has 2 * side - 1 levels."""
    phases = Phases()
    with phases("generation"):
        number = np.arange(side * side).reshape(side, side)
        low = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
        high = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
        ends = distinct(low, high, seed)
    with phases("writing"):
        write(folder / "edges", pa.array(ends[0]), pa.array(ends[1]))
    name = f"grid {side} x {side}"
    return EdgeFiles(name, folder, side * side, len(ends[0]), phases=phases)


def karate(folder: Path) -> EdgeFiles:
    """Write Zachary's karate club (1977): 34 people, who met whom outside the club."""
    pairs = [(one, other) for one, others in _KARATE.items() for other in others]
    ends = np.array(pairs, dtype=np.int64)
    write(folder / "edges", pa.array(ends[:, 0]), pa.array(ends[:, 1]))
    return EdgeFiles("karate", folder, 34, len(pairs))

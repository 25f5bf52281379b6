"""What a client knows of a graph beside where it lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Facts"]


@dataclass(frozen=True, slots=True)
class Facts:
    """The figures of a graph that was built; see the properties of `dgraph.Graph`.

    Parameters
    ----------
    num_vertices, num_edges : int
    directed, weighted, multigraph : bool
        `multigraph`: parallel edges were kept.
    ids : str
        The dtype of the vertex ids.
    placement : str
    bytes : tuple of int
        Of each slot's shard.
    report : mapping
    rhizomes : mapping
        How heavy vertices were to be split; empty: not at all.
    """

    num_vertices: int
    num_edges: int
    directed: bool
    weighted: bool
    multigraph: bool
    ids: str
    placement: str
    bytes: tuple[int, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)
    rhizomes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Say in words whether edges have directions, weights and parallels.

        Examples
        --------
        >>> Facts(3, 2, True, True, False, "int64", "degree").kind
        'directed, weighted'
        """
        words = ["directed" if self.directed else "undirected"]
        words += ["weighted"] * self.weighted + ["multigraph"] * self.multigraph
        return ", ".join(words)

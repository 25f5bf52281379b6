"""What the parts of an input hold, once chunks are made of them."""

from __future__ import annotations

from typing import Any

from dask.delayed import Delayed

from dgraph.edges.chunk import EdgeChunk
from dgraph.edges.vertex_chunk import make_vertex_chunk
from dgraph.edges.vertex_inputs import VertexInput


def ids_in(chunk: EdgeChunk) -> list[tuple[Any, Any]]:
    """Return the ids at both ends of every edge of a chunk."""

    def decode(codes: Any) -> list[Any]:
        if chunk.ids is None:
            return [int(code) + chunk.low for code in codes]
        return chunk.ids.take(codes).to_list()

    return list(zip(decode(chunk.source), decode(chunk.target), strict=True))


def computed(some: list[Any]) -> list[Any]:
    """Return the parts, computed if they are lazy."""
    lazy = [part for part in some if isinstance(part, Delayed)]
    assert len(lazy) in (0, len(some))
    return [part.compute() for part in some] if lazy else some


def vertices_of(some: list[VertexInput]) -> list[Any]:
    """Return the vertices that are declared, in ascending order."""
    found: set[Any] = set()
    for each in some:
        for part in computed(each.parts):
            found.update(make_vertex_chunk(part, each.spec, 0)[0].ids.to_list())
    return sorted(found)

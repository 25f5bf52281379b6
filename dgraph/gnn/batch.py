"""A batch: the sampled subgraph of some seeds, as arrays, and as tensors for who has torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.errors import OptionError

__all__ = ["Batch"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Batch:
    """The sampled subgraph of some seeds.

    Parameters
    ----------
    number : int
        Counted on from epoch to epoch; what is drawn depends on it.
    vertices : array of shape (vertices,)
        The users' ids, in their dtype; strings are objects. The seeds first, then what was
        reached, hop by hop, ascending.
    row, col : int64 arrays of shape (edges,)
        An entry per sampled edge, hop by hop: places in `vertices` of the neighbour, and of the
        vertex for which it was drawn, whichever direction the edge has in the graph.
    hop_sizes : tuple of int
        How many of `vertices` are seeds, and were reached first in each hop.
    seeds : int
        How many seeds there are.
    features : array of shape (vertices, ...) or None
        A row for each of `vertices`, in the dtype of the features.
    hop_edges : tuple of int
        How many edges each hop has drawn.
    """

    number: int
    vertices: Array
    row: NDArray[np.int64]
    col: NDArray[np.int64]
    hop_sizes: tuple[int, ...]
    seeds: int
    features: Array | None = None
    hop_edges: tuple[int, ...] = ()

    def to_torch(self) -> dict[str, Any]:
        """Return tensors: x, which shares the memory of `features`, edge_index, and batch_size.

        Needs torch, which dgraph does not install.

        Returns
        -------
        dict
            edge_index: int64 tensor of shape (2, edges), `row` over `col`; x: of the shape and
            dtype of `features`, if there are any; batch_size: int, the number of seeds.
        """
        try:
            import torch
        except ImportError:
            raise OptionError(
                "to_torch needs torch, which is not installed: pip install torch, or use the "
                "arrays of the batch"
            ) from None
        found = {
            "edge_index": torch.from_numpy(np.stack([self.row, self.col])),
            "batch_size": self.seeds,
        }
        if self.features is not None:
            found["x"] = torch.from_numpy(self.features)
        return found

    def to_data(self) -> Any:
        """Return what PyG's own NeighborLoader yields.

        Needs torch and torch_geometric, which dgraph does not install.

        Returns
        -------
        torch_geometric.data.Data
            What `to_torch` returns, and n_id: the users' ids, a tensor, or an array if they are
            strings; num_sampled_nodes and num_sampled_edges by hop, as `trim_to_layer` wants
            them. The first batch_size rows of what a model returns are those of the seeds.
        """
        tensors = self.to_torch()
        try:
            from torch_geometric.data import Data
        except ImportError:
            raise OptionError(
                "to_data needs torch_geometric, which is not installed: pip install "
                "torch_geometric, or use to_torch or the arrays of the batch"
            ) from None
        ids = self.vertices.copy()
        if ids.dtype.kind in "iu":
            import torch

            ids = torch.from_numpy(ids)
        return Data(
            **tensors,
            n_id=ids,
            num_nodes=len(ids),
            num_sampled_nodes=list(self.hop_sizes),
            num_sampled_edges=list(self.hop_edges),
        )

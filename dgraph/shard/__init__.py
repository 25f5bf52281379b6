"""The part of a graph that one slot holds, and the kernels that walk it."""

from dgraph.shard.adjacency import Adjacency
from dgraph.shard.shard import Dictionary, Shard, narrow_dtype, number_dtype
from dgraph.shard.split import Split

__all__ = ["Adjacency", "Dictionary", "Shard", "Split", "narrow_dtype", "number_dtype"]

"""The part of a graph that one slot holds, and the kernels that walk it."""

from dgraph.shard.shard import Adjacency, Dictionary, Shard, number_dtype

__all__ = ["Adjacency", "Dictionary", "Shard", "number_dtype"]

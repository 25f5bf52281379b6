"""Partitions of edges become shards: the slot program, one file for each of its stages."""

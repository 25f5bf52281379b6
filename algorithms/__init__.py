"""Graph algorithms: one file, one algorithm.

Every file has the same parts in the same order: what is computed and by which paper, with the
encodings and the cost; the slot program, which reads like the textbook's pseudo-code; its
kernels; and the function that users call.

A slot program is ``async def NAME_slot(ctx, shard, *arguments)``. It runs on every slot at the
same time, holds results for the masters of its shard, and returns columns by name (see
:mod:`dgraph.engine.columns`). It never knows where a vertex lives or how a frame travels.
"""

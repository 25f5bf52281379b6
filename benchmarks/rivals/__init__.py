"""The rivals: one file each, run in a process of its own (`benchmarks.rivals.worker`).

A rival that is a Python library is a module with

``REQUIRES``
    the library that must be installed;
``build(source, target, vertices, weights=None)``
    its graph of these undirected edges, in its own best way; only a rival that competes in
    sssp needs weights;
``NAME(graph, **options)``
    a kernel, timed; what it returns is whatever the library returns;
``NAME_answer(result)``
    one number that tells whether the result agrees with dgraph's (`benchmarks.ours.ANSWERS`),
    NaN if it is not meant to. Not timed.

The GAP Benchmark Suite is a folder of programs (`benchmarks.rivals.gap`).
"""

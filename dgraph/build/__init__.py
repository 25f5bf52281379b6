"""Partitions of edges become shards: the slot program, one file for each of its stages.

:mod:`dgraph.build.program` is the program and lists its stages, A to H; their files say which
stage they are. Beside these:

::

    spec, strategy      what a build is told; what a placement strategy is told and asked
    complaints          what the policy "error" finds
    drafting            a graph laid out fast, for strategies that ask for edges
    numberset           a set of numbers that knows the position of each
    rhizomes, splitting which rows are split over slots; splitting them
    pieces, joining     pieces of rows on their way; putting them together again
"""

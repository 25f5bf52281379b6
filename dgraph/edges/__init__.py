"""Edges in: from a user's files or tables to compact chunks that lie on the workers.

::

    read        files -> a Dask DataFrame            sources, layout, survey, text, metis, ...
    inputs      any form of edges -> parts           roles, parts, networks, vertex_inputs
    chunk       a part -> EdgeChunk and Receipt      columns, weights, vertex_chunk
    summary     all receipts -> errors, or what the ids are
    generate    graphs made of numbers
"""

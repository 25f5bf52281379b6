"""Graph algorithms: one file, one algorithm.

Every file has the same parts in the same order: what is computed and by which paper, with the
encodings and the cost; the slot program, which reads like the textbook's pseudo-code; its
kernels; and the function that users call.

A slot program is ``async def NAME_slot(ctx, shard, *arguments)``. It runs on every slot at the
same time, holds results for the masters of its shard, and returns columns by name (see
:mod:`dgraph.engine.columns`). It never knows where a vertex lives or how a frame travels.

Kernels that are long, or that several share, are in files of their own::

    bfs                     _search: a level; _levels: where one slot pushes for all;
                            _pieces: where rows are split over slots
    sssp                    _buckets: from bucket to bucket; _delta: relaxing;
                            _tight, _hops: predecessors, once distances are known
    betweenness_centrality  _brandes, _path_counts; _brandes_weighted: on the tight edges
    connected_components    _forest: labels that are joined
    strong_components       _colours; _tarjan: what one slot has as a whole
    pagerank                _pull: a round; _strength
    cdlp                    _votes: where rows are split
    local_clustering,       _wedges, over the edges that _forward orients
    triangles
    core_number             _peel: what one slot has as a whole
    vertex_program          _supersteps, _messages, _totals
    several                 _weights: checks; _by_weight, _simple: rows in another sequence;
                            _first: the heaviest in-neighbour of every vertex;
                            _sparse: some masters tell their proxies; _together, _finish: one
                            slot does it for all, or does the rest; _prefetch
"""

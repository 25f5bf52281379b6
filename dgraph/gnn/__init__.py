"""Training of graph neural networks: which vertices where, sampling, caches, batches.

.. list-table::

    * - `sample_neighbors`
      - the sampled neighbourhoods of batches of vertices
    * - `NeighborLoader`
      - the batches of an epoch as NumPy arrays, or for torch, prepared while the one before is
        used
    * - `make_tablets`
      - which device trains which vertices
    * - `presample`
      - how often each device reads each vertex
    * - `candidates`, `plan_cache`, `lay_out`
      - what is hot, how much of a cache is for topology, what each device caches
    * - `FeatureCache`
      - what a device caches, in front of where all features are
    * - `compare`, `hit_rates`, `traffic`, `predict`
      - what caches gain, beside those of other systems, counted

The way of Legion: Multi-GPU systems for graph neural networks with automatic cache, USENIX ATC
2023. A device is whatever trains: a GPU, or a slot. The graph and the features stay where they
are, in the feature store; caches hold copies of what is hot. Nothing here needs a GPU, or
torch.

Examples
--------
>>> import dgraph as dg
>>> g = dg.from_edges(dg.generate.grid(8, 8))
>>> tablets = dg.gnn.make_tablets(g, range(0, 64, 4), cliques=[[0, 1], [2, 3]])
>>> hot = dg.gnn.presample(g, tablets.batches(4), fanouts=[3, 3])
>>> room = dg.gnn.Room(budget=1000, dimension=16)
>>> held = dg.gnn.lay_out("legion", hot, tablets.cliques, room)
>>> bool((dg.gnn.hit_rates(held, hot, tablets.cliques) > 0.5).all())
True
"""

from dgraph.gnn.batch import Batch
from dgraph.gnn.cache import CachePlan, plan_cache
from dgraph.gnn.candidates import candidates
from dgraph.gnn.features import FeatureCache
from dgraph.gnn.hotness import Hotness, presample
from dgraph.gnn.layouts import LAYOUTS, Held, Room, lay_out
from dgraph.gnn.loading import NeighborLoader
from dgraph.gnn.measuring import compare, hit_rates, predict, traffic
from dgraph.gnn.sampling import sample_neighbors
from dgraph.gnn.tablets import Tablets, make_tablets

__all__ = [
    "LAYOUTS",
    "Batch",
    "CachePlan",
    "FeatureCache",
    "Held",
    "Hotness",
    "NeighborLoader",
    "Room",
    "Tablets",
    "candidates",
    "compare",
    "hit_rates",
    "lay_out",
    "make_tablets",
    "plan_cache",
    "predict",
    "presample",
    "sample_neighbors",
    "traffic",
]

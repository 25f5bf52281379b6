"""Where vertices live: strategies that give every vertex its owner slot.

A strategy is a value. The build asks it on every slot, about the block of vertices that this
slot numbered: first to measure the block, then, with the measures of all blocks, for the
owners. So no slot needs to know every vertex, and the outcome does not depend on how they were
cut into blocks.

==========  ============  ==================================================================
name        object        owner of a vertex
==========  ============  ==================================================================
degree      `Degree`      rank modulo slots: heaviest first, dealt round
hash        `Hash`        stable hash of the id modulo slots
chunk       `Chunk`       runs of the order of ids, of even weight
2d          `TwoD`        rows by runs of ids, columns by rank
a frame     `Frame`       as the user says
hierarchy   `Hierarchy`   core trees onto the domain tree, refined: cuts the far levels least
metis       `Metis`       METIS's k-way partition (extra "metis")
fennel      `Fennel`      one pass, most neighbours against size
xtree       `XTree`       runs of a breadth-first search
adp         `Adp`         the costliest slot gives vertices away
topox       `TopoX`       light neighbours fused, heavy vertices dealt
auto        `Auto`        the default: degree on one level or two, else by what would be saved
==========  ============  ==================================================================

The first five look at vertices only (`Strategy`); the others look at edges (`EdgeStrategy`):
a draft of the graph is laid out for them, and they say where it belongs. That takes a third of
the time of a build beside their own, and the edges a second time while it lasts. "hierarchy"
works on all slots that there is work for; the five after it gather the graph on one.

Over any of them the edges of heavy vertices can be split (``from_edges(rhizome_max=16)``, see
`dgraph.build.rhizomes`): a vertex keeps its owner, and pieces of its row lie on other slots. So
they do with ``Hierarchy(edges="2d-in-domain")`` (see `dgraph.build.blocks`).
BFS (and SSSP without weights), PageRank, CDLP and weak components work on the pieces; weighted
SSSP, betweenness, strong components, cores, triangles, clustering and vertex programs put the
rows together on the owners when they first run.

`assign` says where a placement would put vertices, `refine` where those of a graph would cost
less, `compare` sets placements side by side, with rhizomes too, and `plot` draws that. No
placement changes any result.
"""

from __future__ import annotations

from dgraph.build.strategy import EdgeStrategy, Given, Strategy, Totals, VertexBlock
from dgraph.placement.adp import Adp
from dgraph.placement.assign import assign, refine
from dgraph.placement.auto import Auto
from dgraph.placement.chunk import Chunk
from dgraph.placement.compare import compare
from dgraph.placement.degree import Degree
from dgraph.placement.fennel import Fennel
from dgraph.placement.frame import Frame
from dgraph.placement.hash import Hash
from dgraph.placement.hierarchy import Hierarchy
from dgraph.placement.metis import Metis
from dgraph.placement.plot import plot
from dgraph.placement.resolve import resolve
from dgraph.placement.topox import TopoX
from dgraph.placement.trees import core_trees
from dgraph.placement.twod import TwoD
from dgraph.placement.xtree import XTree

__all__ = [
    "Adp",
    "Auto",
    "Chunk",
    "Degree",
    "EdgeStrategy",
    "Fennel",
    "Frame",
    "Given",
    "Hash",
    "Hierarchy",
    "Metis",
    "Strategy",
    "TopoX",
    "Totals",
    "TwoD",
    "VertexBlock",
    "XTree",
    "assign",
    "compare",
    "core_trees",
    "plot",
    "refine",
    "resolve",
]

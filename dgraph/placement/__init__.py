"""Where vertices live: strategies that give every vertex its owner slot.

A strategy is a value. The build asks it on every slot, about the block of vertices that this
slot numbered: first to measure the block, then, with the measures of all blocks, for the
owners. So no slot needs to know every vertex, and the outcome does not depend on how they were
cut into blocks.

========  =================================  ==================================================
name      object                             owner of a vertex
========  =================================  ==================================================
degree    `Degree`                           rank modulo slots: heaviest first, dealt round
hash      `Hash`                             stable hash of the id modulo slots
chunk     `Chunk`                            runs of the order of ids, of even weight
a frame   `Frame`                            as the user says
========  =================================  ==================================================
"""

from __future__ import annotations

from dgraph.build.strategy import EdgeStrategy, Given, Strategy, Totals, VertexBlock
from dgraph.placement.chunk import Chunk
from dgraph.placement.degree import Degree
from dgraph.placement.frame import Frame
from dgraph.placement.hash import Hash
from dgraph.placement.hierarchy import Hierarchy
from dgraph.placement.metis import Metis
from dgraph.placement.resolve import resolve
from dgraph.placement.twod import TwoD

__all__ = [
    "Chunk",
    "Degree",
    "EdgeStrategy",
    "Frame",
    "Given",
    "Hash",
    "Hierarchy",
    "Metis",
    "Strategy",
    "Totals",
    "TwoD",
    "VertexBlock",
    "resolve",
]

"""What the user wants to become of edges and vertices that are out of the ordinary."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dgraph.arguments import choice
from dgraph.build.rhizomes import Rhizomes
from dgraph.build.strategy import EdgeStrategy, Strategy
from dgraph.edges.summary import Nulls, SelfLoops
from dgraph.errors import OptionError
from dgraph.topology import Topology

__all__ = ["CHOICES", "Policies"]

#: What the policies may be, the default first.
CHOICES = {
    "duplicates": ("min", "max", "sum", "first", "keep", "error"),
    "self_loops": ("keep", "drop", "error"),
    "nulls": ("error", "drop"),
}

#: How placements may want rows to be split: their attributes.
OWN = "fission", "blocks"


@dataclass(frozen=True, slots=True)
class Policies:
    """What becomes of parallel edges, loops, missing values and heavy vertices.

    Examples
    --------
    >>> Policies(duplicates="average")
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionError: duplicates must be 'min', 'max', 'sum', 'first', 'keep' or \
'error', not 'average'
    """

    duplicates: str = "min"
    self_loops: SelfLoops = "keep"
    nulls: Nulls = "error"
    rhizomes: Rhizomes | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        for name, allowed in CHOICES.items():
            choice(name, getattr(self, name), allowed)

    def split(self, placement: Strategy | EdgeStrategy, topology: Topology) -> Rhizomes | None:
        """Return how heavy vertices are split, as the user or the placement wants it."""
        fission, blocks = (bool(getattr(placement, name, False)) for name in OWN)
        if self.rhizomes is None or self.rhizomes.off:
            found = Rhizomes(None, fission=fission, blocks=blocks, topology=topology)
            return None if found.off else found
        if fission and not self.rhizomes.fission:
            raise OptionError(
                "expected rhizome_max or a placement with fission, got both: heavy vertices "
                "are split in one way, so drop one of them"
            )
        return replace(self.rhizomes.on(topology), blocks=self.rhizomes.blocks or blocks)

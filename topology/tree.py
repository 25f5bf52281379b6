"""The domain tree over the slots of a graph."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from html import escape
from importlib import import_module
from numbers import Integral
from typing import Any

import numpy as np

from dgraph.errors import OptionError, OptionTypeError, TopologyWarning
from dgraph.topology import draw, plot
from dgraph.topology.levels import Levels
from dgraph.topology.nodes import Node, Shape, node_of_paths, node_of_shape, partitions
from dgraph.topology.reading import Reading, placed
from dgraph.topology.sources import read as read_source
from dgraph.warn import warn


@dataclass(frozen=True, repr=False)
class Topology(Levels):
    """A domain tree over slots 0, 1, ...; compares, hashes and pickles by value.

    The tree is kept as one partition of the slots per level, each coarser than the one below:
    at level `l` a slot belongs to the highest domain of height `l` or less that holds it. Two
    slots have level `l` if exactly the partitions 0 .. l - 1 tell them apart. This holds for
    trees of uneven depth too.

    Make one with `from_fanouts`, `from_paths`, `from_shape` or `of_workers`; `read` a file in
    any of the formats of `dgraph.topology.sources`, or `discover` that of a cluster.

    Parameters
    ----------
    partitions : tuple of tuple of int
        Per level, from 0 to the height, each slot's domain. The domains of a level are numbered
        by their first slots; at the top there is one.
    names : tuple of tuple of str
        Per level the names of its domains, in order; ``""`` for none.
    level_names : tuple of str
        What a domain of each level is called, lowest first; may be shorter than the height.
    slot_names : tuple of str
        The name of each slot, or of its host; () for none; not compared.
    source : str
        Where the tree comes from, in words; not compared.
    reading : Reading or None
        What the source said, with paths, warnings and details; not compared.
    lattices : mapping
        The rings and tori of hosts for ``metric="hops"``; `dgraph.topology.sources.lattices`
        says how they are told. Not compared.

    Examples
    --------
    >>> tree = Topology.from_fanouts([3, 2, 2])
    >>> tree
    Topology(slots=12, height=2, domains=4+2+1)
    >>> [int(tree.level(1, slot)) for slot in (2, 4, 7)]
    [0, 1, 2]
    """

    @classmethod
    def from_fanouts(cls, fanouts: Sequence[int]) -> Topology:
        """Lay out a balanced tree, leaf first.

        Parameters
        ----------
        fanouts : sequence of int
            ``fanouts[0]`` slots in each lowest domain, ``fanouts[1]`` of those in each next
            one, and so on.

        Examples
        --------
        >>> Topology.from_fanouts([4, 2, 8, 16]).slots
        1024
        """
        counts = isinstance(fanouts, Collection) and all(
            isinstance(some, Integral) for some in fanouts
        )
        if not counts or len(fanouts) == 0 or min(fanouts) < 1:
            raise OptionError(
                f"fanouts must be integers from 1 on, lowest level first, not {fanouts!r}; "
                "for example [4, 2] is two domains of four slots"
            )
        slots = np.arange(math.prod(fanouts))
        sizes = np.cumprod(fanouts)
        return cls._of([(slots // size).tolist() for size in sizes])

    @classmethod
    def from_paths(
        cls,
        paths: Mapping[int, str | Sequence[str]] | Sequence[str | Sequence[str]],
        level_names: Sequence[str] = (),
    ) -> Topology:
        """Build the tree from every slot's path of domain names, outermost first.

        Parameters
        ----------
        paths : mapping or sequence
            Slot to path: ``"dc1/rack2/host3"`` or ``["dc1", "rack2", "host3"]``. Slots of one
            path share a lowest domain; slots whose path is the beginning of another path form a
            lowest domain of their own below it. Domains are told apart by their whole path.
            Several outermost domains get a root above them.
        level_names : sequence of str, optional
            What a domain of each level is called, lowest first.

        Examples
        --------
        >>> tree = Topology.from_paths({0: "dc1/rack1/a", 1: "dc1/rack1/b", 2: "dc2/rack1/a"})
        >>> tree.levels(0)
        array([0, 1, 3])
        """
        if isinstance(paths, str) or not isinstance(paths, Mapping | Sequence):
            raise OptionTypeError(f"expected a mapping or list of paths, got {paths!r:.60}")
        by_slot = dict(paths if isinstance(paths, Mapping) else enumerate(paths))
        absent = [slot for slot in range(len(by_slot)) if slot not in by_slot]
        if absent or not by_slot:
            raise OptionError(
                f"expected a path for every slot from 0 on, got {len(by_slot)} paths and none "
                f"for slot {absent[0] if absent else 0}; name each slot once"
            )
        return cls._from_node(node_of_paths(by_slot), level_names)

    @classmethod
    def from_shape(cls, shape: Shape) -> Topology:
        """Build an unnamed tree from nested lists; slots are numbered from left to right.

        Parameters
        ----------
        shape : int or nested sequence of int
            A number is a lowest domain of so many slots, a sequence a domain of domains.

        Examples
        --------
        >>> Topology.from_shape([[2, [2, 2]], 3]).level([0, 2, 0], [2, 4, 7])
        array([2, 1, 3])
        """
        return cls._from_node(node_of_shape(shape), ())

    @classmethod
    def of_workers(
        cls,
        workers: Iterable[tuple[int, Hashable, Hashable, *tuple[Hashable, ...]]],
    ) -> Topology:
        """Lay the levels process, host and network over the slots of workers.

        Parameters
        ----------
        workers : iterable of (slots, process key, host key[, shared memory key[, ...]])
            In the order of their slots. Workers of one process share its lowest domain. A
            process key need only be unique on its host. A level for shared memory comes below
            the host if that has several such domains of several processes, and so below that
            a level for each further key; who has fewer keys is alone there.

        Returns
        -------
        Topology
            Of height 0 if there is one process, 1 if one host, else 2; one more with a level
            for shared memory.

        Examples
        --------
        >>> Topology.of_workers([(2, "pid 7", "a"), (2, "pid 8", "a"), (2, "pid 7", "b")])
        Topology(slots=6, height=2, domains=3+2+1)
        """
        rows = [
            (host, tuple(near), process)
            for slots, process, host, *near in workers
            for _ in range(slots)
        ]
        deepest = max((len(near) for _, near, _ in rows), default=0)
        levels: dict[str, list[Any]] = {
            "process": rows,
            **{
                _name_of(depth): [
                    (host, near[:depth], process if len(near) < depth else None)
                    for host, near, process in rows
                ]
                for depth in range(deepest, 0, -1)
            },
            "host": [host for host, _, _ in rows],
            "network": [None for _ in rows],
        }
        counts = {name: len(set(keys)) for name, keys in levels.items()}
        below = counts["process"]
        for depth in range(deepest, 0, -1):
            if counts[_name_of(depth)] in (below, counts["host"]):
                del levels[_name_of(depth)]
            else:
                below = counts[_name_of(depth)]
        for lower, above in (("host", "network"), ("process", "host")):
            if counts[lower] == 1:
                del levels[above]
        return cls._of(list(levels.values()), level_names=tuple(levels))

    @classmethod
    def read(
        cls,
        path_or_text: str | os.PathLike[str],
        format: str | None = None,
        *,
        name: str | None = None,
        labels: Sequence[str] | None = None,
        collapse: bool = False,
    ) -> Topology:
        r"""Read a description of the hosts of a cluster, or of the inside of one machine.

        Parameters
        ----------
        path_or_text : str or path
            A file; a folder with a ``topology.yaml`` or ``topology.conf``; or the text itself.
        format : str, optional
            One of `dgraph.topology.sources`. Default: found out.
        name : str, optional
            Which of several topologies in one file (slurm-yaml).
        labels : sequence of str, optional
            Which labels of nodes name domains, outermost first (kubernetes).
        collapse : bool
            Whether to leave out levels whose domains all hold one domain.

        Returns
        -------
        Topology
            A slot for each host (rank, PU, GPU) in the sequence of the file, `slot_names` are
            their names. `reading` has their paths and what else the file says.

        Raises
        ------
        TopologyError
            If the file is malformed; names the line.

        Warns
        -----
        TopologyWarning
            If it is incomplete or not consistent.

        Examples
        --------
        >>> tree = Topology.read("host,pod,rack\na,p0,r0\nb,p0,r0\nc,p0,r1")
        >>> tree.level("a", ["b", "c"]), tree.reading.format
        (array([0, 1]), 'csv')
        """
        found, called = read_source(path_or_text, format, name=name, labels=labels)
        for warning in found.warnings:
            warn(f"{called}: {warning}", TopologyWarning)
        tree = cls.from_reading(found, f"{called} ({found.format})")
        return tree.collapse() if collapse else tree

    @classmethod
    def from_reading(cls, reading: Reading, source: str = "") -> Topology:
        """Lay a slot on each host of a reading.

        Examples
        --------
        >>> Topology.from_reading(Reading("csv", {"a": ("r0",), "b": ("r1",)})).levels(0)
        array([0, 1])
        """
        if reading.paths:
            tree = cls._from_node(node_of_paths(dict(enumerate(placed(reading.paths)))), ())
        else:  # flat: all hosts are alike, none is named
            tree = cls(((),), (("",),))
        names = tuple(reversed(reading.level_names))
        return replace(
            tree,
            level_names=names if len(names) <= tree.height + 1 else (),
            slot_names=tuple(reading.paths),
            source=source or reading.format,
            reading=reading,
            lattices=reading.details.get("lattices", {}),
        )

    @classmethod
    def discover(cls, client: Any = None, **options: Any) -> Any:
        """Find the topology of a cluster; see `dgraph.engine.discovery.discover`."""
        # The engine is above this layer, so it is named where it is used.
        return import_module("dgraph.engine.discovery").discover(client, **options)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Topology:
        """Rebuild what `to_dict` took apart.

        Examples
        --------
        >>> tree = Topology.from_fanouts([2, 2])
        >>> Topology.from_dict(tree.to_dict()) == tree
        True
        """
        tree = cls._of(record["partitions"], record["names"], record["level_names"])
        return replace(
            tree,
            slot_names=tuple(record.get("slot_names", ())),
            lattices=record.get("lattices", {}),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return lists and strings only, for JSON."""
        return {
            "partitions": [list(partition) for partition in self.partitions],
            "names": [list(names) for names in self.names],
            "level_names": list(self.level_names),
            "slot_names": list(self.slot_names),
            "lattices": dict(self.lattices),
        }

    def collapse(self) -> Topology:
        """Return the tree without levels whose domains all hold just one domain.

        Examples
        --------
        >>> Topology.from_fanouts([1, 2, 1, 2]).collapse()
        Topology(slots=4, height=1, domains=2+1)
        """
        kept = [
            level
            for level in range(self.height + 1)
            if level == self.height or len(self.names[level]) > len(self.names[level + 1])
        ]
        if len(self.names[kept[0]]) == self.slots and len(kept) > 1:
            kept = kept[1:]  # a lowest domain of one slot is that slot
        names = tuple(
            self.level_names[level] for level in kept if level < len(self.level_names)
        )
        return replace(
            self,
            partitions=tuple(self.partitions[level] for level in kept),
            names=tuple(self.names[level] for level in kept),
            level_names=names if len(names) == len(kept) else (),
        )

    def __repr__(self) -> str:
        """Show the size."""
        counts = "+".join(str(len(names)) for names in self.names)
        return f"Topology(slots={self.slots}, height={self.height}, domains={counts})"

    def __str__(self) -> str:
        """Draw the tree."""
        named = self.slot_names if self.reading else ()
        return draw.text(self.partitions, self.names, self.level_names, named)

    def _repr_html_(self) -> str:
        """Draw the tree in a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def plot(self, ax: Any = None) -> Any:
        """Draw the tree with matplotlib; see `dgraph.topology.plot`.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where. Default: a new figure.

        Returns
        -------
        matplotlib Axes
        """
        return plot.plot(self, ax)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields only, not the matrix made of them."""
        return Topology, tuple(getattr(self, field.name) for field in fields(self))

    @classmethod
    def _from_node(cls, root: Node, level_names: Sequence[str]) -> Topology:
        levels = partitions(root)
        names = [[name for name, _ in dict.fromkeys(keys)] for keys in levels]
        return cls._of(levels, names, level_names)

    @classmethod
    def _of(
        cls,
        levels: Sequence[Sequence[Hashable]],
        names: Sequence[Sequence[str]] | None = None,
        level_names: Sequence[str] = (),
    ) -> Topology:
        """Make a tree from any keys of each level's domains, one key per slot."""
        if not levels or not levels[0]:
            raise OptionError("expected at least one slot, got none; give every domain a slot")
        numbered = []  # by their first slots
        for keys in levels:
            number = {key: n for n, key in enumerate(dict.fromkeys(keys))}
            numbered.append(tuple(number[key] for key in keys))
        if names is None:
            names = [[""] * (max(partition) + 1) for partition in numbered]
        return cls(tuple(numbered), tuple(map(tuple, names)), tuple(level_names))


def _name_of(depth: int) -> str:
    """Return what a domain inside of a host is called: of shared memory, else of hardware.

    Examples
    --------
    >>> _name_of(1), _name_of(2)
    ('shared memory', 'hardware 1')
    """
    return "shared memory" if depth == 1 else f"hardware {depth - 1}"

"""Lay the slots of workers on the hosts that a source describes.

::

    a source        pod, rack, ...        Reading or Topology with a slot per host
    the workers     host, process         matched to hosts by name
    together        level 0 process, 1 host, 2 lowest domain of hosts, ...
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dgraph.errors import OptionError
from dgraph.topology.reading import Reading, find_host
from dgraph.topology.tree import Topology

__all__ = ["Laid", "MismatchError", "lay"]


class MismatchError(OptionError):
    """A topology does not fit the workers: it has other hosts, or another number of slots."""


@dataclass(frozen=True)
class Laid:
    """A worker whose slots are laid.

    Parameters
    ----------
    slots : int
    process, host : hashable
        The same for two workers only if they are one process, or on one host.
    names : sequence of str
        What its host may be called, the best name first.
    """

    slots: int
    process: Hashable
    host: Hashable
    names: Sequence[str]


def lay(workers: Iterable[Laid], reading: Reading, source: str) -> tuple[Topology, list[str]]:
    """Return the domain tree over the slots of workers, and the hosts that were not found.

    Parameters
    ----------
    workers : iterable of Laid
        In the order of their slots.
    reading : Reading
        Of hosts. A host that it lacks is a domain of its own below the root.
    source : str
        What `Topology.source` will say.

    Raises
    ------
    MismatchError
        If the source names none of the hosts.

    Examples
    --------
    >>> racks = Reading("csv", {"a": ("r0",), "b": ("r0",), "c": ("r1",)}, ("rack",))
    >>> workers = [Laid(2, "pid 1", host, [f"{host}.org"]) for host in "abc"]
    >>> tree, missing = lay(workers, racks, "hosts.csv")
    >>> tree.levels(0), tree.level_names
    (array([0, 0, 2, 2, 3, 3]), ('process', 'host', 'rack', ''))
    """
    workers = list(workers)
    hosts = list(reading.paths)
    found = [find_host(worker.names, hosts) for worker in workers]
    if hosts and not any(found):
        called = " or ".join(workers[0].names)
        raise MismatchError(
            f"{source} names none of the hosts of the workers, it has {', '.join(hosts[:5])} "
            f"and they are called {called}: set DGRAPH_HOST on each worker to its name there"
        )
    named = [host or worker.names[0] for host, worker in zip(found, workers, strict=True)]
    missing = (
        []
        if not hosts
        else list(
            dict.fromkeys(name for name, host in zip(named, found, strict=True) if host is None)
        )
    )
    over = _hosts(reading, missing, named)
    return _together(workers, named, over, source), missing


def _hosts(reading: Reading, missing: Sequence[str], named: Sequence[str]) -> Topology:
    """Return the tree over hosts, with those that the source lacks."""
    if not reading.paths:  # flat: one domain of whatever hosts there are
        reading = replace(reading, paths={name: ("network",) for name in named})
    paths = dict(reading.paths) | {name: () for name in missing}
    return Topology.from_reading(replace(reading, paths=paths))


def _together(
    workers: Sequence[Laid], named: Sequence[str], over: Topology, source: str
) -> Topology:
    at = [over.slot_names.index(name) for name in named]
    slots = [number for number, worker in enumerate(workers) for _ in range(worker.slots)]
    levels: list[list[Any]] = [
        [(workers[n].host, named[n], workers[n].process) for n in slots],
        [(workers[n].host, named[n]) for n in slots],
    ]
    names: list[dict[Any, str]] = [{}, {key: key[1] for key in levels[1]}]
    for level, partition in enumerate(over.partitions):
        levels.append([partition[at[n]] for n in slots])
        names.append(dict(enumerate(over.names[level])))
    kinds = ["process", "host", *over.level_names]
    kinds += [""] * (len(levels) - len(kinds))
    while len(levels) > 2 and len(set(levels[-2])) == 1:
        levels.pop()
    return replace(
        Topology._of(
            levels,
            [
                [known.get(key, "") for key in dict.fromkeys(keys)]
                for keys, known in zip(levels, names, strict=False)
            ],
            kinds[: len(levels)],
        ),
        slot_names=tuple(named[n] for n in slots),
        source=source,
        lattices=over.lattices,
    )

"""What was measured between slots: the costs by level and transport, kept for later runs.

A time is one way: from the call that sends until the last byte is there; the median, of the
wire the least. ``alpha`` is the least of small messages, ``beta`` the slope at the largest
sizes, so that what a connection needs to get going does not count as rate.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import numpy as np
from numpy.typing import NDArray

from dgraph.errors import OptionError, OutputError, TopologyFileError
from dgraph.topology.levels import Levels
from dgraph.topology.sources.located import expect, load
from dgraph.topology.sources.text import Text

__all__ = ["PROBED", "SIZES", "WIRE", "Link", "Probe", "fit", "keep", "kept", "named"]

#: The name of the costs that were probed on the hosts at hand.
PROBED = "probed"

#: Bytes of the messages that are measured: 1 B to 16 MiB.
SIZES = (1, 64, *(1 << k for k in range(10, 25, 2)))

#: The network itself, by plain sockets: measured to be known, not a transport of runs.
WIRE = "wire"

#: Seconds that a slot spends on a frame at most, by transport: measured on one machine. Over
#: comms the event loop takes 0.09 ms to write a message and 0.07 to 0.11 to read one.
SPENT = {"shm": 1e-5, "unix": 1e-5, "tcp": 3e-5, "comm": 2e-4}

_KIND = "dgraph-probe"
_SMALL = 1 << 10  # up to this size, bytes cost nothing beside the message
_FRAME = 1 << 16  # the size of frame for which a model takes the best transport


@dataclass(frozen=True)
class Link:
    """One level and transport, as measured between one pair of slots.

    Parameters
    ----------
    level : int
    transport : str
        "reference", "shm", "unix", "tcp", "comm", "mpi" or "wire".
    pair : (int, int)
        The slots.
    sizes : tuple of int
        Bytes of a message.
    seconds : tuple of float
        Time for one way of each.
    alpha, beta : float
        Seconds per message and per byte.
    """

    level: int
    transport: str
    pair: tuple[int, int]
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    alpha: float
    beta: float

    def at(self, size: Any) -> Any:
        """Return the seconds for messages of such sizes, interpolated.

        Examples
        --------
        >>> link = Link(1, "comm", (0, 1), (1, 100), (1.0, 2.0), 1.0, 0.01)
        >>> float(link.at(10)), float(link.at(200))
        (1.414..., 3.0)
        """
        size = np.asarray(size, float)
        logs = np.interp(np.log(size), np.log(self.sizes), np.log(self.seconds))
        beyond = self.beta * np.maximum(size - self.sizes[-1], 0)
        return np.exp(logs) + beyond


def fit(sizes: Sequence[int], seconds: Sequence[float]) -> tuple[float, float]:
    """Return alpha and beta of measured times.

    Examples
    --------
    >>> fit([1, 1000, 1000000, 4000000], [0.001, 0.001, 0.011, 0.041])
    (0.001, 1e-08)
    """
    small = [time for size, time in zip(sizes, seconds, strict=True) if size <= _SMALL]
    alpha = float(min(small, default=seconds[0]))
    large: NDArray[Any] = np.asarray(sizes, float) * 16 >= sizes[-1]
    x, y = np.asarray(sizes, float)[large], np.asarray(seconds, float)[large]
    if len(x) < 2:
        return alpha, max(float(y[-1] - alpha), 0.0) / float(x[-1])
    slope = float(np.polyfit(x, y, 1)[0])
    return alpha, round(slope if slope > 0 else float(y[-1] / x[-1]), 18)


@dataclass(frozen=True)
class Probe:
    """What was measured on one cluster.

    Parameters
    ----------
    height : int
        Of its topology.
    hosts : tuple of str
        The names of its hosts, sorted.
    links : tuple of Link
    level_names : tuple of str
        What a domain of each level is called.

    Examples
    --------
    >>> near = Link(0, "reference", (0, 1), (1, 64), (1e-5, 1e-5), 1e-5, 0.0)
    >>> far = Link(1, "comm", (0, 2), (1, 64), (1e-3, 2e-3), 1e-3, 1e-8)
    >>> probe = Probe(1, ("a", "b"), (near, far))
    >>> probe.costs(1)
    ((1e-05, 0.001), (0.0, 1e-08))
    >>> Probe.from_dict(json.loads(json.dumps(probe.to_dict()))) == probe
    True
    """

    height: int
    hosts: tuple[str, ...]
    links: tuple[Link, ...]
    level_names: tuple[str, ...] = ()

    def link(self, level: int, transport: str) -> Link:
        """Return what was measured of a transport at a level."""
        for link in self.links:
            if (link.level, link.transport) == (level, transport):
                return link
        known = ", ".join(f"{link.level} {link.transport}" for link in self.links)
        raise OptionError(f"expected one of the links {known}, got {level} {transport}")

    def transports(self, level: int) -> list[Link]:
        """Return what runs could use at a level."""
        return [link for link in self.links if link.level == level and link.transport != WIRE]

    def best(self, level: int, size: int) -> str:
        """Return the transport that carries a message of this size fastest at a level."""
        found = min(self.transports(level), key=lambda link: float(link.at(size)), default=None)
        if found is None:
            raise OptionError(f"expected a level at which two slots meet, got {level}")
        return found.transport

    def crossovers(self, level: int) -> list[tuple[int, str, str]]:
        """Return the sizes at which another transport becomes the best: (bytes, before, after).

        Examples
        --------
        >>> few = Link(1, "unix", (0, 1), (1, 10**6), (1e-5, 1e-2), 1e-5, 1e-8)
        >>> many = Link(1, "comm", (0, 1), (1, 10**6), (1e-4, 1e-3), 1e-4, 1e-9)
        >>> Probe(1, ("a",), (few, many)).crossovers(1)
        [(1024, 'unix', 'comm')]
        """
        links = self.transports(level)
        if not links:
            return []
        sizes = [1 << k for k in range(25)]
        order = np.argmin([link.at(sizes) for link in links], axis=0)
        return [
            (sizes[at], links[order[at - 1]].transport, links[order[at]].transport)
            for at in range(1, len(sizes))
            if order[at] != order[at - 1]
        ]

    def network(self, level: int) -> Link | None:
        """Return what is known of the network at a level: the wire, else the best transport."""
        links = [link for link in self.links if link.level == level]
        wires = [link for link in links if link.transport == WIRE]
        return min(wires or links, key=lambda link: link.alpha, default=None)

    def costs(self, height: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return alpha and beta by level up to a height, each of the level's best transport.

        A level at which no two slots meet costs what the one below does.
        """
        if height > self.height:
            raise OptionError(
                f"expected a probe of at least {height + 1} levels, got {self.height + 1}: "
                "probe this cluster with this topology"
            )
        alpha: list[float] = []
        beta: list[float] = []
        for best in self._best(height):
            alpha.append(best.alpha if best else (alpha or [0.0])[-1])
            beta.append(best.beta if best else (beta or [0.0])[-1])
        return tuple(alpha), tuple(beta)

    def latencies(self, height: int) -> tuple[float, ...]:
        """Return by level what of alpha is the way: more than at the transport's nearest level.

        So much passes for all frames at once. Of the nearest level's alpha, which is a way too,
        and on a busy machine mostly waiting, a slot spends no more on a frame than `SPENT`.

        Examples
        --------
        >>> near = Link(1, "comm", (0, 1), (1, 64), (1e-3, 1e-3), 1e-3, 0.0)
        >>> far = Link(2, "comm", (0, 2), (1, 64), (9e-3, 9e-3), 9e-3, 1e-8)
        >>> [round(each, 6) for each in Probe(2, ("a", "b"), (near, far)).latencies(2)]
        [0.0, 0.0008, 0.0088]
        """
        nearest: dict[str, float] = {}
        latency: list[float] = []
        for best in self._best(height):
            if best is None:
                latency.append((latency or [0.0])[-1])
            else:
                spent = min(best.alpha, SPENT.get(best.transport, best.alpha))
                alpha = nearest.setdefault(best.transport, spent)
                latency.append(max(best.alpha - alpha, 0.0))
        return tuple(latency)

    def carriers(self, height: int) -> tuple[str, ...]:
        """Return the best transport at each level of a tree, "" where nothing was measured.

        Examples
        --------
        >>> unix = Link(1, "unix", (0, 1), (1, 64), (1e-5, 1e-5), 1e-5, 0.0)
        >>> comm = Link(1, "comm", (0, 1), (1, 64), (1e-4, 1e-4), 1e-4, 0.0)
        >>> Probe(1, ("a",), (comm, unix)).carriers(2)
        ('', 'unix', '')
        """
        return tuple("" if link is None else link.transport for link in self._best(height))

    def _best(self, height: int) -> list[Link | None]:
        """Return for each level the link of the transport that frames take."""
        levels = [self.transports(level) for level in range(height + 1)]
        return [
            min(links, key=lambda link: float(link.at(_FRAME)), default=None)
            for links in levels
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return what `save` writes."""
        crossovers = {str(level): self.crossovers(level) for level in range(self.height + 1)}
        fields = asdict(self)
        return {"kind": _KIND, **fields, "crossovers": crossovers}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], text: Text | None = None) -> Probe:
        """Rebuild what `to_dict` took apart."""
        text = text or Text("", "probe")
        if not isinstance(record, Mapping) or record.get("kind") != _KIND:
            raise text.error(1, f'expected a probe, a JSON object of "kind" "{_KIND}"')
        links = [_read_link(each, text) for each in expect(record, "links", list, text)]
        return cls(
            expect(record, "height", int, text),
            tuple(expect(record, "hosts", list, text)),
            tuple(links),
            tuple(record.get("level_names", ())),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write JSON, whole or not at all."""
        path = Path(path)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            beside.write_text(json.dumps(self.to_dict(), indent=1) + "\n")
            beside.replace(path)
        except OSError as error:
            raise OutputError(
                f"the probe was not written to {str(path)!r}, {error.strerror}: choose another "
                "place, or make room"
            ) from error
        finally:
            with contextlib.suppress(OSError):
                beside.unlink()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Probe:
        """Read what `save` has written."""
        path = Path(path)
        try:
            text = Text.of(path.read_text(), path.name)
        except (OSError, UnicodeDecodeError):
            raise TopologyFileError(f"expected a probe, there is no file {path}") from None
        return cls.from_dict(load(text), text)

    def __str__(self) -> str:
        """Show a table: level, transport, latency, rate, and where transports change."""
        rows = [f"{'level':<24}{'transport':<11}{'latency':>11}{'rate':>12}"]
        for link in sorted(self.links, key=lambda link: link.level):
            names = self.level_names
            named = names[link.level] if link.level < len(names) else ""
            rate = f"{1e-6 / link.beta:.1f} MB/s" if link.beta else "-"
            rows.append(
                f"{f'{link.level} {named}':<24}{link.transport:<11}"
                f"{link.alpha * 1e3:>8.4f} ms{rate:>12}"
            )
        for level in range(self.height + 1):
            rows += [
                f"level {level}: {after} is faster than {before} from {size} bytes on"
                for size, before, after in self.crossovers(level)
            ]
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return f"<pre>{escape(str(self))}</pre>"


def _read_link(record: Any, text: Text) -> Link:
    """Return the link that an object of a probe describes."""
    sizes, seconds = (tuple(expect(record, key, list, text)) for key in ("sizes", "seconds"))
    alpha, beta = (expect(record, key, float | int, text) for key in ("alpha", "beta"))
    pair, level = expect(record, "pair", list, text), expect(record, "level", int, text)
    figures = [*sizes, *seconds, alpha, beta]
    if not (
        all(type(figure) in (int, float) and 0 <= figure < math.inf for figure in figures)
        and 0 < len(sizes) == len(seconds)
        and all(0 < one < other for one, other in pairwise(sizes))
        and min(*sizes, *seconds) > 0
        and len(pair) == 2
    ):
        raise text.error(
            record.line,
            "expected ascending sizes, as many seconds, a pair of slots, and figures that are "
            "not negative",
        )
    transport = expect(record, "transport", str, text)
    return Link(level, transport, tuple(pair), sizes, seconds, float(alpha), float(beta))


def keep(probe: Probe) -> Path | None:
    """Keep a probe for later runs on the same hosts; None if there is no place for it."""
    path = _place(probe.hosts, probe.height)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe.save(path)
    except OSError:
        return None
    return path


def kept(topology: Levels) -> Probe:
    """Return the probe that was kept of these hosts.

    Raises
    ------
    TopologyFileError
        If there is none.
    """
    hosts = sorted(set(topology.slot_names))
    path = _place(hosts, topology.height)
    if not path.is_file():
        raise TopologyFileError(
            f"expected a probe of {', '.join(hosts[:3]) or 'this cluster'} with "
            f"{topology.height + 1} levels, there is none: call dgraph.topology.probe(client) "
            "first"
        )
    return Probe.read(path)


def named(cost: Any, topology: Levels | int) -> Probe | None:
    """Return the probe that a cost names, see `CostModel.of`; None if it is of another kind.

    Examples
    --------
    >>> named("decade", 1) is None
    True
    """
    if isinstance(cost, str) and cost == PROBED:
        if isinstance(topology, int):
            raise OptionError(
                'expected the topology, of whose hosts the costs are "probed", got its '
                "height: pass the Topology"
            )
        return kept(topology)
    if isinstance(cost, str) and cost.endswith(".json"):
        return Probe.read(cost)
    return cost if isinstance(cost, Probe) else None


def _place(hosts: Iterable[str], height: int) -> Path:
    """Return where the probe of a cluster is kept: the same hosts, the same levels."""
    key = hashlib.sha256(json.dumps([sorted(hosts), height]).encode()).hexdigest()[:16]
    folder = dask.config.get("dgraph.probes", None)
    if folder is None:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(cache, "dgraph", "probes")
    return Path(folder, f"{key}.json")

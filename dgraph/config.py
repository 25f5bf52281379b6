"""Configuration: how things are done, never what comes out.

The keys live in Dask's configuration under ``dgraph`` and have their defaults in
``dgraph.yaml`` beside this file. The client reads them into :class:`Options` when a run starts
and sends them with it, because worker processes do not see the client's ``dask.config.set``.

>>> import dask
>>> from dgraph.config import Options
>>> with dask.config.set({"dgraph.timeouts.join": "2 minutes"}):
...     Options.read().join_timeout
120.0
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import dask
from dask.utils import parse_bytes, parse_timedelta

from dgraph.errors import ConfigurationWarning, OptionError
from dgraph.keywords import hint, nearest
from dgraph.warn import warn

__all__ = ["BufferOptions", "Options", "check_keys"]

BUFFERS = ("dynamic", "static")
ROUTINGS = ("auto", "direct", "aml", "mst", "rail", "monitor", "multileader", "tree")
TRANSPORTS = ("auto", "mpi", "shm", "unix", "tcp", "comm")

_DEFAULTS = Path(__file__).with_name("dgraph.yaml")
_KNOWN: Mapping[str, Any] = next(dask.config.collect_yaml([str(_DEFAULTS)]))["dgraph"]
_given = dask.config.get("dgraph.buffers", None)
dask.config.update_defaults({"dgraph": dict(_KNOWN)})
if isinstance(_given, str):  # a mapping of defaults takes the place of a word, as Dask has it
    dask.config.set({"dgraph.buffers.mode": _given})


#: No less than this can be the cap of the buffers: a piece of a frame may be so long.
LEAST_CAP = 1 << 20


@dataclass(frozen=True, slots=True)
class BufferOptions:
    """How frames are buffered on their way to another process.

    Parameters
    ----------
    mode : {"dynamic", "static"}
        When all buffers for a process are on their way: fill a larger one, or wait.
    size : int or None
        Bytes at which a buffer is full; None: by what frames and bytes cost at the level.
    reserved : int
        Buffers for each process beside the one that is filled.
    cap : int or None
        The most bytes that all buffers of a worker hold; None: 5 % of its memory limit.

    Examples
    --------
    >>> with dask.config.set({"dgraph.buffers": {"mode": "static", "cap": "4 MiB"}}):
    ...     Options.read().buffers
    BufferOptions(mode='static', size=None, reserved=4, cap=4194304)
    >>> with dask.config.set({"dgraph.buffers.cap": "4 MiB"}):
    ...     Options.read().buffers.cap
    4194304
    """

    mode: str = "dynamic"
    size: int | None = None
    reserved: int = 4
    cap: int | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What the configuration said when a run started.

    Parameters
    ----------
    routing : {"auto", "direct", "aml", "mst", "rail", "monitor", "multileader", "tree"}
        The way of a message between slots; see :mod:`dgraph.exchange.routing`.
    transport : {"auto", "mpi", "shm", "unix", "tcp", "comm"}
        The carrier between processes: MPI between ranks of one job, Unix sockets between
        processes of one host, TCP sockets between hosts, Dask's comms between any. "auto" takes
        for each pair what is the fastest by a probe that `cost` names, if it works; else the
        first of these that works, but sockets on a host with fewer cores than slots.
    combine : bool
        Whether messages to one vertex are combined at the gateways of a routing.
    join_timeout, silence_timeout : float
        Seconds until all workers of a run must have joined it, and until a worker that says
        nothing is given up.
    progress : bool or "auto"
        Whether a progress bar is written to standard error; "auto": if it is a terminal.
    cost : None, str or dict
        What a frame and a byte cost by level: the name of a preset of
        :class:`~dgraph.topology.CostModel`, "probed", the .json file of a probe, or
        ``{"alpha": [...], "beta": [...]}`` in seconds.
        None: as was measured between processes and hosts.
    buffers : BufferOptions
        How frames are buffered on their way to another process.
    carriers : tuple of str
        By level, the transport that a probe found the fastest, or ""; () without a probe. Not
        read from the configuration, but from the probe that `cost` names.
    pin : bool
        Whether threads keep to their cores where those of a run fill a host.

    Examples
    --------
    >>> Options.read().routing
    'auto'
    >>> with dask.config.set({"dgraph.routing": "scenic"}):
    ...     Options.read()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dgraph.errors.OptionError: dgraph.routing must be 'auto' or 'direct' or ..., not 'scenic'
    """

    routing: str
    transport: str
    combine: bool
    join_timeout: float
    silence_timeout: float
    progress: bool | Literal["auto"]
    cost: Any = None
    buffers: BufferOptions = BufferOptions()
    carriers: tuple[str, ...] = ()
    pin: bool = True

    @classmethod
    def read(cls) -> Self:
        """Read and check the configuration of this process.

        Raises
        ------
        OptionError
            If a key has a value that is not allowed; the message says what is. A key that is
            not known is none of its business: see :func:`check_keys`.
        """
        return cls(
            routing=_choice("routing", ROUTINGS),
            transport=_choice("transport", TRANSPORTS),
            combine=_choice("combine", (True, False)),
            join_timeout=_seconds("timeouts.join"),
            silence_timeout=_seconds("timeouts.silence"),
            progress=_choice("progress", ("auto", True, False)),
            cost=_cost(),
            buffers=_buffers(),
            pin=_choice("pin", (True, False)),
        )


def check_keys() -> None:
    """Warn of keys that are not known, for they are misspelt.

    Once for each call of a user's, where that begins: it may read the configuration often.

    Warns
    -----
    ConfigurationWarning
        For each such key; names the nearest that is known.
    """
    known = _keys(_KNOWN)
    checked = {**_KNOWN, "buffers": None}  # what is in there is checked with its values
    for key in _unknown(dask.config.get("dgraph", {}), checked):
        inner = [name for name in known if name.endswith(f".{key.rpartition('.')[2]}")]
        near = inner[0] if inner else nearest(key, known, 0.5)
        remedy = f"did you mean dgraph.{near}?" if near else f"known are {', '.join(known)}"
        warn(
            f"dgraph.{key} is no key of the configuration and has no effect: {remedy}",
            ConfigurationWarning,
        )


def _keys(settings: Mapping[str, Any]) -> list[str]:
    """Return the keys of settings, those inside of others after a dot.

    >>> _keys({"routing": "direct", "timeouts": {"join": "300s"}})
    ['routing', 'timeouts.join']
    """
    return [
        f"{key}.{inner}" if inner else key
        for key, value in settings.items()
        for inner in (_keys(value) if isinstance(value, Mapping) else [""])
    ]


def _unknown(settings: Any, known: Mapping[str, Any]) -> list[str]:
    """Return the keys that are not among those known.

    >>> _unknown({"cost": {"alpha": 1}, "timeouts": {"jion": 3}}, {"cost": "", "timeouts": {}})
    ['timeouts.jion']
    """
    if not isinstance(settings, Mapping):
        return []
    spelled = {str(key).replace("_", "-"): value for key, value in known.items()}
    unknown = []
    for key, value in settings.items():
        name = str(key).replace("_", "-")
        if name not in spelled:
            unknown.append(str(key))
        elif isinstance(spelled[name], Mapping):
            unknown += [f"{key}.{inner}" for inner in _unknown(value, spelled[name])]
    return unknown


def _choice(key: str, allowed: Iterable[Any]) -> Any:
    value = dask.config.get(f"dgraph.{key}")
    for choice in allowed:
        if type(value) is type(choice) and value == choice:
            return choice
    choices = " or ".join(map(repr, allowed))
    raise OptionError(f"dgraph.{key} must be {choices}, not {value!r}{hint(value, allowed)}")


def _cost() -> Any:
    value = dask.config.get("dgraph.cost")
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping) and value.keys() - {"latency", "link"} == {"alpha", "beta"}:
        with contextlib.suppress(TypeError, ValueError):
            return {name: tuple(map(float, figures)) for name, figures in value.items()}
    raise OptionError(
        "dgraph.cost must be the name of a preset, 'probed', a probe's .json file or {'alpha': "
        f"seconds per frame by level, 'beta': seconds per byte by level}}, not {value!r}"
    )


def _buffers() -> BufferOptions:
    value = dask.config.get("dgraph.buffers")
    wanted: Any = {"mode": value} if isinstance(value, str) else value
    with contextlib.suppress(TypeError, ValueError, AttributeError):
        found = BufferOptions(
            mode=wanted.get("mode", "dynamic"),
            size=_bytes(wanted.get("size")),
            reserved=wanted.get("reserved", 4),
            cap=_bytes(wanted.get("cap")),
        )
        size, cap = found.size, found.cap
        known = wanted.keys() <= {"mode", "size", "reserved", "cap"} and found.mode in BUFFERS
        counts = type(found.reserved) is int and 1 <= found.reserved <= 1024
        sizes = (size is None or size >= 1) and (cap is None or cap >= LEAST_CAP)
        if known and counts and sizes and (size or 0) <= (cap or LEAST_CAP):
            return found
    raise OptionError(
        "dgraph.buffers must be 'dynamic' or 'static' or {'mode': one of these, 'size': bytes "
        "of a buffer, at most 'cap', 'reserved': 1 to 1024 buffers, 'cap': bytes of all, at "
        f"least 1 MiB}}, not {value!r}"
    )


def _bytes(value: Any) -> int | None:
    """Return a number of bytes such as 65536 or "64 KiB".

    Examples
    --------
    >>> _bytes("64 KiB"), _bytes(7), _bytes(None)
    (65536, 7, None)
    """
    if value is None:
        return None
    if isinstance(value, bool):
        raise TypeError("a truth value is no number of bytes")
    return int(parse_bytes(value))


def _seconds(key: str) -> float:
    value = dask.config.get(f"dgraph.{key}")
    try:
        seconds = float(parse_timedelta(value))
    except (TypeError, ValueError, KeyError, AttributeError):
        seconds = 0.0
    if isinstance(value, bool) or not 0 < seconds < float("inf"):
        raise OptionError(
            f"dgraph.{key} must be a positive time such as '90s' or 90, not {value!r}"
        )
    return seconds

"""What a source says of the communication hierarchy, before slots are laid over it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Reading", "find_host", "placed"]

Path = tuple[str, ...]

_ADDRESS = re.compile(r"[\d.]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*")


@dataclass(frozen=True)
class Reading:
    """What one file, text or environment says.

    Parameters
    ----------
    format : str
        The name of the format, such as "slurm".
    paths : mapping
        Every host (or rank, PU, device: see `unit`) to the names of its domains, outermost
        first, the host itself not included.
    level_names : tuple of str
        What the source calls a domain of each level, outermost first; () if it does not say.
    warnings : tuple of str
        What the user must be told.
    details : mapping
        What else the format says, such as link speeds or the link matrix.
    unit : str
        What has a path: "host", "rank", "PU" or "device".

    Examples
    --------
    >>> Reading("csv", {"a": ("pod0", "rack1")}, ("pod", "rack")).paths["a"]
    ('pod0', 'rack1')
    """

    format: str
    paths: Mapping[str, Path]
    level_names: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    unit: str = "host"


def placed(paths: Mapping[str, Path]) -> list[Path]:
    """Return the paths, longer by a domain for each host that has none to itself or to share.

    A host without a path, or directly in a domain of domains, is a lowest domain of its own.

    Examples
    --------
    >>> placed({"a": ("p", "q"), "b": ("p",), "c": ()})
    [('p', 'q'), ('p', 'b'), ('c',)]
    """
    above = {path[:depth] for path in paths.values() for depth in range(len(path))} | {()}
    return [(*path, host) if path in above else path for host, path in paths.items()]


def find_host(names: Iterable[str], hosts: Sequence[str]) -> str | None:
    """Return the host that one of the names means: by the full name, else before the first dot.

    Examples
    --------
    >>> find_host(["n1.example.org"], ["n1", "n2"]), find_host(["n1"], ["n1.example.org"])
    ('n1', 'n1.example.org')
    >>> find_host(["10.0.0.1"], ["10.0.0.2"]), find_host(["n"], ["n.a", "n.b"])
    (None, None)
    """
    names = list(names)
    known = set(hosts)
    for name in names:
        if name in known:
            return name
    short: dict[str, list[str]] = {}
    for host in hosts:
        short.setdefault(_short(host), []).append(host)
    for name in names:
        found = short.get(_short(name), [])
        if len(found) == 1:
            return found[0]
    return None


def _short(name: str) -> str:
    """Return a name up to its first dot; an address of numbers is one word."""
    return name if _ADDRESS.fullmatch(name) else name.split(".")[0]

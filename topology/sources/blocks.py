"""Slurm's blocks: base blocks of hosts, and larger ones that join consecutive base blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dgraph.topology.sources.text import Text

__all__ = ["join", "paths_of_blocks"]


def paths_of_blocks(
    blocks: Mapping[str, Sequence[str]], sizes: Sequence[int], text: Text, line: int | None
) -> dict[str, tuple[str, ...]]:
    """Return each host's path, outermost first.

    Parameters
    ----------
    blocks : mapping of name to hosts
        The base blocks in their sequence.
    sizes : sequence of int
        Hosts in a block of each level, base blocks first: level k joins ``sizes[k] /
        sizes[0]`` of them, a power of two. Empty: base blocks only.
    text, line
        Where the sizes are written, for errors.

    Examples
    --------
    >>> paths_of_blocks({"k1": ["a"], "k2": ["b"]}, [1, 2], Text(""), None)
    {'a': ('k1+k2', 'k1'), 'b': ('k1+k2', 'k2')}
    """
    names = list(blocks)
    above: dict[str, list[str]] = {name: [name] for name in names}
    for wide in _widths(sizes, text, line):
        for start in range(0, len(names), wide):
            some = names[start : start + wide]
            for name in some:
                above[name].insert(0, join(some))
    paths: dict[str, tuple[str, ...]] = {}
    for name, hosts in blocks.items():
        for host in hosts:
            if host in paths:
                raise text.error(
                    line, f"host {host} is in two blocks, {paths[host][-1]} and {name}"
                )
            paths[host] = tuple(above[name])
    return paths


def join(names: Sequence[str]) -> str:
    """Name the domain that joins others.

    Examples
    --------
    >>> join(["b1", "b2"])
    'b1+b2'
    """
    return "+".join(names)


def _widths(sizes: Sequence[int], text: Text, line: int | None) -> list[int]:
    """Return how many base blocks a block of each upper level joins."""
    widths: list[int] = []
    for size in sizes[1:]:
        wide, rest = divmod(size, sizes[0]) if sizes[0] > 0 else (0, 1)
        if rest or wide < 1 or wide & (wide - 1) or wide <= (widths or [1])[-1]:
            raise text.error(
                line,
                "expected block sizes that ascend, each a power of two times the first, got "
                f"{','.join(map(str, sizes))}",
            )
        widths.append(wide)
    return widths

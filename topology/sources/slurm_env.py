"""``SLURM_TOPOLOGY_ADDR`` and ``SLURM_TOPOLOGY_ADDR_PATTERN`` of every worker.

Slurm sets both in every job, and reading them needs no rights. As a text: a JSON list with an
object per worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dgraph.topology.reading import Reading
from dgraph.topology.sources.hostlist import expand
from dgraph.topology.sources.located import expect, load, warn_of_unknown
from dgraph.topology.sources.text import Notes, Text

__all__ = ["ADDRESS", "NAME", "PATTERN", "of_workers", "parse", "recognise", "take_apart"]

NAME = "slurm-env"
ADDRESS, PATTERN = "SLURM_TOPOLOGY_ADDR", "SLURM_TOPOLOGY_ADDR_PATTERN"


def recognise(text: Text) -> bool:
    """Say whether a text looks like this format."""
    return text.content.lstrip().startswith("[") and f'"{ADDRESS}"' in text.content


def parse(text: Text, **options: Any) -> Reading:
    """Read the variables of workers, written as JSON.

    Examples
    --------
    >>> worker = '[{"worker": "w", "SLURM_TOPOLOGY_ADDR": "sp.l1.n1.org", '
    >>> worker += '"SLURM_TOPOLOGY_ADDR_PATTERN": "switch.switch.node"}]'
    >>> parse(Text(worker)).paths
    {'n1.org': ('sp', 'l1')}
    """
    notes = Notes()
    workers = []
    found = load(text)
    if not isinstance(found, list):
        raise text.error(1, f"expected a list of workers, got {found!r:.60}")
    for each in found:
        name = expect(each, "worker", str, text, found)
        for key in (ADDRESS, PATTERN):
            if each.get(key):
                expect(each, key, str, text)
        warn_of_unknown(each, ("worker", ADDRESS, PATTERN), notes)
        workers.append((name, each, each.line))
    return of_workers(workers, text, notes)


def of_workers(
    workers: Iterable[tuple[str, Mapping[str, Any], int | None]],
    text: Text,
    notes: Notes | None = None,
) -> Reading:
    """Return what the variables of workers say.

    Parameters
    ----------
    workers : iterable of (name, environment, line or None)
    text : Text
        For errors.
    notes : Notes, optional
    """
    notes = notes or Notes()
    paths: dict[str, tuple[str, ...]] = {}
    hosts: dict[str, str] = {}
    without = []
    for worker, environment, line in workers:
        if not environment.get(ADDRESS) or not environment.get(PATTERN):
            without.append(worker)
            notes.add(f"a worker without topology variables is a domain of its own: {worker}")
            continue
        path, host = take_apart(environment[ADDRESS], environment[PATTERN], text, line)
        if paths.setdefault(host, path) != path:
            raise text.error(
                line, f"host {host} is at {'.'.join(path)} and at {'.'.join(paths[host])}"
            )
        hosts[worker] = host
    details = {"without": without, "hosts": hosts}
    return Reading(NAME, paths, warnings=notes.all(), details=details)


def take_apart(
    address: str, pattern: str, text: Text, line: int | None = None
) -> tuple[tuple[str, ...], str]:
    """Return path and host of an address; the host may hold dots.

    Examples
    --------
    >>> take_apart("top[06,14-15].e13.cn-0256", "switch.switch.node", Text(""))
    (('top06+top14+top15', 'e13'), 'cn-0256')
    >>> take_apart("pod1:2:3:1.n7", "torus:x:y:z.node", Text(""))  # a cell is no domain
    (('pod1',), 'n7')
    """
    count = pattern.count(".")
    parts, depth = [""], 0
    for letter in str(address):
        depth += (letter == "[") - (letter == "]")
        if letter == "." and depth == 0 and len(parts) <= count:
            parts.append("")
        else:
            parts[-1] += letter
    if len(parts) <= count or not all(parts):
        raise text.error(
            line, f"expected {ADDRESS} to have the parts of {pattern!r}, got {address!r}"
        )
    kinds = pattern.split(".")
    parts = [
        part.split(":")[0] if ":" in kind else part
        for part, kind in zip(parts, kinds, strict=True)
    ]
    path = tuple("+".join(expand(part, text, line)) for part in parts[:-1])
    return path, parts[-1]

"""Reader and matchers of the LDBC Graphalytics validation data."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from tests.reference import PlainGraph, plain

Values = dict[int, str]
UNREACHED = str(2**63 - 1)


def values(path: Path) -> Values:
    """Read lines ``vertex value``."""
    lines = [line.replace(",", " ").split() for line in path.read_text().splitlines()]
    return {int(vertex): value for vertex, value in filter(None, lines)}


def adjacency(path: Path, directed: bool) -> PlainGraph:
    """Read lines ``v n1 n2 ...``; an undirected edge stands at both ends."""
    rows = [[int(word) for word in line.split()] for line in path.read_text().splitlines()]
    pairs = {(row[0], other) for row in rows if row for other in row[1:]}
    if not directed:
        pairs = {(min(pair), max(pair)) for pair in pairs}
    return plain(
        [u for u, _ in sorted(pairs)],
        [v for _, v in sorted(pairs)],
        directed=directed,
        vertices=[row[0] for row in rows if row],
    )


def vertex_edge(stem: Path, directed: bool) -> PlainGraph:
    """Read ``stem.v``, a vertex a line, and ``stem.e``, lines ``u v weight``."""
    rows = [line.split() for line in Path(f"{stem}.e").read_text().splitlines()]
    return plain(
        [int(row[0]) for row in rows],
        [int(row[1]) for row in rows],
        [float(row[2]) for row in rows],
        directed=directed,
        vertices=[int(word) for word in Path(f"{stem}.v").read_text().split()],
    )


def parameters(folder: Path) -> Any:
    return json.loads((folder / "parameters.json").read_text())


def exact(expected: Values, actual: Values) -> bool:
    return expected == actual


def epsilon(expected: Values, actual: Values) -> bool:
    """Allow for 1e-4 of the expected value; only infinity is infinity, and only 0 is 0."""
    return expected.keys() == actual.keys() and all(
        math.isclose(
            float(actual[vertex]), float(value), rel_tol=0, abs_tol=1e-4 * float(value)
        )
        if math.isfinite(float(value))
        else actual[vertex] == value
        for vertex, value in expected.items()
    )


def equivalence(expected: Values, actual: Values) -> bool:
    """Match labels one to one."""
    pairs = {(value, actual.get(vertex)) for vertex, value in expected.items()}
    sides = zip(*pairs, strict=True)
    return expected.keys() == actual.keys() and all(
        len(set(side)) == len(pairs) for side in sides
    )

r"""The graphs of LDBC Graphalytics: vertices, edges, and properties beside them.

::

    kgs.v            a vertex a line
    kgs.e            source target [weight] a line, an undirected edge once
    kgs.properties   graph.kgs.directed = false
                     graph.kgs.edge-properties.names = weight
                     graph.kgs.bfs.source-vertex = 239044 ...

A. Iosup et al.: The LDBC Graphalytics Benchmark, arXiv:2011.15028
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from dgraph.edges.blocks import Block
from dgraph.edges.files import File, Path, beside, find_files
from dgraph.edges.layout import Layout
from dgraph.edges.scan import WHITESPACE
from dgraph.edges.survey import IdPlan
from dgraph.edges.text import TextFile, parse
from dgraph.errors import EdgeValueError

__all__ = [
    "Properties",
    "companions",
    "properties_of",
    "read_properties",
    "read_vertices",
    "vertex_texts",
]

#: Source and target are both the first field: the parser of edges reads vertices.
_LAYOUT = Layout(0, WHITESPACE, (0, 0, -1), (1, 1 << 40))

#: What properties call the list of the columns after source and target.
_COLUMNS = "edge-properties.names"


@dataclass(frozen=True, slots=True)
class Properties:
    """What a file of properties says of a graph.

    Parameters
    ----------
    path : str
    values : mapping of str to str
        Without ``graph.NAME.``.

    Examples
    --------
    >>> found = Properties("kgs.properties", {"directed": "false", "cdlp.max-iterations": "10"})
    >>> found.directed, found.number("cdlp.max-iterations", int), found.weight("sssp")
    (False, 10, None)
    """

    path: str
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def directed(self) -> bool | None:
        """Whether edges have a direction; None if nothing is said of it."""
        value = self.values.get("directed", "").lower()
        if value not in ("", "true", "false"):
            raise self._error("directed", "true or false")
        return None if not value else value == "true"

    def weight(self, algorithm: str) -> int | None:
        """Return the position of the weights that an algorithm goes by, None if it does not."""
        name = f"{algorithm}.weight-property"
        if name not in self.values:
            return None
        known = [word.strip() for word in self.values.get(_COLUMNS, "weight").split(",")]
        if self.values[name] not in known:
            raise self._error(name, f"one of {_COLUMNS} ({', '.join(known)})")
        return 2 + known.index(self.values[name])

    def number(self, name: str, kind: type) -> Any:
        """Return a parameter as an int or float, None if nothing is said of it."""
        if name not in self.values:
            return None
        try:
            return kind(self.values[name])
        except ValueError:
            raise self._error(name, "a number") from None

    def _error(self, name: str, expected: str) -> EdgeValueError:
        return EdgeValueError(
            f"{self.path} says {name} = {self.values[name]}, expected {expected}: repair it"
        )


def read_properties(
    path: Path | Iterable[Path],
    format: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Properties | None:
    """Return what is said of a graph beside its files; None if nothing is.

    Parameters
    ----------
    path, format, storage_options
        As in `dgraph.read_edges`.
    """
    return properties_of(find_files(path, format, storage_options))


def properties_of(files: Sequence[File]) -> Properties | None:
    """Return the properties beside the one file of a graph; None if there are none."""
    name = _beside(files[0], "properties") if len(files) == 1 else None
    if name is None:
        return None
    text = replace(files[0], path=name, codec=_codec(name)).read().decode("utf-8", "replace")
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and line[0] not in "#!")
    values = {key.strip(): value.strip() for key, _, value in pairs}
    # keys are graph.NAME.rest; a name has no dots
    return Properties(
        name,
        {
            key.split(".", 2)[2]: value
            for key, value in values.items()
            if key.startswith("graph.") and key.count(".") >= 2
        },
    )


def vertex_texts(files: Sequence[File]) -> list[TextFile]:
    """Return the vertex files beside files of edges, none if there are none.

    Raises
    ------
    EdgeValueError
        If some of the files have one and others have none.
    """
    names = [_beside(file, "v") for file in files]
    if not any(names):
        return []
    for file, name in zip(files, names, strict=True):
        if name is None:
            raise EdgeValueError(
                f"{file.path} has no vertex file (.v) beside it, but others have: read them "
                "one by one"
            )
    found = []
    for file, name in zip(files, names, strict=True):
        assert name is not None
        stamp = str(file.system.ukey(name))
        vertices = replace(file, path=name, codec=_codec(name), stamp=stamp)
        found.append(TextFile.of(vertices, _LAYOUT, weighted=False))
    return found


def companions(file: File) -> list[str]:
    """Return the names of the vertex file and of the properties beside a file of edges."""
    names = (_beside(file, ending) for ending in ("v", "properties"))
    return [name for name in names if name is not None]


def read_vertices(block: Block, plan: IdPlan) -> pd.DataFrame:
    """Parse the vertices of a block: column vertex."""
    frame = parse(block, IdPlan(plan.source, plan.source))
    return pd.DataFrame({"vertex": frame["source"]})


def _beside(edges: File, ending: str) -> str | None:
    path = edges.path.removesuffix(f".{edges.codec}") if edges.codec else edges.path
    if not path.endswith(".e"):
        return None
    return beside(edges.system, path.removesuffix(".e"), ending)


def _codec(name: str) -> str:
    ending = name.rpartition(".")[2]
    return "" if ending in ("v", "properties") else ending

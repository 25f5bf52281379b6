"""What every ``dgraph run`` shares: where the edges are, where it runs, where it writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

import dgraph as dg
from dgraph.edges.files import find_files
from dgraph.edges.ldbc import Properties, companions, read_properties
from dgraph.edges.sources import Files
from dgraph.output import check_output
from dgraph.policies import CHOICES

__all__ = ["Job"]


@dataclass(frozen=True, slots=True)
class Job:
    """The options that all algorithms have; None where the user says nothing.

    Parameters
    ----------
    edges : str
        A path.
    directed, weight, source_column, target_column, duplicates, self_loops, nulls
        As `dgraph.from_edges` has them; weight "true": the third column, or the format's own.
    input_format, sep, header, dtype
        As `dgraph.read_edges` has them.
    placement, rhizome_max, rhizome_allocation
        As `dgraph.from_edges` has them; placement by name.
    out, format : str
        See :func:`dgraph.output.write_frame`; no `out`: to standard output.
    workers, threads, scheduler
        See :func:`dgraph.cli_cluster.cluster_client`.
    stated : Properties
        What properties of LDBC's beside the edges say: it holds where the user says nothing.
    """

    edges: str
    directed: bool | None
    weight: str | int | None
    source_column: str | None
    target_column: str | None
    input_format: str | None
    sep: str | None
    header: bool | None
    dtype: str | None
    duplicates: str
    self_loops: str
    nulls: str
    placement: str
    rhizome_max: int | None
    rhizome_allocation: str
    format: str | None
    out: str | None
    workers: int | None
    threads: int | None
    scheduler: str | None
    stated: Properties

    @classmethod
    def of(cls, options: dict[str, Any]) -> Self:
        """Take its options out of all, and look for properties."""
        given = {name: options.pop(name) for name in cls.__slots__ if name != "stated"}
        found = read_properties(given["edges"], given["input_format"])
        return cls(**given, stated=found or Properties(""))

    def weighted_for(self, algorithm: str) -> Self:
        """Return the job with the weights that the properties name for an algorithm."""
        if self.weight is not None:
            return self
        return replace(self, weight=self.stated.weight(algorithm))

    def check_output(self) -> None:
        """Raise if there is an output that cannot be written, or is one of the inputs."""
        if self.out is None:
            return
        files = find_files(self.edges, self.input_format)
        local = [file for file in files if isinstance(file.system, LocalFileSystem)]
        inputs = [name for file in local for name in (file.path, *companions(file))]
        check_output(self.out, self.format, inputs)

    def graph(self, client: Any) -> dg.Graph:
        """Read the edges and build the graph."""
        named = {"source": self.source_column, "target": self.target_column}
        options: dict[str, Any] = {key: name for key, name in named.items() if name}
        for key in (*CHOICES, "directed", "placement", "rhizome_max", "rhizome_allocation"):
            options[key] = getattr(self, key)
        return dg.from_edges(
            Files(self.edges, self.input_format, self.sep, self.header, self.dtype),
            weight=True if self.weight == "true" else self.weight,
            client=client,
            **options,
        )

"""Exceptions of dgraph.

Each derives from :class:`DgraphError` and from the builtin a Python user would expect, so both
``except dgraph.DgraphError`` and ``except KeyError`` work. A message is one sentence that says
what was expected, what came, and what to do.
"""

from __future__ import annotations

__all__ = [
    "ClusterWarning",
    "ConfigurationWarning",
    "ConvergenceWarning",
    "DgraphError",
    "DgraphWarning",
    "EdgeTypeError",
    "EdgeValueError",
    "EmptyWarning",
    "GraphLostError",
    "IdWarning",
    "JoinTimeoutError",
    "LayoutWarning",
    "MissingFileError",
    "OptionError",
    "OptionTypeError",
    "OutputError",
    "PrecisionWarning",
    "RoomWarning",
    "RunAbortedError",
    "RunError",
    "SavedGraphError",
    "TopologyError",
    "TopologyFileError",
    "TopologyWarning",
    "VertexNotFoundError",
]


class DgraphError(Exception):
    """Base class of every exception that dgraph raises on purpose."""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the class and its arguments.

        Dask pickles exceptions by way of tblib, which cannot make an instance of a class with
        two builtin bases by itself.
        """
        return type(self), self.args, self.__dict__


class OptionError(DgraphError, ValueError):
    """An option has a value that is not allowed."""


class OptionTypeError(OptionError, TypeError):
    """An option has a value of the wrong kind, such as text where a number belongs."""


class EdgeValueError(DgraphError, ValueError):
    """The edges hold a value that cannot be used: a missing id, an infinite weight."""


class EdgeTypeError(DgraphError, TypeError):
    """The edges, or one of their columns, have a type that cannot be used."""


class MissingFileError(DgraphError, FileNotFoundError):
    """A path leads to no file."""


class OutputError(DgraphError, OSError):
    """A file cannot be written: its disk is full, or its folder takes none."""


class VertexNotFoundError(DgraphError, KeyError):
    """A vertex that was named is not in the graph."""

    def __str__(self) -> str:
        """Return the plain sentence; ``KeyError`` would show its repr."""
        return str(self.args[0]) if self.args else ""


class RunError(DgraphError, RuntimeError):
    """A run failed on a slot; names the algorithm, the superstep and the slot."""


class RunAbortedError(RunError):
    """A run was ended because another slot failed, was cancelled or was lost."""


class JoinTimeoutError(RunError, TimeoutError):
    """Workers that belong to a run did not join it in time."""


class GraphLostError(DgraphError, RuntimeError):
    """A worker that held a part of the graph is gone."""


class SavedGraphError(DgraphError, OSError):
    """A folder cannot be written, or is not a saved graph."""


class TopologyError(DgraphError, ValueError):
    """A description of a topology is malformed; names the file and the line."""


class TopologyFileError(TopologyError, FileNotFoundError):
    """A description of a topology is not where it should be."""

    def __str__(self) -> str:
        """Return the plain sentence; ``OSError`` would look for an error number."""
        return str(self.args[0]) if self.args else ""


class DgraphWarning(UserWarning):
    """Base class of all warnings that dgraph gives."""


class ClusterWarning(DgraphWarning):
    """Fewer workers take part than the cluster had a moment ago."""


class ConvergenceWarning(DgraphWarning):
    """An iteration stopped at its limit before it met its tolerance."""


class ConfigurationWarning(DgraphWarning):
    """A key of the configuration has no effect, because it is not known."""


class EmptyWarning(DgraphWarning):
    """Files were read that hold no edge."""


class IdWarning(DgraphWarning):
    """Ids were read as strings, of which most or all are numbers."""


class LayoutWarning(DgraphWarning):
    """Which columns are the ends of edges, or whether a first line names them, is in doubt."""


class PrecisionWarning(DgraphWarning):
    """Weights are not what was given: float64 does not hold them."""


class RoomWarning(DgraphWarning):
    """What shall be cached does not fit into the room that there is."""


class TopologyWarning(DgraphWarning):
    """A topology was read, but its description is not complete or not consistent."""

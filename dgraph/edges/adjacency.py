"""Adjacency lists as text: a line ``u v1 v2 ...`` holds a vertex and its neighbours.

networkx writes such files (``.adjlist``), and so do the examples of LDBC Graphalytics. They are
*unfolded* into an edge a line, which is read as all delimited text is::

    u v w        u v 1
    x      ──▶   u w 1
                 x x 0      a vertex without neighbours: no edge, marked by a weight of 0

An undirected edge may stand at one of its ends or at both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.edges.blocks import Block
from dgraph.edges.files import File
from dgraph.edges.layout import BOM, Layout
from dgraph.edges.matrices import mirror_sum, upper
from dgraph.edges.scan import WHITESPACE
from dgraph.edges.survey import IdPlan
from dgraph.edges.text import TextFile, parse
from dgraph.errors import OptionError
from dgraph.kernels import kernel

__all__ = ["AdjacencyFile", "read_adjacency", "read_vertices", "symmetry_of"]

Bytes = NDArray[np.uint8]

_LAYOUT = Layout(0, WHITESPACE, (0, 1, 2), (3, 3))


@dataclass(frozen=True, slots=True)
class AdjacencyFile(File):
    """A file of adjacency lists, whose bytes are those of its edges, one a line.

    Parameters
    ----------
    separator : int
        A byte that separates words, as blanks and tabs do.
    """

    separator: int = WHITESPACE

    @classmethod
    def of(cls, file: File, sep: str | None) -> AdjacencyFile:
        """Take a file for one of adjacency lists; `sep` as in `dgraph.read_edges`."""
        if sep not in (None, " ", "\t", ",", ";"):
            raise OptionError(f"sep must be ' ', '\\t', ',' or ';', not {sep!r}")
        separator = WHITESPACE if sep is None else ord(sep)
        return cls(file.system, file.path, file.format, file.codec, file.stamp, separator)

    def size(self) -> None:
        """Return None: how many bytes there will be is not known, so the file is not cut."""
        return None

    def read(self) -> bytes:
        """Return all edges as text."""
        return unfold(File.read(self), self.separator)

    def line_of(self, byte: int) -> int:
        """Return the number of the line in the file in which a byte of :meth:`read` stands."""
        seen = 0
        lines = File.read(self).splitlines()
        for number, line in enumerate(lines, 1):
            seen += len(unfold(line, self.separator))
            if seen > byte:
                return number
        return len(lines)

    def text(self) -> TextFile:
        """Return the file as the parser takes it."""
        return TextFile(_LAYOUT, (Block(self, _LAYOUT, 0, None),))


def unfold(text: bytes, separator: int = WHITESPACE) -> bytes:
    r"""Write every edge, and every vertex that has none, on a line of its own.

    Examples
    --------
    >>> unfold(b"# nodes\n1 2 3\n4\n")
    b'1 2 1\n1 3 1\n4 4 0\n'
    """
    buffer = np.frombuffer(text.removeprefix(BOM), np.uint8)
    length = _unfold(buffer, separator, np.empty(0, np.uint8))
    unfolded = np.empty(length, np.uint8)
    _unfold(buffer, separator, unfolded)
    return unfolded.tobytes()


def read_adjacency(block: Block, plan: IdPlan, half: bool) -> pd.DataFrame:
    """Parse the edges of a file.

    Parameters
    ----------
    block : Block
    plan : IdPlan
    half : bool
        Whether one of two mirror images is wanted.
    """
    frame = parse(block, plan)
    frame = frame.loc[frame["weight"] == 1, ["source", "target"]]
    return upper(frame) if half else frame


def read_vertices(block: Block, plan: IdPlan) -> pd.DataFrame:
    """Return the vertices of a file, each once: column vertex."""
    frame = parse(block, plan)
    ids = pd.concat([frame["source"], frame["target"]], ignore_index=True)
    return pd.DataFrame({"vertex": ids.drop_duplicates()})


def symmetry_of(block: Block, plan: IdPlan) -> int:
    """Return the `mirror_sum` of the edges in a file: 0, over all, if each has its mirror."""
    frame = read_adjacency(block, plan, half=False)
    if plan.source == "str":
        frame = pd.DataFrame(
            {
                name: pd.util.hash_array(column.to_numpy(object), categorize=False)
                for name, column in frame.items()
            }
        )
    return mirror_sum(frame)


@kernel
def _unfold(buffer: Bytes, separator: int, out: Bytes) -> int:
    """Write the edges to `out` if it has any room; return how many bytes they are."""
    at, size = 0, 0
    writes = len(out) > 0
    while at < len(buffer):
        comment = buffer[at] == 35 or buffer[at] == 37
        first, first_end, words = 0, 0, 0
        while at < len(buffer) and buffer[at] != 10 and buffer[at] != 13:
            begin = at
            while at < len(buffer) and not _ends_word(buffer[at], separator):
                at += 1
            if at == begin:
                at += 1
                continue
            if comment:
                continue
            if words == 0:
                first, first_end = begin, at
            else:
                size = _line(buffer, first, first_end, begin, at, 49, out, size, writes)
            words += 1
        if words == 1:
            size = _line(buffer, first, first_end, first, first_end, 48, out, size, writes)
        at += 1
    return size


@kernel
def _ends_word(byte: int, separator: int) -> bool:
    return byte in (separator, 32, 9, 10, 13)


@kernel
def _line(  # type: ignore[no-untyped-def]
    buffer, first, first_end, begin, end, flag, out, size, writes
):
    """Write ``first word flag``; return the size with it."""
    if writes:
        at = size
        for i in range(first, first_end):
            out[at] = buffer[i]
            at += 1
        out[at] = 32
        at += 1
        for i in range(begin, end):
            out[at] = buffer[i]
            at += 1
        out[at], out[at + 1], out[at + 2] = 32, flag, 10
    return size + (first_end - first) + (end - begin) + 4

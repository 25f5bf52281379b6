"""METIS graph files: line i lists the neighbours of vertex i, counted from 1.

The first line says ``vertices edges [format [constraints]]``. The three digits of `format` tell
whether vertices have sizes, vertices have weights, edges have weights. An edge stands at both
of its ends, with the same weight, and counts once. GAP writes directed graphs in this form: an
arc stands at its source only, and the number is that of the arcs. A file that is neither is
cut off or wrong, and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dgraph.edges.files import File
from dgraph.edges.matrices import mirror_sum, upper
from dgraph.edges.weights import as_floats
from dgraph.errors import EdgeValueError
from dgraph.kernels import kernel

__all__ = ["Header", "read_header", "read_metis"]

Numbers = NDArray[np.int64]

_HEAD = 1 << 16
_DIGITS = 18  # of a number; more might not fit int64


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a METIS file.

    Parameters
    ----------
    vertices, edges : int
    sizes, weighted : bool
        Whether each vertex has a size, and each edge a weight.
    constraints : int
        Weights of each vertex.
    """

    vertices: int
    edges: int
    sizes: bool
    weighted: bool
    constraints: int


def read_header(file: File) -> Header:
    """Read the first line of a METIS file."""
    for line in file.head(_HEAD).splitlines():
        if line.strip() and not line.startswith(b"%"):
            header = _header(line.decode("latin-1").split(), file)
            _check_length(header, file)
            return header
    raise EdgeValueError(f"{file.path} is empty, expected a line with vertices and edges")


def _header(words: list[str], file: File) -> Header:
    if not 2 <= len(words) <= 4 or not all(word.isdecimal() for word in words):
        raise EdgeValueError(
            f"{file.path} begins with {' '.join(words)!r}, expected vertices, edges and "
            "perhaps a format: is it a METIS file?"
        )
    vertices, edges, form, constraints = [*words, *("0", "1")[len(words) - 2 :]]
    if len(form) > 3 or form.strip("01"):
        raise EdgeValueError(
            f"{file.path} has the format {form!r} in its first line, expected up to three "
            "digits 0 or 1, for sizes and weights of vertices and weights of edges: repair it"
        )
    sizes, weights, weighted = (digit != "0" for digit in form.zfill(3))
    return Header(
        int(vertices), int(edges), sizes, weighted, int(constraints) if weights else 0
    )


def _check_length(header: Header, file: File) -> None:
    """Raise if there are fewer bytes than lines; of as many vertices nobody makes arrays."""
    size = file.size() or 0
    if header.vertices > size and (file.codec or not size):
        size = len(file.read())
    if header.vertices > size:
        raise EdgeValueError(
            f"{file.path} is too short for {header.vertices} vertices, expected one line for "
            "each: is it cut off?"
        )


def read_metis(file: File, weighted: bool, half: bool) -> pd.DataFrame:
    """Read a METIS file.

    Parameters
    ----------
    file : File
    weighted : bool
        Whether to give the weights of the edges, if there are any.
    half : bool
        If every edge stands at both ends, give it once.
    """
    header = read_header(file)
    buffer = np.frombuffer(file.read(), np.uint8)
    numbers = np.empty(len(buffer) // 2 + 1, np.int64)
    ends = np.zeros(header.vertices + 1, np.int64)
    lines, found, wrong = _read_numbers(buffer, numbers, ends)
    if wrong >= 0:
        line = bytes(buffer[:wrong]).count(b"\n") + 1
        raise EdgeValueError(
            f"line {line} of {file.path} is no list of neighbours, expected "
            f"{header.vertices} lines of non-negative integers of at most "
            f"{_DIGITS} digits after the first: repair it"
        )
    ends[lines:] = found
    frame = _arcs(header, numbers[:found], ends, file)
    _check_neighbours(header, frame, file)
    if not weighted:
        frame = frame[["source", "target"]]
    symmetric = mirror_sum(frame) == 0
    if symmetric and buffer[-1] == 10:
        lines += 1  # after its end: the list of the last vertex, if that is empty
    _check_whole(header, frame, lines - 1, symmetric, file)
    frame = as_floats(frame)
    return upper(frame) if half and symmetric else frame


def _check_neighbours(header: Header, frame: pd.DataFrame, file: File) -> None:
    """Raise if a list names what is no vertex."""
    listed = frame["target"].to_numpy()
    wrong = (listed < 1) | (listed > header.vertices)
    if wrong.any():
        vertex, other = frame.loc[wrong, ["source", "target"]].iloc[0]
        remedy = "add 1 to all" if other == 0 else "repair the list or the first line"
        raise EdgeValueError(
            f"vertex {vertex} of {file.path} lists {other}, expected numbers from 1 to "
            f"{header.vertices}, as METIS counts: {remedy}"
        )


def _check_whole(
    header: Header, frame: pd.DataFrame, lists: int, symmetric: bool, file: File
) -> None:
    """Raise unless there is all that the first line says."""
    if lists < header.vertices:
        raise EdgeValueError(
            f"{file.path} has lists of {lists} of its {header.vertices} vertices, expected one "
            "line for each: is it cut off?"
        )
    if len(frame) == header.edges:  # arcs, each once
        return
    if not symmetric:
        raise EdgeValueError(
            f"{_one_sided(frame)} in {file.path}, expected every edge at both of its ends: "
            "repair the file, or write it as an edge list"
        )
    # Loops, which METIS does not know, stand there once or twice, and count or do not.
    loops = int((frame["source"] == frame["target"]).sum())
    if 2 * header.edges not in {len(frame) + count for count in (-loops, 0, loops)}:
        found = (len(frame) + loops) // 2
        raise EdgeValueError(
            f"{file.path} has {found} edge{'s' * (found != 1)}, expected {header.edges} as its "
            "first line says: is it cut off?"
        )


def _one_sided(frame: pd.DataFrame) -> str:
    """Say which edge stands at one of its ends only, or has another weight at the other.

    >>> _one_sided(pd.DataFrame({"source": [1, 2, 2], "target": [2, 1, 3]}))
    'vertex 2 lists 3, but vertex 3 does not list 2'
    """
    keys = list(frame.columns)
    back = frame.rename(columns={"source": "target", "target": "source"})
    numbered = [each.assign(copy=each.groupby(keys).cumcount()) for each in (frame, back)]
    both = numbered[0].merge(numbered[1], "left", [*keys, "copy"], indicator=True)
    here = frame[(both["_merge"] == "left_only").to_numpy()].iloc[0]
    source, target = int(here["source"]), int(here["target"])
    there = back[(back["source"] == source) & (back["target"] == target)]
    if "weight" in frame and len(there) and here["weight"] not in there["weight"].to_list():
        return (
            f"the edge {source} {target} weighs {here['weight']:g} at vertex {source} and "
            f"{there['weight'].iloc[0]:g} at vertex {target}"
        )
    less = f"lists {source} less often" if len(there) else f"does not list {source}"
    return f"vertex {source} lists {target}, but vertex {target} {less}"


@kernel
def _read_numbers(
    buffer: NDArray[np.uint8], numbers: Numbers, ends: Numbers
) -> tuple[int, int, int]:
    """Read all numbers; ``ends[i]`` is where those of line i, 0 the header, end.

    Returns lines and numbers read, and where an unexpected byte or line stands, or -1.
    """
    at, line, found = 0, 0, 0
    while at < len(buffer):
        begin = found
        if buffer[at] == 37:  # %, a comment
            while at < len(buffer) and buffer[at] != 10:
                at += 1
            at += 1
            continue
        while at < len(buffer) and buffer[at] != 10:
            byte = buffer[at]
            if 48 <= byte <= 57:
                value, start = np.int64(0), at
                while at < len(buffer) and 48 <= buffer[at] <= 57:
                    value = value * 10 + (np.int64(buffer[at]) - 48)
                    at += 1
                if at - start > _DIGITS:
                    return line, found, start
                numbers[found] = value
                found += 1
            elif byte == 32 or byte == 9 or byte == 13:
                at += 1
            else:
                return line, found, at
        if line >= len(ends) and found > begin:
            return line, found, at - 1
        if line < len(ends) and (line > 0 or found > begin):
            ends[line] = found
            line += 1
        at += 1
    return line, found, -1


def _arcs(header: Header, numbers: Numbers, ends: Numbers, file: File) -> pd.DataFrame:
    """Make a table of the lists: ``[sizes] [vertex weights] (neighbour [weight]) ...``."""
    counts = np.diff(ends)
    numbers = numbers[ends[0] :]
    skip = header.constraints + _has_sizes(header, counts)
    step = 2 if header.weighted else 1
    odd = (counts < skip) | ((counts - skip) % step != 0)
    if odd.any():
        raise EdgeValueError(
            f"vertex {int(np.argmax(odd)) + 1} of {file.path} has {counts[np.argmax(odd)]} "
            f"numbers, expected {skip} and then {'pairs' if step == 2 else 'neighbours'}"
        )
    vertex = np.repeat(np.arange(1, header.vertices + 1), counts)
    place = np.arange(len(numbers)) - np.repeat(ends[:-1] - ends[0], counts) - skip
    neighbours = (place >= 0) & (place % step == 0)
    columns: dict[str, Any] = {"source": vertex[neighbours], "target": numbers[neighbours]}
    if header.weighted:
        columns["weight"] = numbers[(place >= 0) & (place % 2 == 1)]
    return pd.DataFrame(columns, copy=False)


def _has_sizes(header: Header, counts: Numbers) -> int:
    """Return 1 if vertex sizes are there, and not only in the header: files do that."""
    if not header.sizes or (counts == 0).any():
        return 0
    total = int(counts.sum()) - header.constraints * header.vertices
    lists = [header.edges * ends * (1 + header.weighted) for ends in (1, 2)]
    return int(total - header.vertices in lists or total not in lists)

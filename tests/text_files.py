"""Hypothesis draws text files of edges; a stupid reader says what is in them."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import strategies as st

from dgraph.edges.read import read_edges

SEPARATORS = [",", ";", "\t", " "]


@dataclass(frozen=True)
class TextCase:
    """A text file, and the rows it was made of; an id "" is missing, a weight "" too."""

    content: bytes
    sep: str
    header: bool
    rows: list[tuple[str, ...]]

    @property
    def weighted(self) -> bool:
        return bool(self.rows) and len(self.rows[0]) == 3


def _integers() -> st.SearchStrategy[str]:
    edge = st.sampled_from([0, -1, 2**53 + 1, 2**63 - 1, -(2**63), 10**17, 10**18])
    return st.one_of(st.integers(-20, 120), edge).map(str)


def _words() -> st.SearchStrategy[str]:
    fixed = ["007", "-0", "+5", "1.0", "Ann", "é", "a-b", "12ab", "-", 'say "hi"', "0x1"]
    return st.sampled_from(fixed)


@st.composite
def text_cases(draw: st.DrawFn) -> TextCase:
    """Draw a file with anything in it that is allowed anywhere."""
    sep = draw(st.sampled_from(SEPARATORS))
    ids = st.one_of(_integers(), _words()) if draw(st.booleans()) else _integers()
    spaced = st.just("New York") if sep != " " or draw(st.booleans()) else st.nothing()
    ids = st.one_of(ids, spaced) if draw(st.booleans()) else ids
    if sep != " " and draw(st.booleans()):
        ids = st.one_of(ids, st.just(""))
    fields = [ids, ids]
    if draw(st.booleans()):
        fields.append(st.sampled_from(["0.5", "1", "-2e3", "0.1234567890123456789", "1e-300"]))
    rows = draw(st.lists(st.tuples(*fields), max_size=30))
    header = draw(st.booleans())
    lines = [_line(draw, row, sep) for row in rows]
    rows = [row for row, line in zip(rows, lines, strict=True) if line.strip()]
    for _ in range(draw(st.integers(0, 3))):
        extra = draw(st.sampled_from(["", "# a comment", '% "another', "  "]))
        lines.insert(draw(st.integers(0, len(lines))), extra)
    if header:
        lines.insert(0, sep.join(["source", "target", "weight"][: len(fields)]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = end.join(lines) + (end if draw(st.booleans()) else "")
    bom = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    return TextCase(bom + text.encode(), sep, header, rows)


def _line(draw: st.DrawFn, row: tuple[str, ...], sep: str) -> str:
    """Write a row as csv does, or with blanks and quotes that do not count."""
    fields = []
    for field in row:
        if '"' in field or (sep == " " and " " in field) or draw(st.integers(0, 9)) == 0:
            field = '"' + field.replace('"', '""') + '"'
        elif draw(st.integers(0, 9)) == 0:
            field += " "
        fields.append(field)
    joint = draw(st.sampled_from([" ", "\t", "  "])) if sep == " " else sep
    trailing = draw(st.sampled_from(["", "", joint]))
    return joint.join(fields) + trailing


def read_stupidly(case: TextCase) -> list[tuple[str, ...]]:
    """Read a file with Python's csv module, one character after the other."""
    text = case.content.decode("utf-8-sig").replace("\r\n", "\n")
    lines = [line for line in text.split("\n") if line.strip() and line[0] not in "#%"]
    lines = lines[1:] if case.header else lines
    width = 3 if case.weighted else 2
    rows = []
    for line in lines:
        if case.sep == " ":
            line, sep = line.replace("\t", " ").strip(), " "
        else:
            sep = case.sep
        fields = next(csv.reader(io.StringIO(line), delimiter=sep, skipinitialspace=True))
        if case.sep == " ":
            fields = [field for field in fields if field]
        rows.append(tuple(field.strip() for field in fields)[:width])
    return rows


def is_integer(text: str) -> bool:
    """Tell whether text is an integer as Python writes it."""
    try:
        return str(int(text)) == text
    except ValueError:
        return False


def write(path: Path, content: str | bytes) -> Path:
    """Write a file and return its path."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def listed(path: Any, **options: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a file, missing values as None."""
    frame = read_edges(path, **options).compute()
    columns = [frame[name].astype(object) for name in frame.columns]
    return [
        tuple(None if pd.isna(value) else value for value in row)
        for row in zip(*columns, strict=True)
    ]

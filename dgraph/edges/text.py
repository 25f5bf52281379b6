"""Delimited text, parsed block by block into pandas DataFrames.

::

    find_layout   head of a file -> Layout: separator, header, columns
    cut           a file -> blocks that tasks read on their own
    survey        a block -> Survey: are all ids integers, how large, are some missing
    decide        all surveys -> IdPlan: the dtypes of the columns
    parse         a block -> DataFrame source, target[, weight]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from dgraph.edges.blocks import Block, OpenQuoteError, Scanner, cut
from dgraph.edges.builders import Builder, FloatBuilder, id_builder
from dgraph.edges.files import File
from dgraph.edges.layout import Layout
from dgraph.edges.run import run_all
from dgraph.edges.survey import NEAR, IdPlan, Survey, decide, survey
from dgraph.edges.weights import note_rounded
from dgraph.errors import EdgeValueError

__all__ = ["TextFile", "TextReader", "empty", "parse", "plan_of", "survey_all"]


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file, and the blocks in which it is read."""

    layout: Layout
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, file: File, layout: Layout, weighted: bool) -> TextFile:
        """Cut a file; leave out its weights if they are not wanted."""
        if not weighted:
            layout = replace(layout, columns=(*layout.columns[:2], -1))
        return cls(layout, tuple(cut(file, layout)))

    def whole(self) -> TextFile:
        """Return the file uncut."""
        return TextFile(self.layout, (replace(self.blocks[0], stop=None),))


def survey_all(texts: Sequence[TextFile]) -> tuple[list[TextFile], list[Survey]]:
    """Survey all blocks; a file with a line break inside quotes is taken uncut.

    Raises
    ------
    EdgeValueError
        If a line has too few or too many fields; names the first.
    """
    found = iter(run_all(survey, [block for text in texts for block in text.blocks]))
    by_file = [[next(found) for _ in text.blocks] for text in texts]
    texts = [
        text.whole() if any(each.open_quote for each in surveys) else text
        for text, surveys in zip(texts, by_file, strict=True)
    ]
    by_file = [
        [survey(block) for block in text.blocks] if len(text.blocks) < len(surveys) else surveys
        for text, surveys in zip(texts, by_file, strict=True)
    ]
    for text, surveys in zip(texts, by_file, strict=True):
        _check(text, surveys)
    return texts, [each for surveys in by_file for each in surveys]


def _check(text: TextFile, surveys: Sequence[Survey]) -> None:
    """Raise if a line cannot be read, or if lines are missing."""
    wrong = next((each.wrong for each in surveys if each.wrong), "")
    if wrong:
        raise EdgeValueError(wrong)
    rows = sum(each.rows for each in surveys)
    matrix = text.layout.matrix
    if matrix is not None and matrix.entries is not None and matrix.entries != rows:
        raise EdgeValueError(
            f"{text.blocks[0].file.path} has {rows} entries, expected {matrix.entries} as its "
            "first lines say: is it cut off?"
        )


def plan_of(surveys: Sequence[Survey] | None, wanted: Mapping[str, str]) -> IdPlan:
    """Return the dtypes of the columns: those that are wanted, else as the surveys say."""
    found = IdPlan() if surveys is None else decide(surveys, wanted)
    return IdPlan(
        wanted.get("source", found.source),
        wanted.get("target", found.target),
        wanted.get("weight", found.weight),
    )


def parse(block: Block, plan: IdPlan) -> pd.DataFrame:
    """Parse the lines of a block.

    Raises
    ------
    EdgeValueError
        If a line does not hold what the layout and the plan expect; says which.
    """
    scanner = Scanner(block, integers="str" not in (plan.source, plan.target))
    columns: dict[str, Builder] = {
        "source": id_builder(scanner, 0, plan.source),
        "target": id_builder(scanner, 1, plan.target),
    }
    weights = FloatBuilder(plan.weight)
    if block.layout.weighted:
        columns["weight"] = weights
    try:
        for rows, clean in scanner.batches():
            for column in columns.values():
                column.add(scanner, rows, clean)
    except OpenQuoteError:
        raise EdgeValueError(
            f"{block.file.path} has a line break inside quotes: leave out dtype=, then it is "
            "noticed in time"
        ) from None
    finished = {name: column.finish() for name, column in columns.items()}
    return note_rounded(pd.DataFrame(finished, copy=False), weights.rounded)


@dataclass(frozen=True, slots=True)
class TextReader:
    """A partition of text: what reads it, and tells where in the file a row of it stands."""

    block: Block
    plan: IdPlan

    def __call__(self) -> pd.DataFrame:
        """Parse the block."""
        return parse(self.block, self.plan)

    def locate(self, row: int) -> str:
        """Name file and line of a row; nothing if that would take long to find out."""
        if self.block.start > NEAR:
            return ""
        scanner = Scanner(self.block, integers=False)
        for rows, _ in scanner.batches():
            if row < rows:
                at = int(scanner.starts[row, 0])
                return "" if scanner.origin + at > NEAR else scanner.place(at)
            row -= rows
        return ""


def empty(plan: IdPlan, weighted: bool) -> pd.DataFrame:
    """Return a frame without rows, of the dtypes that `parse` gives.

    >>> empty(IdPlan("Int64", "str"), True).dtypes.astype(str).to_dict()
    {'source': 'Int64', 'target': 'string', 'weight': 'float64'}
    """
    dtypes = {"source": plan.source, "target": plan.target}
    if weighted:
        dtypes["weight"] = plan.weight
    columns: dict[str, Any] = {
        name: pd.Series([], dtype="string[pyarrow]" if dtype == "str" else dtype)
        for name, dtype in dtypes.items()
    }
    return pd.DataFrame(columns)

"""Columns that grow batch by batch while text is parsed."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dgraph.edges.blocks import Scanner
from dgraph.edges.dtypes import nullable
from dgraph.edges.header import MISSING, has_decimal_comma, is_number
from dgraph.edges.scan import lines_in, read_integers
from dgraph.errors import EdgeValueError

__all__ = ["Builder", "FloatBuilder", "IntBuilder", "TextBuilder", "id_builder"]

#: How integers are written that int64 holds, almost all of them.
_INT64 = "^-?([0-9]{1,18}|[0-8][0-9]{18})$"


class Builder(Protocol):
    """A column in the making."""

    def add(self, scanner: Scanner, rows: int, clean: bool) -> None:
        """Append the rows of the batch that `scanner` holds."""

    def finish(self) -> Any:
        """Return the column as pandas keeps it."""


def id_builder(scanner: Scanner, side: int, dtype: str) -> Builder:
    """Return the builder of the source (`side` 0) or target (1) column."""
    return TextBuilder(side) if dtype == "str" else IntBuilder(scanner, side, dtype)


class IntBuilder:
    """A column of integers, nullable or not."""

    def __init__(self, scanner: Scanner, side: int, dtype: str) -> None:
        self._side = side
        self._dtype = pd.api.types.pandas_dtype(dtype)
        self._width = np.dtype(dtype.lower())
        self._nullable = dtype != dtype.lower()
        most = lines_in(scanner.buffer)
        self._wide = np.empty(most, np.uint64)
        self._missing = np.zeros(most, np.bool_)
        self._rows = 0

    def add(self, scanner: Scanner, rows: int, clean: bool) -> None:
        """Append a batch."""
        stop = self._rows + rows
        values = self._wide[self._rows : stop]
        if clean:
            values[:] = scanner.numbers[self._side, :rows].view(np.uint64)
        else:
            self._read(scanner, rows, values, self._missing[self._rows : stop])
        self._rows = stop

    def _read(
        self,
        scanner: Scanner,
        rows: int,
        values: NDArray[np.uint64],
        missing: NDArray[np.bool_],
    ) -> None:
        unsigned = self._width.kind == "u"
        wrong = scanner.apply(read_integers, rows, self._side, unsigned, values, missing)
        if wrong >= 0:
            where, what = scanner.place_of(wrong, self._side), scanner.field(wrong, self._side)
            raise EdgeValueError(
                f"{where} has {what!r} as an id, expected {self._width}: repair it, or leave "
                "out dtype="
            )
        if not self._nullable and missing.any():
            where = scanner.place_of(int(np.argmax(missing)), self._side)
            raise EdgeValueError(
                f"{where} lacks an id, which {self._width} cannot hold: pass "
                f'dtype="{nullable(self._width.name)}"'
            )

    def finish(self) -> Any:
        """Return the integers in their dtype."""
        wide = self._wide[: self._rows]
        values = wide if self._width.kind == "u" else wide.view(np.int64)
        bounds = np.iinfo(self._width)
        if len(values) and not (bounds.min <= values.min() and values.max() <= bounds.max):
            raise EdgeValueError(
                f"ids go from {values.min()} to {values.max()}, which {self._width} cannot "
                "hold: pass a wider dtype="
            )
        values = values.astype(self._width, copy=False)
        if not self._nullable:
            return values
        return pd.arrays.IntegerArray(values, self._missing[: self._rows])


class TextBuilder:
    """A column of strings."""

    def __init__(self, side: int) -> None:
        self._side = side
        self._parts: list[pa.Array] = []

    def add(self, scanner: Scanner, rows: int, clean: bool) -> None:
        """Append a batch; the scanner must not have been asked for integers."""
        self._parts.append(scanner.strings(rows, self._side))

    def finish(self) -> Any:
        """Return the strings as pandas' dtype "string"."""
        text = pa.chunked_array(self._parts, pa.large_string())
        dtype: Any = pd.StringDtype("pyarrow")
        return dtype.__from_arrow__(text)


class FloatBuilder:
    """A column of weights; empty or written as missing: NaN.

    Attributes
    ----------
    rounded : tuple of int
        How many are integers that float64 does not hold, and the first of them or 0.
    """

    def __init__(self, dtype: str) -> None:
        self.rounded = 0, 0
        self._dtype = dtype
        self._parts: list[NDArray[np.float64]] = []

    def add(self, scanner: Scanner, rows: int, clean: bool) -> None:
        """Append a batch."""
        text = scanner.strings(rows, 2)
        try:
            numbers = pc.cast(text, pa.float64())
        except pa.ArrowInvalid:
            numbers = pa.array(
                [self._number(scanner, row, word) for row, word in enumerate(text.to_pylist())],
                pa.float64(),
            )
        values = numbers.to_numpy(zero_copy_only=False)
        self._parts.append(values)
        large = np.flatnonzero(np.abs(values) >= 2**53)
        if large.size:
            self._note_rounded(text.take(pa.array(large)), values[large])

    def _note_rounded(self, words: Any, values: NDArray[np.float64]) -> None:
        """Count the weights that are integers, and not the floats that they were read as."""
        short = pc.match_substring_regex(words, _INT64).to_numpy(zero_copy_only=False)
        whole = pc.cast(words.filter(pa.array(short)), pa.int64()).to_numpy()
        differs = np.zeros(len(words), np.bool_)
        differs[short] = whole != values[short].astype(np.int64)
        for place in np.flatnonzero(~short).tolist():
            word, value = words[place].as_py(), float(values[place])
            integer = word.lstrip("+-").isdecimal() and math.isfinite(value)
            differs[place] = integer and int(word) != int(value)
        if differs.any():
            count, first = self.rounded
            first = first or int(words[int(differs.argmax())].as_py())
            self.rounded = count + int(differs.sum()), first

    def _number(self, scanner: Scanner, row: int, word: str | None) -> float | None:
        if word is None or word.lower() in MISSING:
            return None
        written = word.encode()
        if is_number(written):  # Python reads 1_000 as a number as well, files do not
            return float(word)
        remedy = "repair it"
        if has_decimal_comma(written):
            remedy = "write a decimal point, and nothing between thousands"
        elif row == 0 and not self._parts and scanner.begins_file:
            remedy += ", pass header=True (--header) if the line holds names"
        raise EdgeValueError(
            f"{scanner.place_of(row, 2)} has {word!r} as its weight, expected a number: "
            f"{remedy}, or name columns= without it"
        )

    def finish(self) -> NDArray[Any]:
        """Return the weights."""
        return np.concatenate([np.empty(0), *self._parts]).astype(self._dtype, copy=False)

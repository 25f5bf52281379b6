"""How the lines of a delimited text file are laid out: separator, header, columns.

What the user does not say is found out from the first lines of the file. Matrix Market and
DIMACS files are delimited text whose preamble tells the layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from dgraph.arguments import integer, optional_flag
from dgraph.edges.doubt import check_first_line, doubted_lines
from dgraph.edges.files import File
from dgraph.edges.header import (
    MISSING,
    Decision,
    find_header,
    has_decimal_comma,
    is_number,
)  # fmt: skip
from dgraph.edges.preamble import Matrix, read_dimacs, read_matrix_market
from dgraph.edges.roles import check_unique
from dgraph.edges.scan import WHITESPACE, fields_of
from dgraph.errors import EdgeValueError, OptionError
from dgraph.keywords import hint

__all__ = ["Columns", "Layout", "check_names", "find_layout"]

Columns = Sequence[int | str | None]

BOM = b"\xef\xbb\xbf"
_COMMENTS = (ord("#"), ord("%"))
_SAMPLE = 32  # lines that are looked at
_HEAD = 1 << 16  # bytes that are looked at, more if they hold too few lines
_ANY = 1 << 40  # more fields than a line has
_COMMA = 44

_SEPARATORS = {
    " ": WHITESPACE, r"\s+": WHITESPACE, "whitespace": WHITESPACE,
    "\t": 9, ",": 44, ";": 59, "|": 124, ":": 58,
}  # fmt: skip
# Candidates for a separator; of those that fit equally well, the first in this order is taken.
_GUESSES = {"csv": b",;\t ", "tsv": b"\t,; ", "el": b" \t,;", "wel": b" \t,;", "txt": b"\t;, "}


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the edges stand in a text file.

    Parameters
    ----------
    begin : int
        Byte at which the data begin.
    separator : int
        A byte, or `dgraph.edges.scan.WHITESPACE`.
    columns : tuple of int
        Positions of source, target and weight, -1 for none.
    bounds : tuple of int
        Fewest and most fields of a line.
    comments : tuple of int
        Bytes that make a line a comment if it starts with them.
    kind : int, optional
        The byte that is the first field of every line of data, in DIMACS files; of comments,
        the second then marks the only line that tells the size.
    names : tuple of str
        The header's, if there is one.
    matrix : Matrix, optional
        What a self-describing file says of itself.
    empty : bool
        Whether there is no line of data, so that the file tells nothing.
    chosen : mapping of str to str
        What was decided, and why.
    doubted : tuple of tuple of bytes
        Where lines further below may speak against what the first line was taken for: its ids,
        or names, and the ids of some lines after it. See `dgraph.edges.doubt`.
    """

    begin: int
    separator: int
    columns: tuple[int, int, int]
    bounds: tuple[int, int]
    comments: tuple[int, int] = _COMMENTS
    kind: int | None = None
    names: tuple[str, ...] = ()
    matrix: Matrix | None = None
    empty: bool = False
    chosen: Mapping[str, str] = field(default_factory=dict)
    doubted: tuple[tuple[bytes, ...], ...] = ()

    @property
    def weighted(self) -> bool:
        """Whether there is a column of weights."""
        return self.columns[2] >= 0


def find_layout(
    file: File,
    sep: str | None = None,
    header: bool | None = None,
    columns: Columns | None = None,
    like: Layout | None = None,
) -> Layout:
    """Find out the layout of a text file from its first lines.

    Parameters
    ----------
    file : File
    sep, header, columns
        What the user says, as in `dgraph.read_edges`; a column None is found out.
    like : Layout, optional
        That of another file of the same data: a first line like its header is a header here.
    """
    if file.format == "gr":
        return _dimacs([line for line, _ in _first_lines(file, b"c")[1]], file.path)
    head, lines = _first_lines(file, b"#%")
    if file.format == "mtx" and head.lower().startswith(b"%%matrixmarket"):
        return _matrix_market(*read_matrix_market(head, file.path))
    begin = 0
    told = _told_separator(lines[0][0]) if lines else None
    if told is not None:
        begin, sep = lines.pop(0)[1], sep or told
    texts = [line for line, _ in lines]
    separator, chosen = _separator(sep, file, texts)
    rows = [fields_of(line, separator) for line, _ in lines]
    if not rows:
        weight = 2 if file.format == "wel" else -1
        columns = (0, 1, weight)
        return Layout(begin, separator, columns, (2, _ANY), empty=True, chosen=chosen)
    by_name = any(isinstance(column, str) for column in columns or ())
    named = _header(header, by_name, rows, texts, like)
    if columns is None:
        check_first_line(rows, named.names, file.path)
    first = rows[0][0]
    names: tuple[str, ...] = ()
    if named.names:
        names = tuple(_text(field, file) for field in rows.pop(0)[0])
        begin = lines[0][1]
    width = len(names) or _width(rows)
    fields = [fields for fields, _ in rows]
    positions = _default_columns(names, fields, file)
    bounds = (max(width, 2), max(width, 2))
    if columns is not None:
        positions = _named_columns(columns, positions, names, file)
        bounds = (max(positions) + 1, _ANY)
    doubted = (
        () if named.settled else doubted_lines([first, *fields[1 - bool(names) :]], positions)
    )
    return Layout(
        begin, separator, positions, bounds, names=names, empty=not rows,
        chosen={**chosen, "header": named.why}, doubted=doubted,
    )  # fmt: skip


def _head(file: File, least: int) -> tuple[bytes, bool]:
    """Return the first bytes up to a line's end, and whether they are the whole file."""
    head = file.head(least)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise EdgeValueError(f"{file.path} is UTF-16, expected UTF-8: save it as UTF-8")
    whole = bool(file.codec) or len(head) < least
    return (head if whole else head[: head.rfind(b"\n") + 1]), whole


def _first_lines(file: File, comments: bytes) -> tuple[bytes, list[tuple[bytes, int]]]:
    """Return the head of the file, and its first lines of data with the byte after each."""
    least = _HEAD
    while True:
        head, whole = _head(file, least)
        lines = list(islice(_data_lines(head, comments), _SAMPLE + 1))
        if whole or len(lines) > _SAMPLE:
            return head, lines
        least *= 8


def _data_lines(head: bytes, comments: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield each line that is not blank and no comment, with the byte after it."""
    at = len(BOM) if head.startswith(BOM) else 0
    for match in re.compile(rb"[^\r\n]*(\r\n|\r|\n|$)").finditer(head, at):
        line = match.group()
        if line.strip() and line[0] not in comments:
            yield line, match.end()


def _separator(
    sep: str | None, file: File, lines: Sequence[bytes]
) -> tuple[int, dict[str, str]]:
    """Return the separator, and what it is and why in words."""
    if sep is not None:
        if not isinstance(sep, str) or sep not in _SEPARATORS:
            allowed = ", ".join(map(repr, _SEPARATORS))
            raise OptionError(f"sep must be one of {allowed}, not {sep!r}")
        return _SEPARATORS[sep], {"separator": f"{sep!r}: as sep= says"}

    def fit(separator: int) -> int:
        return sum(_pairs_up(line, separator) for line in lines)

    guesses = _GUESSES.get(file.format, _GUESSES["txt"])
    best = max(guesses, key=fit)  # the first of equals
    if best == _COMMA:
        others = (other for other in guesses if fit(other) == fit(best))
        best = next((other for other in others if _comma_is_point(lines, other)), best)
    word = "blanks" if best == WHITESPACE else repr(chr(best))
    why = f"{word}: cuts {fit(best)} of the first {len(lines)} lines into two fields or more"
    return best, {"separator": why}


def _told_separator(line: bytes) -> str | None:
    r"""Return the separator that a first line tells as Excel does, None if it tells none.

    >>> _told_separator(b"sep=;\r\n"), _told_separator(b"sep,target")
    (';', None)
    """
    found = re.fullmatch(rb'"?sep=(.)"?[,;\t]*\s*', line, re.I)
    told = found.group(1).decode("latin-1") if found else ""
    return told if told in _SEPARATORS else None


def _comma_is_point(lines: Sequence[bytes], separator: int) -> bool:
    """Tell whether commas stand only in numbers after the ends, if another separator cuts.

    Blanks cut also what is a name of several words: the ends must be integers then.

    >>> _comma_is_point([b"a;b;1,5"], 59), _comma_is_point([b"a;b,c"], 59)
    (True, False)
    """
    rows = [fields_of(line, separator)[0] for line in lines]
    return all(
        len(row) > 2
        and all(
            field.isdigit() if separator == WHITESPACE else b"," not in field
            for field in row[:2]
        )
        and all(b"," not in field or has_decimal_comma(field) for field in row[2:])
        for row in rows
    )


def _pairs_up(line: bytes, separator: int) -> bool:
    fields, _ = fields_of(line, separator)
    return len([field for field in fields if field]) >= 2


def _header(
    header: bool | None,
    by_name: bool,
    counted: list[tuple[list[bytes], int]],
    lines: Sequence[bytes],
    like: Layout | None,
) -> Decision:
    """Decide whether the first line holds names: the user says so, another file, or it does.

    A line of one field holds no names of columns: it is a title, or has another separator.
    """
    said = optional_flag("header", header)
    if by_name and said is False:
        raise OptionError("columns= has names, but header=False: give positions")
    if said is not None:
        return Decision(said, f"{'names' if said else 'none'}: as header= says")
    if by_name:
        return Decision(True, "names: columns are chosen by name")
    rows = [fields for fields, _ in counted]
    if counted[0][1] < 2:
        return Decision(False, "none: the first line has one field only")
    names = [field.decode("utf-8", "replace") for field in rows[0]]
    if like is not None and like.names and list(like.names) == names:
        return Decision(True, "names: the same line is the header of another file")
    return find_header(rows, lines)


def _width(rows: list[tuple[list[bytes], int]]) -> int:
    """Return how many columns there are; an empty field at a line's end may be one, or none."""
    return max(len(fields) for fields, count in rows if count == rows[0][1])


def _default_columns(
    names: tuple[str, ...], rows: list[list[bytes]], file: File
) -> tuple[int, int, int]:
    lower = [name.strip().lower() for name in names]
    first = (
        1 if len(lower) > 2 and not lower[0] else 0
    )  # a pandas index, written without a name
    source, target, weight = first, first + 1, first + 2
    if "source" in lower and "target" in lower:
        source, target = lower.index("source"), lower.index("target")
        others = [at for at in range(first, len(lower)) if at not in (source, target)]
        weight = others[0] if others else -1
    if file.format == "wel":
        return source, target, weight
    if "weight" in lower:
        return source, target, lower.index("weight")
    words = [row[weight] for row in rows if len(row) > weight >= 0]
    return source, target, weight if _are_weights(words) else -1


def _are_weights(words: Sequence[bytes]) -> bool:
    """Tell whether a column holds numbers: its first word is one, or half of them are.

    >>> _are_weights([b"", b"1_000", b"2", b"3,5"]), _are_weights([b"red", b"", b"x", b"2"])
    (True, False)
    """
    known = [word for word in words if word.decode("latin-1").lower() not in MISSING]
    numbers = [is_number(word) or has_decimal_comma(word) for word in known]
    return bool(known) and (is_number(known[0]) or 2 * sum(numbers) >= len(known))


def _named_columns(
    columns: Columns, default: tuple[int, int, int], names: tuple[str, ...], file: File
) -> tuple[int, int, int]:
    if not isinstance(columns, list | tuple) or len(columns) not in (2, 3):
        raise OptionError(
            f"columns must name source, target and perhaps weight, not {columns!r}: give 2 or "
            "3 names or positions"
        )
    found = [
        usual if column is None else _position(column, names, file)
        for column, usual in zip(columns, default, strict=False)
    ]
    source, target, weight = [*found, -1][:3]
    if source == target:
        raise OptionError(f"source and target are both {columns[0]!r}, expected two columns")
    return source, target, weight


def _position(column: int | str, names: tuple[str, ...], file: File) -> int:
    if isinstance(column, str):
        if column not in names:
            raise EdgeValueError(
                f"{file.path} has no column {column!r}: choose from {', '.join(names)}"
                f"{hint(column, names)}"
            )
        return names.index(column)
    return integer("a column without a name", column, 0)


def check_names(file: File, layout: Layout, columns: Columns | None, weighted: bool) -> None:
    """Raise if another column has the same name as one that is read.

    Parameters
    ----------
    file : File
    layout : Layout
        Of the file.
    columns : sequence or None
        What the user says of columns: what is chosen by its position may have any name.
    weighted : bool
        Whether weights are read.
    """
    chosen = [*(columns or ()), None, None, None]
    named = [
        at
        for at, column in zip(layout.columns[: 2 + weighted], chosen, strict=False)
        if not isinstance(column, int) and 0 <= at < len(layout.names) and layout.names[at]
    ]
    remedy = "rename one, or give positions, read_edges(..., columns=[0, 1])"
    check_unique(f"{file.path} has", layout.names, named, remedy)


def _text(field: bytes, file: File) -> str:
    try:
        return field.decode()
    except UnicodeDecodeError as error:
        raise EdgeValueError(f"the header of {file.path} is not UTF-8: save it so") from error


def _matrix_market(matrix: Matrix, begin: int) -> Layout:
    fields = 2 if matrix.field == "pattern" else 3
    columns = (0, 1, 2 if fields == 3 else -1)
    return Layout(begin, WHITESPACE, columns, (fields, fields), matrix=matrix)


def _dimacs(lines: list[bytes], name: str) -> Layout:
    """Lay out ``a source target weight``; lines that start with c or p are no arcs."""
    comments = (ord("c"), ord("p"))
    matrix = read_dimacs(lines, name)
    return Layout(
        0, WHITESPACE, (1, 2, 3), (4, 4), comments, ord("a"), matrix=matrix, empty=not lines
    )

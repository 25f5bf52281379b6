"""What Matrix Market and DIMACS files say of themselves before their first edge."""

from __future__ import annotations

from dataclasses import dataclass

from dgraph.errors import EdgeValueError

__all__ = ["Matrix", "read_dimacs", "read_matrix_market"]

_FIELDS = ("pattern", "integer", "real")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


@dataclass(frozen=True, slots=True)
class Matrix:
    """The matrix that a self-describing file holds.

    Parameters
    ----------
    size : int
        Rows and columns; the vertices are 1, ..., size.
    entries : int or None
        Lines of data, if the file promises a number.
    field : str
        "pattern" (no weights), "integer" or "real".
    symmetry : str
        "general", or how the entries that are left out follow: "symmetric", "skew-symmetric".
    """

    size: int
    entries: int | None
    field: str
    symmetry: str

    @property
    def half(self) -> bool:
        """Whether of an entry and its mirror image only one is in the file."""
        return self.symmetry != "general"


def read_matrix_market(head: bytes, name: str) -> tuple[Matrix, int]:
    r"""Return the matrix of the file called `name`, and the byte where its entries begin.

    >>> head = b"%%MatrixMarket matrix coordinate pattern symmetric\n% karate\n34 34 78\n2 1\n"
    >>> read_matrix_market(head, "karate.mtx")
    (Matrix(size=34, entries=78, field='pattern', symmetry='symmetric'), 69)
    """
    banner, *lines = head.splitlines(keepends=True)
    at = len(banner)
    for line in lines:
        at += len(line)
        if line.strip() and not line.startswith(b"%"):
            return _matrix(_words(banner), _words(line), name), at
    raise EdgeValueError(f"{name} has no line with the size of its matrix: write it again")


def _words(line: bytes) -> list[str]:
    return line.decode("latin-1").lower().split()


def _matrix(banner: list[str], sizes: list[str], name: str) -> Matrix:
    if len(banner) != 5 or banner[1:3] != ["matrix", "coordinate"]:
        raise EdgeValueError(
            f"{name} is a Matrix Market {' '.join(banner[1:3])}, expected matrix "
            "coordinate: write a sparse matrix"
        )
    field, symmetry = banner[3:]
    if field == "double":
        field = "real"
    if field not in _FIELDS or symmetry not in _SYMMETRIES:
        raise EdgeValueError(
            f"{name} holds {field} {symmetry} entries, expected one of "
            f"{', '.join(_FIELDS)}: complex numbers cannot be weights"
        )
    if len(sizes) != 3 or not all(size.isdecimal() for size in sizes):
        raise EdgeValueError(
            f"{name}: expected the numbers of rows, columns and entries, got "
            f"{' '.join(sizes)!r}"
        )
    rows, columns, entries = map(int, sizes)
    if rows != columns:
        raise EdgeValueError(
            f"{name} holds a matrix of {rows} x {columns}, expected a square one: its rows "
            "and columns are the vertices"
        )
    return Matrix(rows, entries, field, symmetry)


def read_dimacs(lines: list[bytes], name: str) -> Matrix | None:
    r"""Return what the line ``p sp vertices arcs`` of the file says, None if there is none.

    >>> read_dimacs([b"c a comment\n", b"p sp 14 256\n"], "roads.gr")
    Matrix(size=14, entries=256, field='real', symmetry='general')
    """
    for line in lines:
        words = line.split()
        if words[0] == b"p":
            if len(words) != 4 or not all(word.isdigit() for word in words[2:]):
                raise EdgeValueError(
                    f"{name}: expected 'p sp' and the numbers of vertices and arcs, got "
                    f"{line.decode('latin-1').strip()!r}: repair the line"
                )
            return Matrix(int(words[2]), int(words[3]), "real", "general")
    return None

"""What Arrow arrays need before they can be read: one chunk, and one type of string."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from dgraph.errors import EdgeValueError

__all__ = ["as_strings", "check_utf8", "one_array"]


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, its chunks joined; an extension type as what it stores.

    >>> one_array(pa.chunked_array([["a"], ["b", "a"]]).dictionary_encode()).to_pylist()
    ['a', 'b', 'a']
    """
    if isinstance(column, pa.ChunkedArray):
        if pa.types.is_dictionary(column.type):
            column = column.unify_dictionaries()
        chunks = column.chunks
        column = pa.concat_arrays(chunks) if chunks else pa.array([], column.type)
    return column.storage if isinstance(column, pa.ExtensionArray) else column


def as_strings(array: pa.Array) -> Any:
    """Return an array of any string type as large_string; None if it is no string type.

    >>> as_strings(pa.array(["a"], pa.string_view())).type
    DataType(large_string)
    """
    kind = array.type
    if pa.types.is_large_string(kind):
        return array
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return array.cast(pa.large_string())
    return None


def check_utf8(strings: pa.Array, name: str) -> None:
    """Raise unless an array of strings holds text; files may call bytes so, unchecked.

    Raises
    ------
    EdgeValueError
        That names the column and the first that is none.

    Examples
    --------
    >>> check_utf8(pa.array(["a", None]), "source")
    """
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid as error:
        wrong = next(filter(_is_not_utf8, strings.cast(pa.large_binary()).to_pylist()))
        raise EdgeValueError(
            f"column {name!r} holds {wrong!r}, expected text in UTF-8: write it so"
        ) from error


def _is_not_utf8(text: bytes | None) -> bool:
    try:
        (text or b"").decode()
    except UnicodeDecodeError:
        return True
    return False

"""What Arrow arrays need before they can be read: one chunk, and one type of string."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

__all__ = ["as_strings", "one_array"]


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

"""Kernels over columns of byte strings: offsets (int64, one more than strings) and bytes.

Strings are told apart by 64-bit hashes first, so that the integer kernels do most of the work;
then every match is confirmed by comparing bytes. Should two different strings ever share a
hash, Arrow's own operations take over. On 2 M decimal numbers these kernels factorise in order
in 60 to 75 % of Arrow's time, and locate and sort in 35 to 40 % of it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.vertices.base import Codes, code_dtype, frozen
from dgraph.vertices.hash import hash_strings, word_at
from dgraph.vertices.int_kernels import (
    keys_of_words,
    positions_in,
    radix_argsort,
    sorted_unique,
)

StringColumns = tuple[NDArray[np.int64], NDArray[np.uint8]]


def columns_of(array: pa.LargeStringArray) -> StringColumns:
    """Return the offsets (from 0) and the bytes of an Arrow array without nulls.

    They share memory with it; of a slice only the offsets are copied.

    >>> columns_of(pa.array(["a", "bb"], pa.large_string()))[0]
    array([0, 1, 3])
    """
    _, offsets, data = array.buffers()
    if len(array) == 0 or offsets is None:
        return frozen(np.zeros(1, np.int64)), frozen(np.empty(0, np.uint8))
    where = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    first, last = int(where[0]), int(where[-1])
    if first:
        where = frozen(where - first)
    return where, np.frombuffer(data or b"", np.uint8)[first:last]


def distinct_strings(array: pa.LargeStringArray) -> tuple[Codes, pa.LargeStringArray]:
    """Return each string's code and the string of each code; codes are in no useful order.

    >>> codes, found = distinct_strings(pa.array(["b", "a", "b"], pa.large_string()))
    >>> found.take(pa.array(codes)).to_pylist()
    ['b', 'a', 'b']
    """
    strings = columns_of(array)
    keys = keys_of_words(hash_strings(*strings))
    known = sorted_unique(keys)
    codes: Codes = positions_in(known, keys, code_dtype(len(known)))
    found = array.take(pa.array(_first_rows(codes, len(known))))
    if _drop_different(*columns_of(found), *strings, codes):
        encoded = array.dictionary_encode()
        return encoded.indices.to_numpy(), encoded.dictionary
    return codes, found


def find_strings(table: pa.LargeStringArray, queries: pa.LargeStringArray) -> NDArray[np.int64]:
    """Return the position of each query in `table` (ascending, distinct), -1 if missing.

    >>> table = pa.array(["a", "b"], pa.large_string())
    >>> find_strings(table, pa.array(["b", "c"], pa.large_string()))
    array([ 1, -1])
    """
    known, wanted = columns_of(table), columns_of(queries)
    if len(queries) * 8 < len(table):  # too few to pay for hashing the table
        found = search_strings(known, wanted, False)
        found[found == len(table)] = -1
    else:
        hashes = hash_strings(*known)
        order = radix_argsort(hashes)
        keys = keys_of_words(hashes[order])
        if np.any(keys[1:] == keys[:-1]):
            absent = pc.index_in(queries, value_set=table)
            return np.asarray(absent.fill_null(-1).cast(pa.int64()))
        places = positions_in(keys, keys_of_words(hash_strings(*wanted)), np.int64)
        found = np.append(order, -1)[places]
    _drop_different(*known, *wanted, found)
    return found


def search_strings(
    table: StringColumns, queries: StringColumns, after: bool
) -> NDArray[np.int64]:
    """Return where each query belongs in the ascending table, before or after its equals.

    >>> table = columns_of(pa.array(["a", "bb"], pa.large_string()))
    >>> search_strings(table, columns_of(pa.array(["a", "b"], pa.large_string())), False)
    array([0, 1])
    """
    positions: NDArray[np.int64] = _search(*table, *queries, after)
    return positions


@kernel
def compare(a, a_start, a_stop, b, b_start, b_stop):  # type: ignore[no-untyped-def]
    """Return < 0, 0 or > 0 as the first byte string is less, equal or greater; a kernel."""
    a_size, b_size = a_stop - a_start, b_stop - b_start
    for i in range(min(a_size, b_size)):
        if a[a_start + i] != b[b_start + i]:
            return np.int64(a[a_start + i]) - np.int64(b[b_start + i])
    return a_size - b_size


@kernel
def _first_rows(codes, count):  # type: ignore[no-untyped-def]
    first = np.empty(count, np.int64)
    for row in range(len(codes) - 1, -1, -1):
        first[codes[row]] = row
    return first


@kernel
def _drop_different(offsets, data, q_offsets, q_data, found):  # type: ignore[no-untyped-def]
    """Set found[q] to -1 where query q is not table[found[q]]; return how many were so.

    Words of eight bytes without an early exit: 3 times faster than byte by byte, because no
    branch depends on the data.
    """
    dropped = 0
    for q in range(len(found)):
        if found[q] < 0:
            continue
        at, q_at = offsets[found[q]], q_offsets[q]
        size = offsets[found[q] + 1] - at
        same = size == q_offsets[q + 1] - q_at
        if same:
            done = 0
            while done + 8 <= size:
                same &= word_at(data, at + done) == word_at(q_data, q_at + done)
                done += 8
            while done < size:
                same &= data[at + done] == q_data[q_at + done]
                done += 1
        if not same:
            found[q] = -1
            dropped += 1
    return dropped


@kernel
def _search(offsets, data, q_offsets, q_data, after):  # type: ignore[no-untyped-def]
    positions = np.empty(len(q_offsets) - 1, np.int64)
    for q in range(len(positions)):
        low, high = 0, len(offsets) - 1
        while low < high:
            middle = (low + high) >> 1
            start, stop = offsets[middle], offsets[middle + 1]
            order = compare(data, start, stop, q_data, q_offsets[q], q_offsets[q + 1])
            if order < 0 or (after and order == 0):
                low = middle + 1
            else:
                high = middle
        positions[q] = low
    return positions

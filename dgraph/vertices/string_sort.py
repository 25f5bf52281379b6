"""Sorting a column of byte strings, as a radix sort over windows of seven bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.vertices.int_kernels import radix_argsort
from dgraph.vertices.string_kernels import StringColumns, compare

_WINDOW = 7  # bytes of a string in one 64-bit key; the key's last byte says how many there are
_MERGED = 1024  # a run of strings that agree in a window: up to here merged, above radix again


def argsort_strings(strings: StringColumns) -> NDArray[np.int64]:
    """Return the indices that sort the strings by their bytes; equals keep their sequence.

    >>> import numpy as np
    >>> argsort_strings((np.array([0, 1, 3, 4]), np.frombuffer(b"babb", np.uint8)))
    array([1, 0, 2])
    """
    order = np.arange(len(strings[0]) - 1)
    todo = [(0, len(order), 0)] if len(order) else []
    while todo:  # strings order[start:stop] agree in their first `depth` bytes
        start, stop, depth = todo.pop()
        part = order[start:stop]
        depth += int(_common_prefix(*strings, part, depth))
        keys = _window_keys(*strings, part, depth)
        turned = radix_argsort(keys)
        part[:] = part[turned]
        depth += _WINDOW
        large = _sort_runs(*strings, part, keys[turned], depth)
        todo.extend((start + int(a), start + int(b), depth) for a, b in large)
    return order


@kernel
def _common_prefix(offsets, data, part, depth):  # type: ignore[no-untyped-def]
    """Return how many bytes after the first `depth` all strings of the part share."""
    first = offsets[part[0]] + depth
    shared = offsets[part[0] + 1] - first
    for i in part:
        start = offsets[i] + depth
        shared = min(shared, offsets[i + 1] - start)
        same = 0
        while same < shared and data[start + same] == data[first + same]:
            same += 1
        shared = same
        if shared == 0:
            break
    return shared


@kernel
def _window_keys(offsets, data, part, depth):  # type: ignore[no-untyped-def]
    r"""Return keys in the order of each string's window; a string that ends in it is padded.

    The count in the last byte sorts "a" before "a\0", whose windows are the same.
    """
    keys = np.empty(len(part), np.uint64)
    for i in range(len(part)):
        start = offsets[part[i]] + depth
        left = offsets[part[i] + 1] - start
        key = np.uint64(min(left, _WINDOW + 1))
        for byte in range(min(left, _WINDOW)):
            key |= np.uint64(data[start + byte]) << np.uint64(56 - 8 * byte)
        keys[i] = key
    return keys


@kernel
def _sort_runs(offsets, data, part, keys, depth):  # type: ignore[no-untyped-def]
    """Sort the runs of equal keys whose strings go on; return the bounds of those too large."""
    large = []
    buffer = np.empty(_MERGED, np.int64)
    start = 0
    while start < len(keys):
        stop = start + 1
        while stop < len(keys) and keys[stop] == keys[start]:
            stop += 1
        if stop - start > 1 and keys[start] & np.uint64(255) > _WINDOW:
            if stop - start <= _MERGED:
                _merge_sort(offsets, data, part[start:stop], buffer[: stop - start], depth)
            else:
                large.append((start, stop))
        start = stop
    return large


@kernel
def _merge_sort(offsets, data, part, buffer, depth):  # type: ignore[no-untyped-def]
    width = 1
    while width < len(part):
        for low in range(0, len(part), 2 * width):
            middle = min(low + width, len(part))
            high = min(low + 2 * width, len(part))
            _merge(offsets, data, part[low:middle], part[middle:high], buffer[low:high], depth)
        for at in range(len(part)):  # Numba compiles it in a tenth of the time of a slice
            part[at] = buffer[at]
        width *= 2


@kernel
def _merge(offsets, data, left, right, merged, depth):  # type: ignore[no-untyped-def]
    i = j = 0
    for at in range(len(merged)):
        if i < len(left) and j < len(right):
            a, b = left[i], right[j]
            start, other = offsets[a] + depth, offsets[b] + depth
            from_left = compare(data, start, offsets[a + 1], data, other, offsets[b + 1]) <= 0
        else:
            from_left = i < len(left)
        if from_left:
            merged[at] = left[i]
            i += 1
        else:
            merged[at] = right[j]
            j += 1

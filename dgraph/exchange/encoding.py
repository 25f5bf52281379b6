"""Which vertices a message is about: the shortest of a few encodings, chosen part by part.

A part is about `k` vertices of one slot, as ascending local ids, and values beside them of `w`
bytes each; `n` is one more than the largest id. Heavy vertices have small ids, so `n` is small
where many are meant::

    none      k = 0    nothing is sent
    dense     k = n    n w                         no ids at all
    bitmap             8 ceil(n / 64) + k w
    offsets            4 k + k w

After Gluon (Dathathri et al., PLDI 2018, doi:10.1145/3192366.3192404).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import copy_into, kernel
from dgraph.shard.bits import lowest

__all__ = ["choose", "decode_parts", "encode_parts"]

Array = NDArray[Any]
_ONE = np.uint64(1)


#: What stands for the length of a part that has offsets.
OFFSETS = 0


def choose(n: int, k: int, w: int) -> tuple[str, int]:
    """Return the shortest encoding for k of n vertices with values of w bytes, and its bytes.

    Examples
    --------
    >>> choose(1000, 20, 8), choose(1000, 500, 8), choose(1000, 1000, 8), choose(1000, 0, 8)
    (('offsets', 240), ('bitmap', 4128), ('dense', 8000), ('none', 0))
    """
    if k == 0:
        return "none", 0
    bitmap, offsets = 8 * (-(-n // 64)), 4 * k
    if k == n or n * w <= k * w + min(bitmap, offsets):
        return "dense", n * w
    return ("bitmap", bitmap + k * w) if bitmap < offsets else ("offsets", offsets + k * w)


@kernel
def encode_parts(ids, begin):  # type: ignore[no-untyped-def]
    """Encode parts; part i is about ``ids[begin[i]:begin[i + 1]]``, ascending and not empty.

    Returns
    -------
    lengths : int32 array
        For each part its n; or 0, if it has offsets.
    offsets : int32 array
        Those of all parts that have them.
    bitmaps : uint64 array
        Those of all parts that are neither dense nor have offsets.

    Examples
    --------
    >>> ids = np.array([0, 1, 2, 100, 0, 2, 3], np.int32)
    >>> encode_parts(ids, np.array([0, 3, 4, 7]))
    (array([3, 0, 4], dtype=int32), array([100], dtype=int32), array([13], dtype=uint64))
    """
    parts = begin.size - 1
    lengths = np.empty(parts, np.int32)
    listed, words = 0, 0
    for part in range(parts):
        count, length = begin[part + 1] - begin[part], ids[begin[part + 1] - 1] + 1
        lengths[part] = length
        if count == length:
            continue
        if 2 * ((length + 63) >> 6) < count:
            words += (length + 63) >> 6
        else:
            lengths[part] = OFFSETS
            listed += count
    offsets, bitmaps = np.empty(listed, np.int32), np.zeros(words, np.uint64)
    listed, words = 0, 0
    for part in range(parts):
        count, length = begin[part + 1] - begin[part], lengths[part]
        if length == OFFSETS:
            for i in range(begin[part], begin[part + 1]):
                offsets[listed] = ids[i]
                listed += 1
        elif count < length:
            for i in range(begin[part], begin[part + 1]):
                bitmaps[words + (ids[i] >> 6)] |= _ONE << np.uint64(ids[i] & 63)
            words += (length + 63) >> 6
    return lengths, offsets, bitmaps


@kernel
def decode_parts(counts, lengths, offsets, bitmaps):  # type: ignore[no-untyped-def]
    """Return the ids that :func:`encode_parts` made this of, for parts of so many ids each.

    Examples
    --------
    >>> ids = np.array([0, 1, 2, 100, 0, 2, 3], np.int32)
    >>> begin = np.array([0, 3, 4, 7])
    >>> decode_parts(np.diff(begin), *encode_parts(ids, begin)).tolist() == ids.tolist()
    True
    """
    total = 0
    for count in counts:
        total += count
    ids = np.empty(total, np.int32)
    at, listed, words = 0, 0, 0
    for part in range(counts.size):
        count, length = counts[part], lengths[part]
        if length == OFFSETS:
            copy_into(ids[at:], offsets[listed : listed + count])
            listed += count
            at += count
        elif count == length:
            for i in range(count):
                ids[at + i] = i
            at += count
        else:
            for word in range((length + 63) >> 6):
                bits = bitmaps[words + word]
                while bits:
                    ids[at] = (word << 6) + lowest(bits)
                    at += 1
                    bits &= bits - _ONE
            words += (length + 63) >> 6
    return ids

"""A hash of vertex ids that is the same in every process, on every machine, in every version.

It decides on which slot an id is looked up and which ids are sampled, so it must never change:
saved graphs and mixed clusters rely on it. Integers take the finaliser of splitmix64 [1]_, a
bijection of 64-bit words; strings take MurmurHash64A [2]_ of their UTF-8 bytes, seed 0.

References
----------
.. [1] Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014,
   doi:10.1145/2714064.2660195
.. [2] A. Appleby: MurmurHash2, 64-bit version for 64-bit platforms (public domain).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.kernels import kernel
from dgraph.vertices.base import frozen

_MURMUR = np.uint64(0xC6A4A7935BD1E995)
_SPLIT_1 = np.uint64(0xBF58476D1CE4E5B9)
_SPLIT_2 = np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def hash_ints(values: NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
    """Return the splitmix64 hash of each integer, by value and not by dtype.

    Parameters
    ----------
    values : integer array
        Any width. A negative value counts as its two's complement of 64 bits.

    Returns
    -------
    uint64 array

    Examples
    --------
    >>> import numpy as np
    >>> hash_ints(np.array([0, -1], np.int8))
    array([16294208416658607535, 16490336266968443936], dtype=uint64)
    """
    words = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64, copy=False)
    hashes: NDArray[np.uint64] = _splitmix(frozen(words.view(np.uint64)))
    return hashes


def hash_strings(offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return MurmurHash64A of each byte string ``data[offsets[i] : offsets[i + 1]]``.

    Examples
    --------
    >>> import numpy as np
    >>> hash_strings(np.array([0, 0, 3]), np.frombuffer(b"abc", np.uint8))
    array([                   0, 11297775770902552315], dtype=uint64)
    """
    hashes: NDArray[np.uint64] = _murmur(frozen(offsets), frozen(data))
    return hashes


@kernel
def _splitmix(words):  # type: ignore[no-untyped-def]
    hashes = np.empty(len(words), np.uint64)
    for i in range(len(words)):
        z = words[i] + _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * _SPLIT_1
        z = (z ^ (z >> np.uint64(27))) * _SPLIT_2
        hashes[i] = z ^ (z >> np.uint64(31))
    return hashes


@kernel
def word_at(data, start):  # type: ignore[no-untyped-def]
    """Return the eight bytes from `start` as one word, lowest first; a Numba kernel."""
    word = np.uint64(0)
    for byte in range(8):
        word |= np.uint64(data[np.uint64(start + byte)]) << np.uint64(8 * byte)
    return word


@kernel
def _murmur_of(data, start, stop):  # type: ignore[no-untyped-def]
    size = stop - start
    h = np.uint64(size) * _MURMUR
    at = start
    for _ in range(size >> 3):
        k = word_at(data, at) * _MURMUR
        k ^= k >> np.uint64(47)
        k *= _MURMUR
        h = (h ^ k) * _MURMUR
        at += 8
    if at < stop:
        for byte in range(stop - at):
            h ^= np.uint64(data[at + byte]) << np.uint64(8 * byte)
        h *= _MURMUR
    h ^= h >> np.uint64(47)
    h *= _MURMUR
    return h ^ (h >> np.uint64(47))


@kernel
def _murmur(offsets, data):  # type: ignore[no-untyped-def]
    count = len(offsets) - 1
    hashes = np.empty(count, np.uint64)
    for i in range(count):
        hashes[i] = _murmur_of(data, offsets[i], offsets[i + 1])
    return hashes

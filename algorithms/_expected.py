"""About how many edges a search has found, and about how many copies of vertices it will.

A vertex has a copy on its own slot, the master, and on others, the proxies. Each finds a copy
at most once. How many edges a proxy has only its owner knows; but as vertices are numbered by
degree, its rank tells about as much, among those of the slot's own masters. With thousands of
slots, few of whose vertices are found by themselves, this is what the direction is chosen by.

How many copies are found is reckoned from votes only, so all slots come to the same: what one
has found says little of the others if it holds a hub.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["expected", "likely_bits", "to_masters", "unheard_of"]

#: Ranks of which one is so many times the other tell how fast degrees fall.
APART = 4

Array = NDArray[Any]


def likely_bits(ranks: Array, own: Array, degrees: Array, vertices: int) -> NDArray[np.uint8]:
    """Return of how many bits the degrees of vertices are likely to be.

    Between ranks of known degrees, and before them, degrees are taken to fall as a power.

    Parameters
    ----------
    ranks : integer array
    own : integer array
        The ranks of some vertices, ascending, of which the degrees are known.
    degrees : integer array
        These.
    vertices : int
        In all: more edges no vertex has.

    Examples
    --------
    >>> own, degrees = np.array([1, 7, 63]), np.array([64, 16, 2])
    >>> likely_bits(np.array([0, 1, 3, 20, 90]), own, degrees, 99)
    array([7, 7, 6, 3, 2], dtype=uint8)
    """
    if not own.size:
        return np.ones(ranks.size, np.uint8)
    at, bits = np.log2(own + 1.0), np.log2(np.maximum(degrees, 1))
    later = min(int(np.searchsorted(own, APART * (int(own[0]) + 1))), own.size - 1)
    falls = (bits[0] - bits[later]) / max(at[later] - at[0], 1.0)
    first = min(bits[0] + max(falls, 0.0) * at[0], np.log2(max(vertices, 1)))
    if at[0] > 0:
        at, bits = np.append(0.0, at), np.append(max(first, bits[0]), bits)
    return 1 + np.interp(np.log2(ranks + 1.0), at, bits).astype(np.uint8)


def expected(edges: int, copies: int) -> int:
    """Return about how many of so many copies are found along so many edges.

    Of t tosses at N vertices of all degrees N t / (N + t) differ, as where messages meet
    (:mod:`dgraph.exchange.routing.choice`). This is the arithmetic of IEEE 754.

    Examples
    --------
    >>> [expected(edges, 1000) for edges in (0, 10, 1000, 1_000_000)]
    [0, 9, 500, 999]
    """
    return int(copies * (edges / max(copies + edges, 1)))


def to_masters(edges: int, unheard: int, vertices: int, proxies: int) -> int:
    """Return about how many proxies a top-down level tells their masters of.

    Parameters
    ----------
    edges : int
        About how many edges the frontier has.
    unheard : int
        About how many copies have not been found.
    vertices, proxies : int
        Copies of either kind.

    Examples
    --------
    >>> to_masters(400, 400, 100, 300)
    150
    """
    return expected(edges, unheard) * proxies // max(vertices + proxies, 1)


def unheard_of(left: int, vertices: int, proxies: int) -> int:
    """Return about how many copies those vertices have that were not found bottom-up.

    Examples
    --------
    >>> unheard_of(5, 100, 300)
    20
    """
    return left * (vertices + proxies) // max(vertices, 1)

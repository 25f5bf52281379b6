"""Dependencies as sums that are exact: the same bits in any sequence, on any slots.

::

    delta[u] = sum of x(u, v)                       over the successors v of u
    x(u, v)  = sigma[u] / sigma[v] * (1 + delta[v])

The terms of a vertex come from several slots, pushed and pulled. Each is cut at two grids that
are the same for all, into a multiple of the coarse unit and one of the fine unit::

    bits of x      |<-- bits of n -->| . |<----- coarse ----->|<------- fine ------->|  lost
                                   2**0                     2**-p                  2**-q

Both kinds of multiples add up without rounding: delta[u] is below the number n of vertices, and
u has at most as many successors as the longest row is long, so neither sum passes 2**53 units.
At last the two sums are added, which rounds once. With n = 2**14 and rows of up to 2**12,
p = 36 and q = 75; with 2**24 and 2**18, p = 26 and q = 59. So a dependency is right to the last
bits of a float, unless it is a very small part of a path.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgraph.algorithms._path_counts import scaled
from dgraph.kernels import kernel

__all__ = [
    "Grids",
    "cut",
    "grids_for",
    "pairs",
    "pull_terms",
    "push_terms",
    "receive_terms",
    "settle_terms",
    "show_terms",
]


class Grids(NamedTuple):
    """Two grids: to add this number and to subtract it again rounds to a multiple of the unit.

    Parameters
    ----------
    coarse, fine : float
        1.5 * 2**52 units.
    """

    coarse: float
    fine: float


def grids_for(vertices: int, longest: int) -> Grids:
    """Return the grids of a graph of so many vertices, whose longest row is so long.

    Examples
    --------
    >>> coarse, fine = grids_for(2**14 - 1, 2**12 - 1)
    >>> coarse == 1.5 * 2.0 ** (52 - 37), fine == 1.5 * 2.0 ** (52 - 77)
    (True, True)
    """
    p = 51 - vertices.bit_length()
    q = p + 52 - max(longest, 1).bit_length()
    return Grids(1.5 * 2.0 ** (52 - p), 1.5 * 2.0 ** (52 - q))


@kernel
def cut(x, grids):  # type: ignore[no-untyped-def]
    """Return a term as a multiple of the coarse unit and one of the fine unit.

    Examples
    --------
    >>> cut(5.3125, Grids(1.5 * 2.0**52, 1.5 * 2.0**49))
    (5.0, 0.25)
    """
    high = (x + grids.coarse) - grids.coarse
    rest = x - high
    return high, (rest + grids.fine) - grids.fine


@kernel
def show_terms(members, delta, sigma, exponent, shown, shown_exponent):  # type: ignore[no-untyped-def]
    """Show what each member adds to dependencies, but for the sigma of its predecessors."""
    for v in members:
        shown[v] = (1.0 + delta[v]) / sigma[v]
        if exponent is not None:
            shown_exponent[v] = -exponent[v]


@kernel
def pull_terms(  # type: ignore[no-untyped-def]
    members, copies, delta, sigma, exponent, shown, shown_exponent, offsets, targets, grids
):
    """Let every member add up the terms of its successors, which alone show something."""
    for member in members:
        u = member // copies
        source = member - u * copies
        coarse, fine = 0.0, 0.0
        for j in range(np.uint64(offsets[u]), np.uint64(offsets[u + 1])):
            v = np.uint64(targets[j] * copies + source)
            x = shown[v] * sigma[member]
            if exponent is not None:
                x = scaled(x, exponent[member] + shown_exponent[v])
            high, low = cut(x, grids)
            coarse += high
            fine += low
        delta[member] = coarse + fine


@kernel
def push_terms(  # type: ignore[no-untyped-def]
    members, depth, copies, masters, level, delta, sigma, exponent, shown,
    offsets, targets, proxies, grids,
):  # fmt: skip
    """Push the terms of members to their predecessors at `depth`; return proxies met.

    The sums of coarse multiples are in `shown`, those of fine ones in `delta`.
    """
    count = 0
    for member in members:
        v = member // copies
        source = member - v * copies
        term = (1.0 + delta[member]) / sigma[member]
        for j in range(np.uint64(offsets[v]), np.uint64(offsets[v + 1])):
            u = np.uint64(targets[j] * copies + source)
            if level[u] != depth:
                continue
            x = term * sigma[u]
            if exponent is not None:
                x = scaled(x, exponent[u] - exponent[member])
            high, low = cut(x, grids)
            if u >= masters and is_first(u, high, low, shown, delta):
                proxies[count] = u
                count += 1
            shown[u] += high
            delta[u] += low
    return proxies[:count]


@kernel
def is_first(u, high, low, coarse, fine):  # type: ignore[no-untyped-def]
    """Return whether a term is the first that counts.

    Fine multiples are negative only beside coarse ones, so from then on one sum is above 0.
    """
    return coarse[u] == 0.0 and fine[u] == 0.0 and (high > 0.0 or low > 0.0)


@kernel
def pairs(proxies, coarse, fine):  # type: ignore[no-untyped-def]
    """Take both sums of proxies, to be sent as one number, and leave 0."""
    both = np.empty(proxies.size, np.complex128)
    for i in range(proxies.size):
        u = proxies[i]
        both[i] = complex(coarse[u], fine[u])
        coarse[u] = fine[u] = 0.0
    return both


@kernel
def receive_terms(met, sums, coarse, fine):  # type: ignore[no-untyped-def]
    """Add the sums that other slots pushed."""
    for i in range(met.size):
        coarse[met[i]] += sums[i].real
        fine[met[i]] += sums[i].imag


@kernel
def settle_terms(members, shown, delta):  # type: ignore[no-untyped-def]
    """Add the two sums of members, and show nothing any more."""
    for u in members:
        delta[u] += shown[u]
        shown[u] = 0.0

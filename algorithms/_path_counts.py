"""Numbers of shortest paths: sums that are exact, or else in the sequence of the rows.

Below `EXACT` a count is an integer that a float holds, and may be added up on the way, in any
sequence. What is larger is rounded in every addition. So from the first such count on, those of
a level are told to the proxies, and every master adds them up along its own row, whose sequence
is the same wherever it lies.

Counts double with every diamond and pass 1e308. Then a count is a mantissa and an exponent,
``mantissa * 2**(512 * exponent)``, with the mantissa in ``1 .. 2**512``. As long as no count
comes near the largest float, all exponents are 0 and are left out: where kernels get None for
them, the compiler leaves out what concerns them, too. Terms of a sum that differ by more than
one in the exponent differ by more than 2**512, and the smaller one does not matter.
"""

from __future__ import annotations

import numpy as np

from dgraph.kernels import kernel

__all__ = [
    "EXACT",
    "LARGE",
    "add",
    "count_in_rows",
    "normalise",
    "pull_counts",
    "push_counts",
    "receive_counts",
    "scaled",
]

#: One exponent.
UNIT = 2.0**512
PER_UNIT = 2.0**-512

#: A sum below this is exact; one that is not below it is found not to be, in any sequence.
EXACT = 2.0**53

#: From here on counts need exponents. The sum of 2**31 such counts, and that of as many such
#: sums, is still finite.
LARGE = 2.0**900


@kernel
def add(mantissas, exponents, at, mantissa, exponent):  # type: ignore[no-untyped-def]
    """Add ``mantissa * 2**(512 * exponent)`` to a count that is 0 or has its place.

    Examples
    --------
    >>> import numpy as np
    >>> mantissas, exponents = np.array([3.0, 0.0]), np.array([1, 0], np.int32)
    >>> add(mantissas, exponents, 0, 2.0**511, 0), add(mantissas, exponents, 1, 5.0, 7)
    (None, None)
    >>> mantissas, exponents
    (array([3.5, 5. ]), array([1, 7], dtype=int32))
    """
    if mantissas[at] == 0.0:
        mantissas[at] = mantissa
        exponents[at] = exponent
    elif exponent == exponents[at]:
        mantissas[at] += mantissa
    elif exponent > exponents[at]:
        mantissas[at] = mantissa + scaled(mantissas[at], exponents[at] - exponent)
        exponents[at] = exponent
    else:
        mantissas[at] += scaled(mantissa, exponent - exponents[at])


@kernel
def scaled(value, exponent):  # type: ignore[no-untyped-def]
    """Return ``value * 2**(512 * exponent)`` for an exponent of 0 or less.

    >>> scaled(3.0, 0), scaled(2.0**512, -1), scaled(1.0, -2)
    (3.0, 1.0, 0.0)
    """
    if exponent == 0:
        return value
    return value * PER_UNIT if exponent == -1 else 0.0


@kernel
def normalise(members, mantissas, exponents):  # type: ignore[no-untyped-def]
    """Bring the mantissas of `members` below 2**512."""
    for at in members:
        while mantissas[at] >= UNIT:
            mantissas[at] *= PER_UNIT
            exponents[at] += 1


@kernel
def push_counts(  # type: ignore[no-untyped-def]
    front, depth, copies, masters, level, sigma, offsets, targets, found, proxies
):
    """Push path counts to `depth`; return how many masters were found, and the proxies.

    Without `sigma`, what is found is only given its level.
    """
    founds, proxy = 0, 0
    for member in front:
        u = member // copies
        source = member - u * copies
        for j in range(np.uint64(offsets[u]), np.uint64(offsets[u + 1])):
            v = np.uint64(targets[j] * copies + source)
            if level[v] < 0:
                level[v] = depth
                if v < masters:
                    found[founds] = v
                    founds += 1
                else:
                    proxies[proxy] = v
                    proxy += 1
            if sigma is not None and level[v] == depth:
                sigma[v] += sigma[member]
    return founds, proxies[:proxy]


@kernel
def receive_counts(met, sums, depth, level, sigma, found, founds):  # type: ignore[no-untyped-def]
    """Take the counts that other slots pushed; return how many masters are now found."""
    for i in range(met.size):
        v = met[i]
        if level[v] < 0:
            level[v] = depth
            found[founds] = v
            founds += 1
        if sigma is not None and level[v] == depth:
            sigma[v] += sums[i]
    return founds


@kernel
def pull_counts(depth, copies, level, sigma, shown, offsets, targets, found):  # type: ignore[no-untyped-def]
    """Let the unvisited masters add up what is shown; return how many found something."""
    founds = 0
    for v in range(offsets.size - 1):
        for member in range(v * copies, (v + 1) * copies):
            if level[member] >= 0:
                continue
            source, total = member - v * copies, 0.0
            for j in range(np.uint64(offsets[v]), np.uint64(offsets[v + 1])):
                total += shown[np.uint64(targets[j] * copies + source)]
            if total > 0.0:
                sigma[member] = total
                level[member] = depth
                found[founds] = member
                founds += 1
    return founds


@kernel
def count_in_rows(members, depth, copies, level, sigma, exponent, offsets, targets):  # type: ignore[no-untyped-def]
    """Let masters at `depth` add up the counts above them along their rows of in-edges."""
    for member in members:
        v = member // copies
        source = member - v * copies
        sigma[member] = 0.0
        for j in range(np.uint64(offsets[v]), np.uint64(offsets[v + 1])):
            u = np.uint64(targets[j] * copies + source)
            if level[u] != depth - 1:
                continue
            if exponent is None:
                sigma[member] += sigma[u]
            else:
                add(sigma, exponent, member, sigma[u], exponent[u])

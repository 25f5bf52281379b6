"""Numbers of shortest paths, which double with every diamond and pass 1e308.

A count is a mantissa and an exponent, ``mantissa * 2**(512 * exponent)``, with the mantissa in
``1 .. 2**512``. As long as no count comes near the largest float, all exponents are 0 and are
left out: where kernels get None for them, the compiler leaves out what concerns them, too.
Terms of a sum that differ by more than one in the exponent differ by more than 2**512, and the
smaller one does not matter.
"""

from __future__ import annotations

from dgraph.kernels import kernel

__all__ = ["LARGE", "add", "normalise", "scaled"]

#: One exponent.
UNIT = 2.0**512
PER_UNIT = 2.0**-512

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
    if exponents is None:
        mantissas[at] += mantissa
    elif mantissas[at] == 0.0:
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

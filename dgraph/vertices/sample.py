"""Sampling ids by their hashes, to cut the order of all ids into even parts.

The k ids of smallest hash are a uniform sample of the distinct ids, and the sample of a union
is found from the samples of its parts. So the splitting ids depend only on the set of ids, not
on how it was spread over slots or partitions.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from dgraph.errors import OptionError
from dgraph.vertices.base import Ids

AnyIds = TypeVar("AnyIds", bound=Ids)


def bottom_k(ids: AnyIds, k: int) -> AnyIds:
    """Return the `k` ids of smallest hash, by ascending hash; all of them if there are fewer.

    Parameters
    ----------
    ids : Ids
        Distinct, in any sequence.
    k : int
        Typical: 100 per part.

    Examples
    --------
    >>> import numpy as np
    >>> from dgraph.vertices.ids import IntIds
    >>> bottom_k(IntIds(np.arange(1000)), 3) == bottom_k(IntIds(np.arange(1000)[::-1]), 3)
    True
    """
    hashes = ids.hash()
    if k < len(ids):
        least = np.flatnonzero(hashes <= np.partition(hashes, max(k - 1, 0))[max(k - 1, 0)])
        ids, hashes = ids.take(least), hashes[least]
    order = ids.argsort()
    order = order[np.argsort(hashes[order], kind="stable")]  # strings may share a hash
    return ids.take(order[:k])


def splitters(sample: AnyIds, parts: int) -> AnyIds:
    """Return the ``parts - 1`` ids that cut the order of ids into parts of about equal size.

    Id `x` belongs to part ``splitters.searchsorted(x, side="right")``: splitter `i` is the
    first id of part ``i + 1``.

    Parameters
    ----------
    sample : Ids
        A uniform sample of the ids, in any sequence; if it is smaller than `parts`, some
        splitters are the same and the parts between them empty.
    parts : int
        At least 1.

    Returns
    -------
    Ids
        Ascending. None if the sample is empty: then there are no ids, and one part is enough.

    Notes
    -----
    With a sample of ``k * parts`` ids a part holds about ``1 +- 1 / sqrt(k)`` of its share.

    Examples
    --------
    >>> from dgraph.vertices.ids import StringIds
    >>> splitters(StringIds.of("dfbhagce"), 4)
    StringIds(['c', 'e', 'g'])
    """
    if parts < 1:
        raise OptionError(f"expected at least one part, got {parts}; pass the number of slots")
    ordered = sample.unique()
    if len(ordered) == 0:
        return ordered
    return ordered.take(np.arange(1, parts) * len(ordered) // parts)

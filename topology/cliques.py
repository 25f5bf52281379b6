"""Groups of devices that all have fast links with each other."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["cover"]


def cover(links: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return disjoint cliques that hold every device, sorted by their lowest members.

    Maximum cliques may overlap, so again and again the largest clique of what is left is taken
    (Legion, L1); of several the one with most links in all, then the one with the lowest
    numbers.

    Parameters
    ----------
    links : square matrix of int
        Links between two devices, 0 for none; it takes a link in both directions.

    Examples
    --------
    >>> cover([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 2], [0, 0, 2, 0]])
    [[0, 1, 2], [3]]
    """
    left = set(range(len(links)))
    near = {i: {j for j in left if i != j and links[i][j] and links[j][i]} for i in left}
    cliques = []
    while left:
        best = min(_largest(near, left), key=lambda clique: (-_total(clique, links), clique))
        cliques.append(best)
        left -= set(best)
    return sorted(cliques)


def _total(clique: Sequence[int], links: Sequence[Sequence[int]]) -> int:
    return sum(links[i][j] for i in clique for j in clique)


def _largest(near: dict[int, set[int]], inside: set[int]) -> list[list[int]]:
    """Return all largest cliques (Bron and Kerbosch, with a pivot)."""
    best: list[list[int]] = [[]]

    def grow(clique: list[int], may: set[int], done: set[int]) -> None:
        if len(clique) + len(may) < len(best[0]):
            return
        if not may and not done:
            if len(clique) > len(best[0]):
                best.clear()
            best.append(sorted(clique))
            return
        pivot = max(may | done, key=lambda i: len(near[i] & may))
        for i in sorted(may - near[pivot]):
            grow([*clique, i], may & near[i], done & near[i])
            may = may - {i}
            done = done | {i}

    grow([], set(inside), set())
    return [clique for clique in best if len(clique) == max(map(len, best))]

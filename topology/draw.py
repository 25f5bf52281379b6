"""A domain tree as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dgraph.plurals import counted

SHOWN = 12  # domains of one parent that are drawn, and names of slots; the rest is counted


def text(
    partitions: Sequence[Sequence[int]],
    names: Sequence[Sequence[str]],
    level_names: Sequence[str] = (),
    slot_names: Sequence[str] = (),
) -> str:
    """Draw the tree that `Topology` describes by partitions and names.

    >>> print(text([[0, 0, 1], [0, 0, 0]], [["p", "q"], [""]], ["process", "host"]))
    host 0: 3 slots
    ├── p: slots 0-1
    └── q: slot 2
    """
    if not partitions[0]:
        return "flat: all hosts are alike"
    drawing = _Drawing(partitions, names, level_names, slot_names)
    return "\n".join(drawing.lines(len(partitions) - 1, 0))


class _Drawing:
    def __init__(
        self,
        partitions: Sequence[Sequence[int]],
        names: Sequence[Sequence[str]],
        level_names: Sequence[str],
        slot_names: Sequence[str],
    ) -> None:
        self.names, self.level_names, self.slot_names = names, level_names, slot_names
        self.slots: list[list[list[int]]] = []  # per level and domain
        for partition in partitions:
            self.slots.append([[] for _ in range(max(partition) + 1)])
            for slot, domain in enumerate(partition):
                self.slots[-1][domain].append(slot)
        self.partitions = partitions

    def lines(self, level: int, domain: int) -> Iterator[str]:
        """Yield the domain's line and, indented, those of the domains below it."""
        level, domain = self.lowest_alike(level, domain)
        slots = self.slots[level][domain]
        children = self.children(level, domain)
        size = counted(len(slots), "slot") if children else self.listed(slots)
        yield f"{self.label(level, domain)}: {size}"
        for child in children[:SHOWN]:
            last = child == children[-1]
            first, *rest = self.lines(level - 1, child)
            yield ("└── " if last else "├── ") + first
            yield from (("    " if last else "│   ") + line for line in rest)
        if len(children) > SHOWN:
            yield f"└── ... {len(children) - SHOWN} more"

    def listed(self, slots: Sequence[int]) -> str:
        """List the slots of a lowest domain, by name if each has its own."""
        if len(set(self.slot_names)) < len(self.partitions[0]):
            return ranges(slots)
        more = f", ... {len(slots) - SHOWN} more" if len(slots) > SHOWN else ""
        return ", ".join(self.slot_names[slot] for slot in slots[:SHOWN]) + more

    def children(self, level: int, domain: int) -> list[int]:
        if level == 0:
            return []
        below = self.partitions[level - 1]
        return list(dict.fromkeys(below[slot] for slot in self.slots[level][domain]))

    def lowest_alike(self, level: int, domain: int) -> tuple[int, int]:
        """Pass over domains that hold just one other of the same name, or none."""
        while level:
            first, *others = self.children(level, domain)
            if others or self.names[level][domain] != self.names[level - 1][first]:
                break
            level, domain = level - 1, first
        return level, domain

    def label(self, level: int, domain: int) -> str:
        named = self.names[level][domain]
        kind = self.level_names[level] if level < len(self.level_names) else ""
        return named or (f"{kind} {domain}" if kind else f"domain {level}.{domain}")


def ranges(slots: Sequence[int]) -> str:
    """Write ascending slots as ranges.

    >>> ranges([0, 1, 2, 5])
    'slots 0-2, 5'
    """
    runs: list[list[int]] = []
    for slot in slots:
        if runs and slot == runs[-1][1] + 1:
            runs[-1][1] = slot
        else:
            runs.append([slot, slot])
    written = ", ".join(f"{a}-{b}" if a < b else str(a) for a, b in runs)
    return f"slot{'s' * (len(slots) != 1)} {written}"

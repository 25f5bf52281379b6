"""Clocks and medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Phases", "medians", "timed"]


def timed(call: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[float, Any]:
    """Call, and return the seconds it took and what it returned.

    >>> seconds, answer = timed(max, 3, 7)
    >>> answer
    7
    """
    start = time.perf_counter()
    answer = call(*args, **kwargs)
    return time.perf_counter() - start, answer


def medians(samples: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the median of each contender's samples.

    >>> medians({"a": [3.0, 1.0, 2.0]})
    {'a': 2.0}
    """
    return {name: statistics.median(values) for name, values in samples.items()}


@dataclass
class Phases:
    """Seconds by phase: generation, ingest, kernel, validation.

    >>> phases = Phases()
    >>> with phases("ingest"):
    ...     pass
    >>> list(phases.seconds)
    ['ingest']
    """

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Add what the block takes to the phase."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + spent

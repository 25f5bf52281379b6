"""The GAP Benchmark Suite (Beamer, Asanovic & Patterson, arXiv:1508.03619): built programs.

The variable GAPBS names the folder that holds them (bfs, cc, pr, sssp, bc). They read the
graph in their own serialized format (`EdgeFiles.serialized`), so vertices and sources are the
same as everywhere else, and they print ``Trial Time:`` for the kernel alone.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["TRIALS", "Gap", "Trials", "parse"]

#: Runs in succession in one turn of a contest, of GAPBS and of dgraph: the median leaves out
#: the one that meets cold caches or fresh pages.
TRIALS = 3

_TRIAL = re.compile(r"^Trial Time:\s+([\d.]+)", re.MULTILINE)
_ROUND = re.compile(r"^\s*\d+\s+[\d.eE+-]+\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Trials:
    """Seconds of each trial, and the rounds of one (PageRank with ``-l`` counts them)."""

    seconds: tuple[float, ...]
    rounds: int

    @property
    def median(self) -> float:
        """The median over the trials of one process."""
        return statistics.median(self.seconds)


def parse(output: str) -> Trials:
    r"""Find the trials in what a program printed.

    >>> parse("    0   0.91\n   1   0.20\nTrial Time:          0.00321\n")
    Trials(seconds=(0.00321,), rounds=2)
    """
    seconds = tuple(float(found) for found in _TRIAL.findall(output))
    if not seconds:
        raise RuntimeError(f"expected 'Trial Time' from GAPBS, it printed: {output[-300:]!r}")
    return Trials(seconds, len(_ROUND.findall(output)) // len(seconds))


class Gap:
    """The programs in the folder that the variable GAPBS names.

    >>> Gap("/nowhere").missing("bfs")
    "GAPBS is skipped: '/nowhere' holds no program bfs (build GAPBS, let GAPBS name its folder)"
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder if folder is not None else os.environ.get("GAPBS", "")

    def missing(self, program: str) -> str | None:
        """Return why a program cannot run, or None."""
        if not self.folder:
            return (
                "GAPBS is skipped: the variable GAPBS does not name the folder of its programs"
            )
        if Path(self.folder, program).is_file():
            return None
        return (
            f"GAPBS is skipped: {self.folder!r} holds no program {program} "
            "(build GAPBS, let GAPBS name its folder)"
        )

    def run(self, program: str, graph: str, threads: int, *options: str | int) -> Trials:
        """Run a program on a serialized graph."""
        command = [str(Path(self.folder, program)), "-f", graph, "-n", str(TRIALS)]
        command += map(str, options)
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with code {done.returncode}")
        return parse(done.stdout)

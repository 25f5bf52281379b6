"""The command: ``python -m benchmarks [--scale 20] [--only bfs,cc] [--json FILE]``."""

from __future__ import annotations

import json
import os
import platform
import re
import traceback
from pathlib import Path
from typing import Any

import click

import dgraph
from benchmarks.bench import Bench, Settings
from benchmarks.cases import CASES, load
from benchmarks.command import names_of
from benchmarks.row import Row, report, summary

__all__ = ["main", "run_cases"]


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    about = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.+)", about.read_text() if about.exists() else "")
    return {
        "processor": found.group(1) if found else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "dgraph": dgraph.__version__,
    }


def run_cases(names: list[str], settings: Settings) -> tuple[list[Row], list[str]]:
    """Run cases and print their rows as they come; return the rows and the failed cases."""
    rows: list[Row] = []
    failed: list[str] = []
    with Bench(settings, say=click.echo) as bench:
        for name in names:
            try:
                for row in load(name)(bench):
                    rows.append(row)
                    click.echo(f"\n{report(row)}\n")
            except Exception:
                failed.append(name)
                click.echo(f"\n{name} failed:\n{traceback.format_exc()}")
    return rows, failed


@click.command()
@click.option("--scale", default=20, show_default=True, help="The targets speak of 20.")
@click.option("--repeat", default=5, show_default=True, help="Runs behind each median.")
@click.option("--sources", default=16, show_default=True, help="Searches behind a median.")
@click.option(
    "--only", "names", default="", callback=names_of(CASES), help=f"Of {','.join(CASES)}."
)
@click.option("--skip", default="", help="Rivals to leave out: gap,igraph,networkit,...")
@click.option(
    "--isolated", is_flag=True, help="All 2**scale vertices on all sides, as GAPBS -g has them."
)
@click.option(
    "--json", "path", type=click.Path(path_type=Path), help="Write all samples there."
)
def main(
    scale: int,
    repeat: int,
    sources: int,
    names: list[str],
    skip: str,
    isolated: bool,
    path: Path | None,
) -> None:
    """Time dgraph and its rivals in turns, and print figures, ratios and targets.

    The GAP Benchmark Suite takes part if the variable GAPBS names the folder of its programs;
    igraph, networkit and python-graphblas if they are installed (extra "bench").
    """
    found = machine()
    click.echo(", ".join(f"{name} {value}" for name, value in found.items()) + "\n")
    settings = Settings(
        scale, repeat, sources, not isolated, tuple(filter(None, skip.split(",")))
    )
    rows, failed = run_cases(names, settings)
    click.echo(summary(rows))
    if path is not None:
        record = {"machine": found, "scale": scale, "rows": [row.record() for row in rows]}
        path.write_text(json.dumps(record, indent=1))
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()

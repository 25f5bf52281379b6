"""The command: ``python -m benchmarks [--scale 20] [--only bfs,cc] [--json FILE]``."""

from __future__ import annotations

import json
import traceback
from pathlib import Path

import click

from benchmarks.bench import Bench, Settings
from benchmarks.cases import CASES, load
from benchmarks.command import machine, names_of
from benchmarks.row import Row, report, summary

__all__ = ["main", "run_cases"]


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
@click.option(
    "--scale", default=Settings.scale, show_default=True, help="The targets speak of 20."
)
@click.option(
    "--repeat",
    "turns",
    default=Settings.turns,
    show_default=True,
    help="Runs behind each median.",
)
@click.option(
    "--sources", default=Settings.sources, show_default=True, help="Searches behind a median."
)
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
    turns: int,
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
    skipped = tuple(filter(None, skip.split(",")))
    settings = Settings(scale, turns, sources, not isolated, skipped)
    rows, failed = run_cases(names, settings)
    click.echo(summary(rows))
    if path is not None:
        record = {"machine": found, "scale": scale, "rows": [row.record() for row in rows]}
        path.write_text(json.dumps(record, indent=1))
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()

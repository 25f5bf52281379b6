"""The command: ``python -m benchmarks.gnn [--out FOLDER] [--scale N] [--only ...]``."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.__main__ import machine
from benchmarks.command import names_of, show
from benchmarks.gnn.figures import FIGURES, Asked, Bench

__all__ = ["main"]


@click.command()
@click.option(
    "--scale", default=13, show_default=True, help="Of the graphs; 14 takes twice as long."
)
@click.option(
    "--only", "names", default="", callback=names_of(FIGURES), help=f"Of {','.join(FIGURES)}."
)
@click.option("--dimension", default=100, show_default=True, help="Features of a vertex.")
@click.option("--batch-size", default=128, show_default=True, help="Legion has 8,000.")
@click.option("--turns", default=3, show_default=True, help="Epochs behind each median.")
@click.option("--out", type=click.Path(path_type=Path), help="Write CSV, JSON, plots there.")
def main(
    scale: int, names: list[str], dimension: int, batch_size: int, turns: int, out: Path | None
) -> None:
    """Show what Legion's cache gains beside those of other systems, in tables and plots."""
    about = machine()
    click.echo(", ".join(f"{name} {value}" for name, value in about.items()) + "\n")
    asked = Asked(scale, dimension, batch_size, turns)
    bench = Bench(asked, lambda text: click.echo(f"... {text}", err=True))
    show(FIGURES, names, bench, out)


if __name__ == "__main__":
    main()

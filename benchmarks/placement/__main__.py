"""The command: ``python -m benchmarks.placement [--out FOLDER] [--scale N] [--only ...]``."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.__main__ import machine
from benchmarks.command import names_of, numbers, show
from benchmarks.placement.ablation import ablation
from benchmarks.placement.autos import auto
from benchmarks.placement.figures import FIGURES, Asked, Bench
from benchmarks.placement.quality import quality

__all__ = ["main"]

ALL = {**FIGURES, "auto": auto, "quality": quality, "ablation": ablation}


@click.command()
@click.option("--scale", default=12, show_default=True, help="Of the graphs.")
@click.option(
    "--only", "names", default="", callback=names_of(ALL), help=f"Of {','.join(ALL)}."
)
@click.option(
    "--slots",
    default="16,64",
    callback=numbers,
    show_default=True,
    help="Virtual slots of teps; on more than 64 four placements only.",
)
@click.option("--real", multiple=True, help="A file of edges; default: two of networkx's own.")
@click.option("--leaves", default=1 << 16, show_default=True, help="Of the star.")
@click.option(
    "--sides",
    default="300",
    callback=numbers,
    show_default=True,
    help="Of the grids of quality.",
)
@click.option("--turns", default=3, show_default=True, help="Runs behind each measured time.")
@click.option("--out", type=click.Path(path_type=Path), help="Write CSV, JSON, plots there.")
def main(
    scale: int,
    names: list[str],
    slots: tuple[int, ...],
    real: tuple[str, ...],
    leaves: int,
    sides: tuple[int, ...],
    turns: int,
    out: Path | None,
) -> None:
    """Show what placements and rhizomes gain, in tables and plots."""
    about = machine()
    click.echo(", ".join(f"{name} {value}" for name, value in about.items()) + "\n")
    asked = Asked(scale, slots, real, leaves, turns, sides)
    bench = Bench(asked, lambda text: click.echo(f"... {text}", err=True))
    show(ALL, names, bench, out)


if __name__ == "__main__":
    main()

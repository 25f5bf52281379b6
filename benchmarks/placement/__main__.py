"""The command: ``python -m benchmarks.placement [--out FOLDER] [--scale N] [--only ...]``."""

from __future__ import annotations

from typing import Any

import click

from benchmarks.command import figures_command, numbers
from benchmarks.placement.ablation import ablation
from benchmarks.placement.autos import auto
from benchmarks.placement.figures import FIGURES, Bench, Settings
from benchmarks.placement.quality import quality

__all__ = ["main"]

ALL = {**FIGURES, "auto": auto, "quality": quality, "ablation": ablation}


@figures_command(ALL, Bench, Settings, "Of the graphs.")
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
def main(**options: Any) -> Settings:
    """Show what placements and rhizomes gain, in tables and plots."""
    return Settings(**options)


if __name__ == "__main__":
    main()

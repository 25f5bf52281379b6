"""The command: ``python -m benchmarks.gnn [--out FOLDER] [--scale N] [--only ...]``."""

from __future__ import annotations

from typing import Any

import click

from benchmarks.command import figures_command
from benchmarks.gnn.figures import FIGURES, Bench, Settings

__all__ = ["main"]


@figures_command(FIGURES, Bench, Settings, "Of the graphs; 14 takes twice as long.")
@click.option("--dimension", default=100, show_default=True, help="Features of a vertex.")
@click.option("--batch-size", default=128, show_default=True, help="Legion has 8,000.")
def main(**options: Any) -> Settings:
    """Show what Legion's cache gains beside those of other systems, in tables and plots."""
    return Settings(**options)


if __name__ == "__main__":
    main()

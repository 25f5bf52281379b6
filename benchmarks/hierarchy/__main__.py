"""The command: ``python -m benchmarks.hierarchy [--out FOLDER] [--scale N] [--only ...]``."""

from __future__ import annotations

from typing import Any

import click

from benchmarks.command import figures_command, numbers
from benchmarks.hierarchy.baselines import baselines
from benchmarks.hierarchy.evidence import FIGURES, Bench, Settings
from benchmarks.hierarchy.law import law
from benchmarks.hierarchy.netlab import VARIABLE, find
from benchmarks.hierarchy.wall import carriers, links, overlap, topdown, walls
from benchmarks.hierarchy.wire import wire

__all__ = ["main"]

ALL = FIGURES | {
    "links": links,
    "carriers": carriers,
    "baselines": baselines,
    "overlap": overlap,
    "law": law,
    "wire": wire,
    "walls": walls,
    "topdown": topdown,
}


@figures_command(ALL, Bench, Settings, "The targets speak of 18.")
@click.option(
    "--slots",
    default="64,256",
    callback=numbers,
    show_default=True,
    help="Virtual slots; the targets speak of 1024,4096.",
)
@click.option("--virtual-scale", type=int, help="Of their graph: the targets speak of 20.")
@click.option("--real", multiple=True, help="A file of edges; default: two of networkx's own.")
@click.option("--netlab", help=f"The folder of netlab.py. Default: the variable {VARIABLE}.")
@click.option("--netlab-scale", type=int, help="Of the graph there. Default: 16; topdown: 22.")
def main(
    netlab: str | None, virtual_scale: int | None, netlab_scale: int | None, **options: Any
) -> Settings:
    """Show what the communication hierarchy gains, in tables and plots."""
    found, reason = find(netlab)
    return Settings(
        **options,
        virtual_scale=virtual_scale or options["scale"],
        netlab_scale=netlab_scale or Settings.netlab_scale,
        topdown_scale=netlab_scale or Settings.topdown_scale,
        netlab=found,
        reason=reason,
    )


if __name__ == "__main__":
    main()

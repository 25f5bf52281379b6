"""The command: ``python -m benchmarks.hierarchy [--out FOLDER] [--scale N] [--only ...]``."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.__main__ import machine
from benchmarks.command import names_of, numbers, show
from benchmarks.hierarchy.baselines import baselines
from benchmarks.hierarchy.evidence import FIGURES, Asked, Bench
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


@click.command()
@click.option("--scale", default=12, show_default=True, help="The targets speak of 18.")
@click.option(
    "--only", "names", default="", callback=names_of(ALL), help=f"Of {','.join(ALL)}."
)
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
@click.option("--netlab-scale", default=16, show_default=True, help="Of the graph there.")
@click.option("--turns", default=3, show_default=True, help="Runs behind each wall time.")
@click.option("--out", type=click.Path(path_type=Path), help="Write CSV, JSON, plots there.")
def main(
    scale: int,
    names: list[str],
    slots: tuple[int, ...],
    virtual_scale: int | None,
    real: tuple[str, ...],
    netlab: str | None,
    netlab_scale: int,
    turns: int,
    out: Path | None,
) -> None:
    """Show what the communication hierarchy gains, in tables and plots."""
    about = machine()
    click.echo(", ".join(f"{name} {value}" for name, value in about.items()) + "\n")
    found, reason = find(netlab)
    asked = Asked(
        scale, slots, virtual_scale or scale, real, found, reason, netlab_scale, turns
    )
    bench = Bench(asked, lambda text: click.echo(f"... {text}", err=True))
    show(ALL, names, bench, out)


if __name__ == "__main__":
    main()

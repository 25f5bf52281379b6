"""The command: ``python -m benchmarks.hierarchy [--out FOLDER] [--scale N] [--only ...]``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from benchmarks.__main__ import machine
from benchmarks.hierarchy.evidence import FIGURES, Asked, Bench
from benchmarks.hierarchy.netlab import VARIABLE, find
from benchmarks.hierarchy.tables import Table, write
from benchmarks.hierarchy.wall import links, walls

__all__ = ["main"]

ALL = FIGURES | {"links": links, "walls": walls}


def _names(context: click.Context, parameter: click.Parameter, value: str) -> list[str]:
    names = value.split(",") if value else list(ALL)
    if unknown := [name for name in names if name not in ALL]:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(ALL)}")
    return names


def _numbers(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, value.split(",")))
    except ValueError:
        raise click.BadParameter(f"expected numbers, got {value!r}") from None


@click.command()
@click.option("--scale", default=12, show_default=True, help="The targets speak of 18.")
@click.option("--only", "names", default="", callback=_names, help=f"Of {','.join(ALL)}.")
@click.option(
    "--slots",
    default="64,256",
    callback=_numbers,
    show_default=True,
    help="Virtual slots; the targets speak of 1024,4096.",
)
@click.option("--virtual-scale", type=int, help="Of their graph: the targets speak of 20.")
@click.option("--real", multiple=True, help="A file of edges; default: two of networkx's own.")
@click.option("--netlab", help=f"The folder of netlab.py. Default: the variable {VARIABLE}.")
@click.option("--netlab-scale", default=16, show_default=True, help="Of the graph there.")
@click.option("--turns", default=5, show_default=True, help="Runs behind each wall time.")
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
    tables: list[Table] = []
    with bench.stack:
        for name in names:
            for table in ALL[name](bench):
                tables.append(table)
                click.echo(table.text() + "\n")
    if out is not None:
        files = [os.path.relpath(path) for path in write(tables, out)]
        click.echo("written: " + ", ".join(files))


if __name__ == "__main__":
    main()

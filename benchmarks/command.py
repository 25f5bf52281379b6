"""What the commands of the benchmarks share: settings, options, figures as they come.

A benchmark of figures has a function of a `Workbench` for each figure, settings of its own, and
a command, which `figures_command` makes of both.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, Generic, TypeVar

import click

import dgraph
from benchmarks.hierarchy.tables import Table, write

__all__ = ["Settings", "Workbench", "figures_command", "machine", "names_of", "numbers"]


@dataclass(frozen=True)
class Settings:
    """What every benchmark's command line says; each adds what it needs.

    Parameters
    ----------
    scale : int
        Of the graphs: they have about 2**scale vertices.
    turns : int
        Runs behind each median.
    """

    scale: int = 12
    turns: int = 3


S = TypeVar("S", bound=Settings)


@dataclass
class Workbench(Generic[S]):
    """What the figures of a benchmark share: made once, closed at the end.

    Parameters
    ----------
    settings : Settings
    say : callable
        Gets the lines that are no figures: how far it is.
    """

    settings: S
    say: Callable[[str], Any]
    stack: ExitStack = field(default_factory=ExitStack)


Figure = Callable[[Any], Iterable[Table]]


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


def names_of(known: Collection[str]) -> Callable[..., list[str]]:
    """Return a callback of click for names joined by commas; none are all that are known."""

    def check(context: click.Context, parameter: click.Parameter, value: str) -> list[str]:
        names = value.split(",") if value else list(known)
        if unknown := [name for name in names if name not in known]:
            raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(known)}")
        return names

    return check


def numbers(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    """Check numbers joined by commas: a callback of click."""
    try:
        return tuple(map(int, value.split(",")))
    except ValueError:
        raise click.BadParameter(f"expected numbers, got {value!r}") from None


def figures_command(
    figures: Mapping[str, Figure],
    bench: Callable[[S, Callable[[str], Any]], Workbench[S]],
    settings: type[S],
    scale: str,
) -> Callable[[Callable[..., S]], click.Command]:
    """Make the command of a benchmark of a function from its own options to its settings.

    Parameters
    ----------
    figures : mapping of str to callable
        By the names that ``--only`` knows.
    bench : subclass of Workbench
    settings : subclass of Settings
        Its defaults of scale and turns are those of the options.
    scale : str
        What the help says of ``--scale``.
    """
    shared = (
        click.option("--out", type=click.Path(path_type=Path), help="Write CSV, JSON, plots."),
        click.option(
            "--turns", default=settings.turns, show_default=True, help="Runs behind each time."
        ),
        click.option(
            "--only",
            "names",
            default="",
            callback=names_of(figures),
            help=f"Of {','.join(figures)}.",
        ),
        click.option("--scale", default=settings.scale, show_default=True, help=scale),
    )

    def decorate(function: Callable[..., S]) -> click.Command:
        @wraps(function)
        def main(names: list[str], out: Path | None, **options: Any) -> None:
            click.echo(", ".join(f"{name} {value}" for name, value in machine().items()) + "\n")
            made = bench(function(**options), lambda text: click.echo(f"... {text}", err=True))
            _show(figures, names, made, out)

        for option in shared:
            main = option(main)
        return click.command(main)

    return decorate


def _show(
    figures: Mapping[str, Figure], names: Iterable[str], bench: Workbench[S], out: Path | None
) -> None:
    """Print the tables of some figures as they come, and write them to a folder."""
    tables: list[Table] = []
    with bench.stack:
        for name in names:
            for table in figures[name](bench):
                tables.append(table)
                click.echo(table.text() + "\n")
    if out is not None:
        files = [os.path.relpath(path) for path in write(tables, out)]
        click.echo("written: " + ", ".join(files))

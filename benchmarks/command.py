"""What the commands of the benchmarks share: names, numbers, tables as they come."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from benchmarks.hierarchy.tables import Table, write

__all__ = ["names_of", "numbers", "show"]


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


def show(
    figures: Mapping[str, Callable[[Any], Iterable[Table]]],
    names: Iterable[str],
    bench: Any,
    out: Path | None,
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

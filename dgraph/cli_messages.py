"""What the command line says on stderr: one line for each thing that is wrong or doubtful."""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from collections.abc import Iterator
from typing import TextIO

import click

from dgraph.errors import DgraphWarning

__all__ = ["complain", "notes_to_terminals", "warn_in_lines"]


def complain(message: str) -> int:
    """Say in one line what is wrong; return the exit code of bad input."""
    _say(message)
    return 2


@contextlib.contextmanager
def notes_to_terminals() -> Iterator[None]:
    """Keep notes of why nothing seems to happen from a standard error that is no terminal.

    They are progress, which goes to terminals only; where logging is set up, they are logged.
    """
    logger = logging.getLogger("dgraph")

    def is_no_note(record: logging.LogRecord) -> bool:
        return record.module != "events"

    if sys.stderr.isatty() or logger.hasHandlers():
        yield
        return
    logger.addFilter(is_no_note)
    try:
        yield
    finally:
        logger.removeFilter(is_no_note)


@contextlib.contextmanager
def warn_in_lines() -> Iterator[None]:
    """Show dgraph's own warnings as one line each, once, without the place in the code."""
    with warnings.catch_warnings():
        shown = warnings.showwarning
        said: set[str] = set()

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, DgraphWarning):
                shown(message, category, filename, lineno, file, line)
            elif str(message) not in said:
                said.add(str(message))
                _say(str(message))

        warnings.showwarning = show
        yield


def _say(message: str) -> None:
    click.echo("dgraph: " + " ".join(message.split()), err=True)

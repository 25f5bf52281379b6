"""What the command line says on stderr: one line for each thing that is wrong or doubtful."""

from __future__ import annotations

import contextlib
import errno
import logging
import sys
import warnings
from collections.abc import Iterator
from typing import TextIO

import click

from dgraph.errors import DgraphWarning, EmptyWarning
from dgraph.keywords import nearest

__all__ = ["complain", "in_words", "notes_to_terminals", "remedy", "say", "warn_in_lines"]


def complain(message: str) -> int:
    """Say in one line what is wrong; return the exit code of bad input."""
    say(message)
    return 2


def in_words(error: OSError) -> str:
    """Return what an error of the operating system says, and what to do about it.

    >>> import errno
    >>> in_words(PermissionError(errno.EACCES, "Permission denied", "edges.csv"))
    "'edges.csv': Permission denied"
    >>> in_words(OSError(errno.ENOSPC, "No space left on device"))
    'No space left on device: make room where output and temporary files go'
    """
    if error.strerror is None:
        return str(error)
    where = "" if error.filename is None else f"{error.filename!r}: "
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    advice = ": make room where output and temporary files go" * full
    return f"{where}{error.strerror}{advice}"


def remedy(error: click.ClickException) -> str:
    """Return what to choose from, or where to look, after a word that Click does not know.

    Click itself names what is spelled nearly so, but not of values.
    """
    if isinstance(error, click.BadParameter) and error.param is not None:
        return _meant(error.message, error.param.type)
    context = getattr(error, "ctx", None)
    if context is None or getattr(error, "possibilities", None):
        return ""
    if isinstance(error, click.NoSuchOption):
        return f" '{context.command_path} --help' lists them."
    if isinstance(context.command, click.Group) and "command" in error.format_message():
        return f" Choose from {', '.join(context.command.list_commands(context))}."
    return ""


def _meant(message: str, kind: object) -> str:
    """Return which of the choices was meant where Click has refused a word.

    >>> _meant("'degre' is not one of 'degree', 'hash'.", click.Choice(["degree", "hash"]))
    " Did you mean 'degree'?"
    """
    word = message.removeprefix("'").partition("' is not one of ")[0]
    near = nearest(word, kind.choices) if isinstance(kind, click.Choice) else None
    return "" if near is None else f" Did you mean {near!r}?"


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
    """Show dgraph's own warnings as one line each, once, without the place in the code.

    Of files without edges a command speaks itself, once none is left.
    """
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
            elif str(message) not in said and not issubclass(category, EmptyWarning):
                said.add(str(message))
                say(str(message))

        warnings.showwarning = show
        yield


def say(message: str) -> None:
    """Say something in one line on standard error."""
    click.echo("dgraph: " + " ".join(message.split()), err=True)

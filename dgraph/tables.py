"""Facts as tables: plain in a terminal, in HTML in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

__all__ = ["Table", "html"]


class Table(Mapping[str, Any]):
    """A mapping that cannot be changed and shows as a table.

    Parameters
    ----------
    title : str
    facts : mapping of str to anything
        A mapping among them is shown on one line.

    Examples
    --------
    >>> report = Table("report", {"rows_read": 12, "seconds": {"absorb": 0.25, "build": 0.5}})
    >>> report["rows_read"]
    12
    >>> report
    rows_read  12
    seconds    absorb 0.25, build 0.5
    """

    def __init__(self, title: str, facts: Mapping[str, Any]) -> None:
        self._title = title
        self._facts = dict(facts)

    def __getitem__(self, name: str) -> Any:
        """Return a fact."""
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._facts)

    def __len__(self) -> int:
        """Return how many facts there are."""
        return len(self._facts)

    def __repr__(self) -> str:
        """Show a line for each fact."""
        width = max(map(len, self._facts), default=0)
        rows = (f"{name:<{width}}  {_words(value)}" for name, value in self._facts.items())
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        return html(self._title, self._facts)


def html(title: str, rows: Mapping[str, Any]) -> str:
    """Return a table of names and values for a notebook.

    Examples
    --------
    >>> html("graph", {"edges": 1_000})[:41]
    '<table><caption>graph</caption><tbody><tr'
    """
    cells = "".join(
        f'<tr><th style="text-align: left">{escape(str(name))}</th>'
        f'<td style="text-align: left">{escape(_words(value))}</td></tr>'
        for name, value in rows.items()
    )
    return f"<table><caption>{escape(title)}</caption><tbody>{cells}</tbody></table>"


def _words(value: Any) -> str:
    """Return a value as a person writes it.

    >>> _words(1_234_567), _words(0.123456), _words({0: 3, 1: 4})
    ('1,234,567', '0.1235', '0 3, 1 4')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_words(some)}" for name, some in value.items())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"

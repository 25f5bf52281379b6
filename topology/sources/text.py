"""The text of a source: cleaned, in lines with their numbers, with errors that name them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from dgraph.errors import TopologyError

__all__ = ["Notes", "Text"]

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-Z\\^_]")


@dataclass(frozen=True)
class Text:
    r"""A text and what messages call it.

    Examples
    --------
    >>> text = Text.of("\ufeffa=1  # one\n\n\x1b[4mb=2", "some.conf")
    >>> list(text.lines())
    [(1, 'a=1'), (3, 'b=2')]
    >>> raise text.error(3, "expected c")
    Traceback (most recent call last):
        ...
    dgraph.errors.TopologyError: some.conf, line 3: expected c
    """

    content: str
    name: str = "topology"

    @classmethod
    def of(cls, content: str, name: str = "topology") -> Text:
        """Strip the byte order mark, terminal escapes and carriage returns."""
        clean = _ESCAPE.sub("", content.removeprefix("\ufeff"))
        return cls(clean.replace("\r\n", "\n").replace("\r", "\n"), name)

    def lines(self, comment: str = "#") -> Iterator[tuple[int, str]]:
        """Yield the lines that are not empty, without comments, and their numbers from 1."""
        for number, line in enumerate(self.content.split("\n"), 1):
            bare = line.split(comment, 1)[0].strip() if comment else line.rstrip()
            if bare.strip():
                yield number, bare

    def error(self, line: int | None, message: str) -> TopologyError:
        """Return an error that names the text and the line."""
        where = self.name if line is None else f"{self.name}, line {line}"
        return TopologyError(f"{where}: {message}")


@dataclass
class Notes:
    """The warnings of one reading, each once.

    Examples
    --------
    >>> notes = Notes()
    >>> notes.add("unknown key x"), notes.add("unknown key x")
    (None, None)
    >>> notes.all()
    ('unknown key x',)
    """

    _texts: dict[str, None] = field(default_factory=dict)

    def add(self, text: str) -> None:
        """Add a warning."""
        self._texts[text] = None

    def all(self) -> tuple[str, ...]:
        """Return the warnings in the order in which they came."""
        return tuple(self._texts)

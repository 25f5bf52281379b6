"""JSON whose objects and lists know their lines, so that errors can name them."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection
from typing import Any

from dgraph.topology.sources.text import Notes, Text

__all__ = ["Listed", "Located", "expect", "load", "warn_of_unknown"]


class Located(dict[str, Any]):
    """An object and the line on which it starts."""

    line: int | None = None


class Listed(list[Any]):
    """A list and the line on which it starts."""

    line: int | None = None


class _Decoder(json.JSONDecoder):
    """Python's own decoder with its slow scanner, which can be told how to read."""

    def __init__(self, content: str) -> None:
        super().__init__()
        decoder: Any = json.decoder
        scanner: Any = json.scanner  # type: ignore[attr-defined]
        self._read_object, self._read_array = decoder.JSONObject, decoder.JSONArray
        self._ends = [at for at, letter in enumerate(content) if letter == "\n"]
        self.parse_object: Any = self._parse_object
        self.parse_array: Any = self._parse_array
        self.scan_once = scanner.py_make_scanner(self)

    def _parse_object(self, start: tuple[str, int], *rest: Any) -> tuple[Located, int]:
        found, end = self._read_object(start, *rest)
        located = Located(found)
        located.line = self._line_of(start)
        return located, end

    def _parse_array(self, start: tuple[str, int], *rest: Any) -> tuple[Listed, int]:
        found, end = self._read_array(start, *rest)
        listed = Listed(found)
        listed.line = self._line_of(start)
        return listed, end

    def _line_of(self, start: tuple[str, int]) -> int:
        return 1 + bisect_right(self._ends, start[1] - 1)


def load(text: Text) -> Any:
    r"""Read JSON.

    Examples
    --------
    >>> found = load(Text('{"a": 1,\n "b": {"c": 2}}'))
    >>> found, found.line, found["b"].line
    ({'a': 1, 'b': {'c': 2}}, 1, 2)
    >>> load(Text('{"a": 1,\n "b": }', "some.json"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dgraph.errors.TopologyError: some.json, line 2: expected JSON, got a fault in column 7: ...
    """
    try:
        return _Decoder(text.content).decode(text.content)
    except json.JSONDecodeError as error:
        raise text.error(
            error.lineno, f"expected JSON, got a fault in column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise text.error(None, "expected JSON that is not nested so deeply") from None


def expect(record: Any, key: str, kind: Any, text: Text, above: Any = None) -> Any:
    """Return a value that an object must have.

    Parameters
    ----------
    record : Located
    key : str
    kind : type or union of types
        Of the value.
    text : Text
        For errors.
    above : Located or Listed, optional
        What is around it, which says the line if the record is no object; None: nothing is.

    Examples
    --------
    >>> expect(Located(a=[1]), "a", str, Text("", "f.json"))
    Traceback (most recent call last):
        ...
    dgraph.errors.TopologyError: f.json: expected "a" to be str, got [1]
    """
    line = getattr(record, "line", None) or getattr(above, "line", None)
    if line is None and above is None and text.content:
        line = 1
    if not isinstance(record, dict):
        raise text.error(line, f'expected an object with "{key}", got {record!r:.60}')
    if key not in record:
        raise text.error(line, f'expected an object with "{key}", got none')
    value = record[key]
    if not isinstance(value, kind) or value == "":
        named = getattr(kind, "__name__", kind)
        raise text.error(line, f'expected "{key}" to be {named}, got {value!r:.60}')
    return value


def warn_of_unknown(record: dict[str, Any], known: Collection[str], notes: Notes) -> None:
    """Warn of keys that are not known, which are ignored."""
    for key in record:
        if key not in known:
            notes.add(f"unknown key {key} is ignored")

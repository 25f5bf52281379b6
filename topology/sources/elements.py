"""The elements of an XML document, with their lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from dgraph.topology.sources.text import Text

__all__ = ["Element", "numbers", "objects", "read_document", "words"]


@dataclass
class Element:
    """An element of the document."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    content: str = ""


def read_document(text: Text) -> Element:
    r"""Return the root of a document, whose elements know their lines; there are no entities.

    Examples
    --------
    >>> root = read_document(Text("<a>\n<object type='x'/></a>"))
    >>> root.tag, [(each.attributes, each.line) for each in objects(root)]
    ('a', [({'type': 'x'}, 2)])
    """
    parser = expat.ParserCreate("utf-8")  # whatever the document says: it is decoded
    top = Element("", {}, 0)
    stack = [top]

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber)
        stack[-1].children.append(element)
        stack.append(element)

    def end(tag: str) -> None:
        stack.pop()

    def add(content: str) -> None:
        stack[-1].content += content

    def refuse(*entity: Any) -> None:
        raise text.error(
            parser.CurrentLineNumber,
            f"expected no entities, got one that is called {entity[0]}",
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = add, refuse
    try:
        parser.Parse(text.content.lstrip().encode(), True)
    except expat.ExpatError as error:
        problem = expat.errors.messages[error.code]
        raise text.error(error.lineno, f"expected XML, got a fault: {problem}") from None
    return top.children[0]


def objects(element: Element) -> Iterator[Element]:
    """Return the children that hwloc calls objects."""
    return (child for child in element.children if child.tag == "object")


def words(element: Element, tag: str) -> list[str]:
    """Return the words of all children of a tag."""
    return " ".join(child.content for child in element.children if child.tag == tag).split()


def numbers(element: Element, tag: str, text: Text) -> list[int]:
    """Return the numbers of all children of a tag: hwloc writes them in pieces.

    Examples
    --------
    >>> root = read_document(Text("<d><i>1 2</i><i>3</i></d>"))
    >>> numbers(root, "i", Text(""))
    [1, 2, 3]
    """
    try:
        return [int(word) for word in words(element, tag)]
    except ValueError as error:
        raise text.error(element.line, f"expected numbers in {tag}: {error}") from None

"""What the README shows runs, what it links to is there, what it tabulates is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import dask
import pytest

import dgraph
from dgraph.config import Options
from dgraph.placement.resolve import NAMED

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)

needs_algorithms = pytest.mark.skipif(
    not hasattr(dgraph, "from_edges"), reason="the algorithms are not there yet"
)


@needs_algorithms
def test_code_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert BLOCKS
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), names)
    assert "Flo" in capsys.readouterr().out


@needs_algorithms
def test_demo_runs(capsys: pytest.CaptureFixture[str]) -> None:
    from dgraph.demo import main

    main(scale=6)
    said = capsys.readouterr()
    assert "34 vertices, 78 edges" in said.out
    assert said.out.count("compiles") == 1
    assert "compiling the kernels" not in said.err
    assert len(re.findall(r"\) +first call [\d.]+ s", said.out)) == 6
    parts = r"second [\d.]+ s: \d+ supersteps? [\d.]+ ms, sending tasks [\d.]+ ms, columns"
    assert len(re.findall(parts, said.out)) == 6


@needs_algorithms
def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\((?!http)([^)#]+)\)", TEXT)
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_functions_are_in_the_files_beside_them() -> None:
    rows = re.findall(
        r"^\|[^|]*\| (`\w+`(?:, `\w+`)*) \| \[(\S+\.py)\]", TEXT, flags=re.MULTILINE
    )
    assert len(rows) > 10
    for names, path in rows:
        source = (ROOT / path).read_text()
        for name in re.findall(r"\w+", names):
            assert re.search(rf"(def|class) {name}\b", source), (name, path)


def test_every_placement_is_in_the_table() -> None:
    assert re.findall(r'^\| `"(\w+)"` \|', TEXT, flags=re.MULTILINE) == [*NAMED]


def flat(tree: dict[str, Any], above: str) -> dict[str, Any]:
    """Return the leaves of a nested mapping by dotted key."""
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        inner = flat(value, f"{above}.{key}") if isinstance(value, dict) else None
        leaves |= {f"{above}.{key}": value} if inner is None else inner
    return leaves


def test_configuration_table_shows_the_defaults_and_allowed_values() -> None:
    (packaged,) = dask.config.collect_yaml([str(ROOT / "dgraph" / "dgraph.yaml")])
    rows = re.findall(r"^\| `(dgraph\.\S+)` \| `(\S+)` \| ([^|]*) \|", TEXT, flags=re.MULTILINE)
    shown = {key: dask.config.interpret_value(default) for key, default, _ in rows}
    assert shown == flat(packaged["dgraph"], "dgraph")
    for key, _, allowed in rows:
        for value in re.findall(r"`(\S+)`", allowed):
            with dask.config.set({key: dask.config.interpret_value(value)}):
                Options.read()

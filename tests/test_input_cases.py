"""Public bug reports about input, as far as reading and checking can answer them."""

from __future__ import annotations

import gzip
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import pandas as pd
import pytest

from dgraph.edges.inputs import edge_input
from dgraph.edges.read import read_edges
from dgraph.errors import DgraphError
from tests.test_inputs import rows_of, summary_of

CASES = Path(__file__).parents[2] / "shared" / "cases" / "cases.json"
ANSWERED = ("n_edges", "dropped", "vertices", "n_vertices", "id_dtype")


def checks() -> Iterator[Any]:
    """Yield the checks that need no algorithm, once for every setting of their sweep."""
    if not CASES.is_file():
        return
    for case in json.loads(CASES.read_text()):
        for check in case["checks"]:
            if case["area"] != "input contract" or "expect" not in check:
                continue
            only_error = check["algo"] == "build_graph" and "vertices" not in check
            if check["algo"] == "read_edges" or only_error or "dtype" in check.get("sweep", {}):
                yield from swept(case["id"], check)


def swept(case: str, check: dict[str, Any]) -> Iterator[Any]:
    names = [name for name in check.get("sweep", {}) if name in ("gz", "dtype", "npartitions")]
    for values in itertools.product(*(check["sweep"][name] for name in names)):
        setting = dict(zip(names, values, strict=True))
        shown = " ".join(map(str, (case, check["name"], *values)))
        yield pytest.param(check, setting, id=shown)


def edges_of(check: dict[str, Any], setting: dict[str, Any], folder: Path) -> Any:
    if check["algo"] == "read_edges":
        text = check.get("file", "").encode() or bytes.fromhex(check.get("file_hex", ""))
        gz = setting.get("gz", False)
        path = folder / f"edges{check['suffix']}{'.gz' if gz else ''}"
        path.write_bytes(gzip.compress(text) if gz else text)
        sep = check["reader"]["sep"]
        sep = " " if sep == "whitespace" else sep
        return read_edges(path, sep=sep, header=check["reader"]["header"])
    dtype = setting.get("dtype") or check.get("input", {}).get("dtype", "int64")
    columns = ["source", "target", "weight"][: len(check["edges"][0])]
    frame = pd.DataFrame(check["edges"], columns=columns, dtype=object)
    frame = frame.astype(dict.fromkeys(columns[:2], dtype))
    return dd.from_pandas(frame, npartitions=setting.get("npartitions", 1))


def outcome(check: dict[str, Any], setting: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return what of the expectations reading can answer, or the error."""
    drop = check.get("options", {}).get("nulls") == "drop"
    try:
        found = edge_input(edges_of(check, setting, folder), directed=check.get("directed"))
        summary = summary_of(found, nulls="drop" if drop else "error")
        rows = rows_of(found, nulls="drop")
    except DgraphError as error:
        return {"error": error}
    ids = {end for row in rows for end in row[:2]}
    return {
        "n_edges": summary.edges,
        "dropped": summary.nulls,
        "vertices": ids,
        "n_vertices": len(ids),
        "id_dtype": summary.dtype,
    }


def meets(found: dict[str, Any], expect: dict[str, Any]) -> bool:
    error = expect.get("error")
    if error is not None or "error" in found:
        return error is not None and "error" in found and _right_error(found["error"], error)
    known = {name: expect[name] for name in ANSWERED if name in expect}
    if "vertices" in known:
        known["vertices"] = set(known["vertices"])
    if "id_dtype" in known:
        known["id_dtype"] = found["id_dtype"] if found["id_dtype"] in known["id_dtype"] else ""
    return all(found[name] == value for name, value in known.items())


def _right_error(error: Exception, expect: dict[str, Any]) -> bool:
    names = {each.__name__ for each in type(error).__mro__}
    message = str(error).lower()
    mentioned = all(
        any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", message) for word in words)
        for words in expect["mentions"]
    )
    return mentioned and bool(names & set(expect.get("types", names)))


@pytest.mark.parametrize(("check", "setting"), list(checks()))
def test_reported_faults(
    check: dict[str, Any], setting: dict[str, Any], tmp_path: Path
) -> None:
    with dask.config.set(scheduler="synchronous"):
        found = outcome(check, setting, tmp_path)
    accepted = [check["expect"], *check.get("accept", [])]
    assert any(meets(found, expect) for expect in accepted), found

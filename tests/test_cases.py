"""Faults that users of other tools reported in public, run from end to end.

`../shared/cases/README.md` says what a check is. What is asked of the answer here is all that
its `expect`, or one entry of its `accept`, says; over a sweep and over repeats the answers must
be the same, bit for bit.
"""

from __future__ import annotations

import gzip
import importlib.util
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from distributed import Client

import dgraph as dg
from dgraph.errors import DgraphError

CASES = Path(__file__).parents[2] / "shared" / "cases" / "cases.json"
ELSEWHERE = {
    "graph500_roots": "in test_graph500_edges.py",
    "graph500_teps_edges": "in test_graph500_edges.py",
    "graph500_validate": "in test_graph500_rules.py",
}
#: Batches in which each neighbour has to be drawn as often as it should.
DRAWS = 2000
TOLERANCE = {"distance": 1e-12, "rank": 1e-9, "bc": 1e-9, "labels": 0.0}
COLUMN = {"distance": "distance", "rank": "rank", "bc": "betweenness", "labels": "label"}

Check = dict[str, Any]
Setting = dict[str, Any]


def checks() -> Iterator[Any]:
    if CASES.is_file():
        for case in json.loads(CASES.read_text()):
            for number, check in enumerate(case["checks"], 1):
                yield pytest.param(check, id=f"{case['id']}.{number} {check['name']}")


def settings(check: Check) -> list[Setting]:
    sweep = check.get("sweep", {})
    if isinstance(sweep, list):
        return sweep
    return [
        dict(zip(sweep, values, strict=True)) for values in itertools.product(*sweep.values())
    ]


# What goes in


def typed(values: list[Any], dtype: str | None) -> pd.Series[Any]:
    """Return a column of ids: strings if one of them is, else integers."""
    if any(isinstance(value, str) for value in values):
        return pd.Series(values, dtype=dtype or "object")
    return pd.Series(values, dtype=dtype or "int64")


def frame_of(check: Check, setting: Setting) -> pd.DataFrame:
    if "generator" in check:
        n = check["generator"]["n"]
        return pd.DataFrame({"source": np.arange(n - 1), "target": np.arange(1, n)})
    dtype = setting.get("dtype") or check.get("input", {}).get("dtype")
    rows = check["edges"]
    ends = [typed([row[end] for row in rows], dtype) for end in (0, 1)]
    frame = pd.DataFrame({"source": ends[0], "target": ends[1]})
    if any(len(row) > 2 for row in rows):
        frame["weight"] = np.array([float(row[2]) for row in rows])
    return frame


def lazy(frame: pd.DataFrame, check: Check, setting: Setting) -> Any:
    """Return the rows as a Dask DataFrame cut as the check says."""
    given = check.get("input", {}) | setting
    sizes = given.get("partition_sizes")
    if sizes is None:
        parts = given.get("npartitions", 1)
        cuts = [len(frame) * part // parts for part in range(parts + 1)]
    else:
        cuts = [0, *itertools.accumulate(sizes)]
    pieces = [frame.iloc[a:b] for a, b in itertools.pairwise(cuts)]
    load = shuffled if given.get("reshuffle") else (lambda piece: piece)
    made = [delayed(load, pure=False)(piece) for piece in pieces]
    return dd.from_delayed(made, meta=frame.iloc[:0], verify_meta=False)


def shuffled(piece: pd.DataFrame) -> pd.DataFrame:
    return piece.sample(frac=1)


def from_file(check: Check, setting: Setting, folder: Path) -> Any:
    text = check.get("file", "").encode() or bytes.fromhex(check.get("file_hex", ""))
    gz = setting.get("gz", False)
    path = folder / f"edges{check['suffix']}{'.gz' if gz else ''}"
    path.write_bytes(gzip.compress(text) if gz else text)
    sep = {"whitespace": " "}.get(check["reader"]["sep"], check["reader"]["sep"])
    return dg.read_edges(path, sep=sep, header=check["reader"]["header"])


def build(check: Check, setting: Setting, client: Client, folder: Path) -> dg.Graph:
    if check["algo"] == "read_edges":
        edges, weight = from_file(check, setting, folder), None
    else:
        frame = frame_of(check, setting)
        edges = lazy(frame, check, setting)
        weight = "weight" if "weight" in frame else None
    vertices = check.get("vertices")
    if "n_vertices" in check:
        vertices = list(range(check["n_vertices"]))
    return dg.from_edges(
        edges,
        weight=weight,
        directed=setting.get("directed", check.get("directed", False)),
        vertices=vertices,
        virtual_slots=setting.get("slots"),
        client=client,
        **check.get("options", {}),
    )


# What comes out


def fetch(client: Client, frame: Any) -> pd.DataFrame:
    found: pd.DataFrame = client.compute(frame, sync=True)
    return found


def run(g: dg.Graph, check: Check, client: Client) -> pd.DataFrame:
    """Return the result of the check's algorithm, by vertex written as text."""
    algo, params = check["algo"], dict(check.get("params", {}))
    if algo in ("build_graph", "read_edges", "vertices"):
        return by_text(fetch(client, g.vertices()))
    ids = {str(vertex): vertex for vertex in fetch(client, g.vertices())["vertex"]}
    for name in ("personalization", "dangling"):
        if name in params:
            kind = str if g.id_kind == "str" else int
            params[name] = {ids.get(key, kind(key)): v for key, v in params[name].items()}
    algorithm = getattr(dg, algo)
    for source in params.pop("after_sources", []):
        algorithm(g, source=source)
    return by_text(fetch(client, algorithm(g, **params)))


def by_text(result: pd.DataFrame) -> pd.DataFrame:
    return result.set_index(result["vertex"].map(str)).sort_index()


def answer(check: Check, setting: Setting, client: Client, folder: Path) -> dict[str, Any]:
    """Return what a check may ask for, or the error."""
    try:
        with build(check, setting, client, folder) as g:
            result = run(g, check, client)
            found = {"result": result, "n_vertices": g.num_vertices, "n_edges": g.num_edges}
            found["dropped"] = g.report["nulls_dropped"]
            found["groups"] = groups(fetch(client, dg.connected_components(g)))
            source = levels_source(check)
            if source is not None:
                distance = fetch(client, dg.bfs(g, source))["distance"]
                found["levels"] = distance.value_counts().sort_index().tolist()
            return found
    except DgraphError as error:
        return {"error": error}


def groups(components: pd.DataFrame) -> list[list[Any]]:
    return sorted(sorted(group) for _, group in components.groupby("component")["vertex"])


def levels_source(check: Check) -> Any:
    return check.get("expect", {}).get("levels_from", {}).get("source")


def parts(check: Check, name: str, client: Client) -> dict[str, Any]:
    """Return the sizes of parts, and how many edges lie between two of them."""
    frame, slots = frame_of(check, {}), check["params"]["nparts"]
    placed = fetch(client, dg.placement.assign(frame, name, slots=slots, client=client))
    slot = placed.set_index("vertex")["slot"]
    cut = (slot[frame["source"]].to_numpy() != slot[frame["target"]].to_numpy()).sum()
    return {"sizes": sorted(np.bincount(slot, minlength=slots).tolist()), "cut": int(cut)}


def right_parts(found: dict[str, Any], expect: Check) -> bool:
    sizes = found["sizes"]
    return (
        sizes == expect.get("sizes", sizes)
        and found["cut"] == expect.get("cut", found["cut"])
        and (min(sizes) > 0 or not expect.get("no_empty_part", False))
        and max(sizes) <= expect.get("max_size_le", max(sizes))
        and sum(sizes) == expect.get("total", sum(sizes))
    )


# Whether it is right


def complaints(found: dict[str, Any], expect: dict[str, Any]) -> list[str]:
    """Return what of `expect` does not hold."""
    if "error" in expect or "error" in found:
        return [] if right_error(found.get("error"), expect.get("error")) else [str(found)]
    result, wrong = found["result"], []
    for name, want in expect.items():
        if name in ("atol", "rtol", "partial"):
            continue
        got: Any = None
        if name in ("n_vertices", "n_edges", "dropped"):
            got, right = found[name], found[name] == want
        elif name == "rows":
            got, right = len(result), len(result) == want
        elif name == "n_components":
            got, right = len(found["groups"]), len(found["groups"]) == want
        elif name == "components":
            got, right = found["groups"], found["groups"] == sorted(map(sorted, want))
        elif name == "levels_from":
            got, right = found["levels"], found["levels"] == want["sizes"]
        elif name == "vertices":
            got = sorted(result["vertex"])
            right = got == sorted(want) and same_kind(got, want)
        elif name == "id_dtype":
            got = str(result["vertex"].dtype)
            right = got in want
        elif name == "parent":
            got = (
                result["predecessor"].astype(object).where(result["predecessor"].notna(), None)
            )
            right = got.to_dict() == want
        else:
            got = result[COLUMN[name]]
            right = close(got, want, name, expect)
        if not right:
            wrong.append(f"{name}: wanted {want}, got {got}")
    return wrong


def same_kind(got: list[Any], want: list[Any]) -> bool:
    return all(isinstance(a, str) == isinstance(b, str) for a, b in zip(got, want, strict=True))


def close(got: pd.Series[Any], want: Mapping[str, Any], name: str, expect: Check) -> bool:
    if not expect.get("partial") and set(got.index) != set(want):
        return False
    for vertex, value in want.items():
        have = got[vertex]
        if value == "inf":
            if not (have is pd.NA or math.isinf(have)):
                return False
        elif name == "labels":
            if have != value:
                return False
        elif not math.isclose(
            have,
            value,
            abs_tol=expect.get("atol", TOLERANCE[name]),
            rel_tol=expect.get("rtol", 0.0),
        ):
            return False
    return True


def sample(check: Check, setting: Setting, client: Client, folder: Path) -> pd.DataFrame:
    """Return what is drawn for the seeds in each of many batches."""
    params = check["params"]
    with build(check, setting, client, folder) as g:
        found = dg.gnn.sample_neighbors(
            g, [params["seeds"]] * DRAWS, params["fanout"], seed=params["seed"], direction="out"
        )
        frame: pd.DataFrame = fetch(client, found)
    return frame.sort_values(frame.columns.tolist(), ignore_index=True)


def right_sample(found: pd.DataFrame, expect: Check) -> bool:
    wanted = {tuple(edge) for edge in expect["subset_of"]}
    edges = found.groupby(["source", "target"]).size() / DRAWS
    return (
        set(found.groupby("batch").size()) == {expect["n_edges"]}
        and found["batch"].nunique() == DRAWS
        and found.duplicated().any() != expect["distinct"]
        and set(edges.index) == wanted
        and bool((abs(edges - expect["inclusion_probability"]) < 0.05).all())
    )


def right_error(error: Exception | None, expect: Check | None) -> bool:
    if error is None or expect is None:
        return False
    names = {each.__name__ for each in type(error).__mro__}
    message = str(error).lower()
    mentioned = all(
        any(re.search(rf"(?<!\w){re.escape(word.lower())}(?!\w)", message) for word in words)
        for words in expect.get("mentions", [])
    )
    return mentioned and bool(names & set(expect.get("types", names)))


def bits(found: dict[str, Any]) -> str:
    """Return an answer in a form that is equal only bit for bit."""
    if "error" in found:
        return type(found["error"]).__name__
    result = found["result"].drop(columns="vertex")
    floats = result.select_dtypes("float")
    exact = result.astype(object).assign(**{c: floats[c].map(float.hex) for c in floats})
    return str(exact.to_csv())


@pytest.mark.filterwarnings("ignore::dgraph.errors.EmptyWarning")
@pytest.mark.parametrize("check", list(checks()))
def test_reported_fault(check: Check, client: Client, tmp_path: Path) -> None:
    if check["algo"] in ELSEWHERE:
        pytest.skip(ELSEWHERE[check["algo"]])
    if check["algo"] == "kronecker_generate":
        edges = dg.generate.kronecker(**check["params"])
        assert len(fetch(client, edges)) == check["expect"]["generated_edges"]
        return
    if check["algo"] == "neighbor_sample":
        samples = [sample(check, setting, client, tmp_path) for setting in settings(check)]
        assert len(samples) == len(settings(check)) > 1
        for drawn in samples:
            assert right_sample(drawn, check["expect"]["sample"])
            pd.testing.assert_frame_equal(drawn, samples[0])
        return
    if check["algo"] == "partition":
        for name in ("hierarchy", "metis", "fennel", "xtree", "topox"):
            if name == "metis" and importlib.util.find_spec("pymetis") is None:
                continue
            found = parts(check, name, client)
            assert any(
                right_parts(found, accepted["partition"])
                for accepted in (check["expect"], *check.get("accept", []))
                if "partition" in accepted
            ), (name, found)
        return
    answers = []
    for setting in settings(check):
        for _ in range(check.get("repeats", 1)):
            found = answer(check, setting, client, tmp_path)
            accepted = [
                each for each in (check.get("expect"), *check.get("accept", [])) if each
            ]
            failed = [complaints(found, expect) for expect in accepted]
            assert any(not wrong for wrong in failed), (setting, failed)
            if "directed" not in setting:
                answers.append(bits(found))
    assert len(set(answers)) <= 1

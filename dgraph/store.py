"""A graph in a folder: parquet files that every slot writes of its shard, and a JSON manifest.

::

    folder/manifest.json           what the graph is, and the rows of every file
           vertices-00000.parquet  of slot 0: vertex[, slot]
           edges-00000.parquet     of slot 0: source, target[, weight]; every edge once
           ...

A graph is saved under another name beside the folder, which is renamed when all is there. It is
read as any edges are, with all policies off, so it may come onto any number of slots.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from dask.delayed import Delayed, delayed

from dgraph.edges.chunk import ChunkSpec
from dgraph.edges.inputs import EdgeInput
from dgraph.edges.vertex_chunk import VertexSpec
from dgraph.edges.vertex_inputs import VertexInput
from dgraph.engine.context import Context
from dgraph.errors import SavedGraphError
from dgraph.facts import Facts
from dgraph.home import Home
from dgraph.listing import edges_slot
from dgraph.shard import Shard

__all__ = ["Saved", "open_saved", "save"]

FORMAT = 1
MANIFEST = "manifest.json"

#: Rows of a part that one task reads when the graph is loaded: 24 MiB of integers and weights.
ROWS = 1 << 20

#: The placement that the user gave as a frame: it is saved with the vertices.
GIVEN = "frame"


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved graph, ready to be read.

    Parameters
    ----------
    facts : Facts
    slots : int
        On how many slots it lay.
    edges : EdgeInput
    placed : VertexInput
        Its vertices and, if the user gave them as a frame, their slots.
    """

    facts: Facts
    slots: int
    edges: EdgeInput
    placed: VertexInput

    def remember(self, facts: Facts) -> Facts:
        """Return the facts of the loaded graph, with what was found when it was first built."""
        now = {
            name: facts.report[name]
            for name in ("input", "seconds", "bytes", "rhizomes", "chosen")
        }
        report = {**self.facts.report, **now}
        return replace(facts, multigraph=self.facts.multigraph, report=report)


async def save(home: Home, facts: Facts, path: str | PathLike[str]) -> None:
    """Write a graph; see `dgraph.Graph.save`."""
    with _beside(Path(path).absolute()) as folder:
        files = await home.ask("save", _save_slot, str(folder), facts.placement == GIVEN)
        missing = [name for rows in files for name in rows if not (folder / name).exists()]
        if missing:
            raise SavedGraphError(
                f"{missing[0]!r} was written by a worker but is not in {str(folder.parent)!r}: "
                "use a folder that the client and all workers share"
            )
        manifest = {
            "format": FORMAT,
            "facts": asdict(facts),
            "slots": home.slots,
            "topology": home.topology.to_dict(),
            "files": {name: count for rows in files for name, count in rows.items()},
        }
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1, default=str))


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Yield a new folder beside `path` that becomes it at the end, or is removed."""
    if path.exists():
        raise SavedGraphError(f"{str(path)!r} exists: save to a new folder, or remove it first")
    if not path.parent.is_dir():
        raise SavedGraphError(f"the folder {str(path.parent)!r} does not exist: make it first")
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    beside.mkdir()
    try:
        yield beside
        beside.rename(path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


async def _save_slot(ctx: Context, shard: Shard, folder: str, placed: bool) -> dict[str, int]:
    """Write what one slot holds; return the rows of each file."""
    vertices = pd.DataFrame({"vertex": shard.ids.to_pandas()})
    if placed:
        vertices["slot"] = shard.slot
    tables = {"vertices": vertices, "edges": await edges_slot(ctx, shard)}
    if not Path(folder).is_dir():
        raise SavedGraphError(
            f"slot {shard.slot} does not see the folder {folder!r} that the client has made: "
            "use one that the client and all workers share"
        )
    rows = {}
    for kind, table in tables.items():
        name = f"{kind}-{shard.slot:05}.parquet"
        arrow = pa.Table.from_pandas(table, preserve_index=False)
        pq.write_table(
            arrow,
            Path(folder, name),
            row_group_size=ROWS,
            compression="zstd",
            write_page_checksum=True,
        )
        rows[name] = len(table)
    return rows


def open_saved(path: str | PathLike[str]) -> Saved:
    """Read the manifest of a saved graph.

    Raises
    ------
    SavedGraphError
        If there is none, or another version of dgraph wrote it.
    """
    folder = Path(path).absolute()
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        version = manifest["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SavedGraphError(
            f"expected a folder that Graph.save has written, but {str(folder)!r} has no "
            f"readable {MANIFEST}"
        ) from error
    if version != FORMAT:
        raise SavedGraphError(
            f"{str(folder)!r} has format {version}, expected {FORMAT}: load it with the "
            "version of dgraph that saved it"
        )
    facts = Facts(**manifest["facts"])
    parts: dict[str, list[Delayed]] = {"vertices": [], "edges": []}
    for name, rows in manifest["files"].items():
        kind = name.partition("-")[0]
        groups = -(-rows // ROWS) or 1  # an empty file still tells the dtypes
        parts[kind] += [
            delayed(_read_group)(str(folder / name), group, pure=False)
            for group in range(groups)
        ]
    edges = EdgeInput(
        "a saved graph",
        ChunkSpec(weight=2 if facts.weighted else None),
        parts["edges"],
        facts.directed,
        [VertexInput(VertexSpec(), parts["vertices"])],
    )
    placed = VertexInput(VertexSpec(slot=1, declared=False), parts["vertices"])
    return Saved(facts, manifest["slots"], edges, placed)


def _read_group(file: str, group: int) -> pa.Table | SavedGraphError:
    """Read one row group of a file, or say why not; the function of a task."""
    try:
        # Without a look at the checksums a damaged page may well be another graph's.
        with pq.ParquetFile(file, page_checksum_verification=True) as parquet:
            if parquet.num_row_groups == 0:
                return parquet.read()
            return parquet.read_row_group(group)
    except (pa.ArrowException, OSError) as error:
        return SavedGraphError(
            f"{file!r} is missing or damaged, as a part of a saved graph ({error}): save the "
            "graph again"
        )

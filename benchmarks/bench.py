"""What the cases share: settings, graph files, clusters, resident graphs, rivals."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from distributed import Client, LocalCluster

from benchmarks import command, graphs
from benchmarks.graphs import EdgeFiles
from benchmarks.ours import Ours
from benchmarks.rivals.gap import Gap
from benchmarks.rivals.remote import Remote, missing

__all__ = ["Bench", "Settings"]

#: Slots of the measured graphs, threads of the rivals: what the targets speak of.
SLOTS = 2

#: Any free port of this machine.
DASHBOARD = "127.0.0.1:0"


@dataclass(frozen=True)
class Settings(command.Settings):
    """What the command line says; the targets speak of scale 20.

    Parameters
    ----------
    sources : int
        Searches behind the median of a BFS.
    compact : bool
        See `benchmarks.graphs`.
    skip : tuple of str
        Rivals to leave out.
    """

    scale: int = 20
    turns: int = 5
    sources: int = 16
    compact: bool = True
    skip: tuple[str, ...] = ()

    @property
    def side(self) -> int:
        """Side of the grid: 1,000 at scale 20, with as many vertices at other scales.

        >>> Settings(scale=20).side, Settings(scale=10).side
        (1000, 31)
        """
        return round(1000 * 2 ** ((self.scale - 20) / 2))


@dataclass
class Bench:
    """Everything that is made once, lazily, and closed at the end.

    Parameters
    ----------
    settings : Settings
    say : callable
        Gets the lines that are no rows: what is skipped, what was made.
    """

    settings: Settings
    say: Callable[[str], None]
    _stack: ExitStack = field(default_factory=ExitStack)
    _files: dict[Path, EdgeFiles] = field(default_factory=dict)
    _clients: dict[tuple[bool, int], Client] = field(default_factory=dict)
    _ours: dict[tuple[Any, ...], Ours] = field(default_factory=dict)
    _rivals: dict[str, Remote] = field(default_factory=dict)
    _holds: dict[str, str] = field(default_factory=dict)
    _skipped: set[str] = field(default_factory=set)

    def __enter__(self) -> Self:
        """Make the folder of the graph files."""
        self._root = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        return self

    def __exit__(self, *error: object) -> None:
        """Close graphs, clusters, rivals, files, the youngest first."""
        self._stack.close()

    def kronecker(self, scale: int | None = None, compact: bool | None = None) -> EdgeFiles:
        """Return the Kronecker graph of the settings, or one of another scale."""
        scale = self.settings.scale if scale is None else scale
        compact = self.settings.compact if compact is None else compact
        folder = self._root / f"kronecker-{scale}-{'compact' if compact else 'all'}"
        return self._once(folder, lambda: graphs.kronecker(folder, scale, compact=compact))

    def weighted(self) -> EdgeFiles:
        """Return the Kronecker graph of the settings with weights on its edges."""
        files = self.kronecker()
        folder = self._root / f"{files.folder.name}-weighted"
        return self._once(folder, lambda: graphs.weighted(folder, files))

    def grid(self) -> EdgeFiles:
        """Return the grid of the settings' side."""
        side = self.settings.side
        folder = self._root / f"grid-{side}"
        return self._once(folder, lambda: graphs.grid(folder, side))

    def karate(self) -> EdgeFiles:
        """Return Zachary's karate club, ids 0..33."""
        folder = self._root / "karate"
        return self._once(folder, lambda: graphs.karate(folder))

    def embedded(self) -> Client:
        """Return a client of a cluster inside this process, like the one dgraph starts."""
        return self._client(False, n_workers=1, threads_per_worker=SLOTS)

    def processes(self) -> Client:
        """Return a client of workers that are processes of one thread each."""
        return self._client(True, n_workers=SLOTS, threads_per_worker=1)

    def ours(self, files: EdgeFiles, client: Client | None = None, **options: Any) -> Ours:
        """Return the dgraph graph of these files, built the first time it is asked for."""
        client = client or self.embedded()
        key = (files.name, client.id, *sorted(options.items()))
        if key not in self._ours:
            built = Ours.build(files.parquet, client, **files.declared, **options)
            self.say(
                f"{files.name}: ingest by dgraph took {built.seconds:.2f} s {options or ''}"
            )
            self._ours[key] = self._stack.enter_context(built)
        return self._ours[key]

    def drop(self, files: EdgeFiles) -> None:
        """Close all dgraph graphs of these files, to make room."""
        for key in [key for key in self._ours if key[0] == files.name]:
            self._ours.pop(key).close()

    def rivals(
        self, names: tuple[str, ...], files: EdgeFiles | None = None
    ) -> dict[str, Remote]:
        """Return those of the rivals that are there; with `files`, they hold that graph."""
        found = {name: self._rival(name) for name in names if self._there(name, missing(name))}
        for name, rival in found.items():
            if files is not None and self._holds.get(name) != files.name:
                took = rival.build(files.parquet, files.vertices)["seconds"]
                self.say(f"{files.name}: ingest by {name} took {took:.2f} s")
                self._holds[name] = files.name
        return found

    def forget_rivals(self) -> None:
        """End the rivals' processes, and with them free their graphs."""
        self._holds.clear()
        while self._rivals:
            self._rivals.popitem()[1].close()

    def gap(self, program: str) -> Gap | None:
        """Return the GAP Benchmark Suite if it has this program."""
        gap = Gap()
        return gap if self._there("gap", gap.missing(program)) else None

    def _there(self, name: str, reason: str | None) -> bool:
        if name in self.settings.skip:
            reason = f"{name} is skipped: the command line says so"
        if reason is not None and reason not in self._skipped:
            self._skipped.add(reason)
            self.say(reason)
        return reason is None

    def _rival(self, name: str) -> Remote:
        if name not in self._rivals:
            self._rivals[name] = self._stack.enter_context(Remote(name, SLOTS))
        return self._rivals[name]

    def _client(self, processes: bool, n_workers: int, threads_per_worker: int) -> Client:
        key = (processes, n_workers * threads_per_worker)
        if key not in self._clients:
            cluster = LocalCluster(
                n_workers=n_workers,
                threads_per_worker=threads_per_worker,
                processes=processes,
                memory_limit=0,
                dashboard_address=DASHBOARD,
            )
            self._stack.enter_context(cluster)
            client = Client(cluster, set_as_default=False)
            self._clients[key] = self._stack.enter_context(client)
        return self._clients[key]

    def _once(self, folder: Path, make: Callable[[], EdgeFiles]) -> EdgeFiles:
        if folder not in self._files:
            files = make()
            spent = ", ".join(f"{name} {s:.2f} s" for name, s in files.phases.seconds.items())
            self.say(
                f"{files.name}: {files.vertices:,} vertices, {files.edges:,} edges; {spent}"
            )
            self._files[folder] = files
        return self._files[folder]

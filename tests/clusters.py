"""Clusters for tests: none serves a dashboard, none becomes the default client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from distributed import Client, LocalCluster, Worker

T = TypeVar("T")

LOCAL = "127.0.0.1:0"


@contextmanager
def cluster(workers: int, threads: int = 1, processes: bool = True) -> Iterator[Client]:
    """Yield a client of a cluster of its own."""
    of_others = set(Worker._initialized_clients)
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            processes=processes,
            memory_limit=0,
            dashboard_address=LOCAL,
        ) as started,
        Client(started, set_as_default=False) as client,
    ):
        mine = client.scheduler
        yield client
        # Tasks of a worker in this process make its client the default one. While another
        # such worker lives it outlives its cluster, and fails whoever computes after this.
        for left in set(Worker._initialized_clients) - of_others:
            if left.scheduler and mine and left.scheduler.address == mine.address:
                left.close()


def asynchronously(work: Callable[[Client], Awaitable[T]]) -> T:
    """Run a coroutine function with an asynchronous client of two threads."""

    async def main() -> T:
        async with (
            LocalCluster(
                n_workers=1,
                threads_per_worker=2,
                processes=False,
                memory_limit=0,
                dashboard_address=LOCAL,
                asynchronous=True,
            ) as started,
            Client(started, asynchronous=True, set_as_default=False) as client,
        ):
            return await work(client)

    return asyncio.run(main())


def held(client: Client) -> dict[str, tuple[int, int, int, int]]:
    """Return, by worker, how many shards, chunks, outputs and runs it holds."""

    def count(dask_worker: Any) -> tuple[int, int, int, int]:
        plugin = dask_worker.plugins["dgraph"]
        return len(plugin.shards), len(plugin.chunks), len(plugin.outputs), len(plugin.seats)

    found: dict[str, tuple[int, int, int, int]] = client.run(count)
    return found

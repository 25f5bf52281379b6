"""Which cluster a command works on: the options, and the client that they name."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

import dgraph as dg
from dgraph.cli_interrupt import local_cluster
from dgraph.cli_messages import say

__all__ = ["CLUSTER_OPTIONS", "Command", "cluster_client", "with_options"]

Command = Callable[..., None]

#: Seconds within which a scheduler has to answer, one that is only being started, too.
ANSWER = 10

CLUSTER_OPTIONS = (
    click.option("--workers", type=click.IntRange(1), help="Worker processes; default: none."),
    click.option("--threads", type=click.IntRange(1), help="Threads of each worker."),
    click.option("--scheduler", metavar="ADDRESS", help="Join a running Dask cluster."),
)


@contextlib.contextmanager
def cluster_client(
    workers: int | None, threads: int | None, scheduler: str | None
) -> Iterator[Any]:
    """Yield a client of the cluster that the options name, closed afterwards.

    Parameters
    ----------
    workers : int or None
        Worker processes to start; None: slots are threads of this process.
    threads : int or None
        Of each worker; None: one, and all cores if there are no worker processes.
    scheduler : str or None
        The address of a running cluster to join instead.

    Raises
    ------
    click.UsageError
        If two of them, or ``--mpi`` and one, exclude each other, or the address is none.
    """
    from distributed import Client

    if click.get_current_context().find_root().params["mpi"]:
        if workers is not None or scheduler is not None:
            raise click.UsageError("--mpi makes the ranks workers: drop --workers, --scheduler")
        yield dg.mpi.start()
        return
    if scheduler is not None:
        if workers is not None or threads is not None:
            raise click.UsageError("--scheduler joins a cluster: drop --workers, --threads")
        with _join(scheduler) as client:
            yield client
        return
    with local_cluster(workers, threads) as cluster, Client(cluster) as client:
        yield client


def _join(address: str) -> Any:
    """Return a client of a running cluster; say at a terminal where it is looked for."""
    from distributed import Client

    if sys.stderr.isatty():
        say(f"connecting to the scheduler at {address}")
    try:
        return Client(address, timeout=ANSWER)
    except ValueError:
        raise click.UsageError(
            f"--scheduler must be an address such as tcp://host:8786, not {address!r}"
        ) from None
    except OSError as error:
        raise click.ClickException(
            f"no scheduler answered at {address} within {ANSWER} s: start one ('dask scheduler'"
            " prints its address, 'dask worker ADDRESS' adds workers), or leave --scheduler out"
        ) from error


def with_options(*options: Any) -> Callable[[Command], Command]:
    """Give a function options, which help lists in this sequence."""

    def decorate(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate

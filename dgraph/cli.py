"""The command line: ``dgraph run``, ``graph500``, ``generate``, ``placement``, ``topology``.

Exit code 0 only if the work was done. Bad input: one line on stderr that says what to do, and
exit code 2. Output files appear whole or not at all.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
from collections.abc import Callable
from typing import Any

import click
import pandas as pd
from pyarrow.lib import ArrowException

import dgraph as dg
from dgraph.cli_cluster import CLUSTER_OPTIONS, Command, cluster_client, with_options
from dgraph.cli_interrupt import INTERRUPTED, SIGNALS, end_at_once, interrupted_once
from dgraph.cli_messages import (
    complain,
    in_words,
    notes_to_terminals,
    remedy,
    say,
    warn_in_lines,
)
from dgraph.cli_placement import PLACEMENT_OPTIONS, placement
from dgraph.cli_topology import topology
from dgraph.edges.files import FORMATS
from dgraph.errors import DgraphError
from dgraph.job import Job
from dgraph.mpi import leave_it_to_the_first
from dgraph.output import check_output, print_lines, write_frame
from dgraph.plurals import counted
from dgraph.policies import CHOICES

__all__ = ["cli", "main"]

SHOWN = 10  # rows that are printed when no output file is named


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(dg.__version__, prog_name="dgraph")
@click.option("--mpi", is_flag=True, help="Under mpiexec: rank 0 schedules, 1 commands.")
@click.option("--interface", metavar="NAME", help="With --mpi: the network of Dask's comms.")
def cli(mpi: bool, interface: str | None) -> None:
    """Graph analytics on Dask: the graph stays on the workers."""
    if interface is not None and not mpi:
        raise click.UsageError("--interface says how ranks connect: it needs --mpi")


@cli.group()
def run() -> None:
    """Run an algorithm on a file (or folder, or glob) of edges."""


def _policy(name: str, default: str, help: str) -> Any:
    """Return the option of a policy of from_edges; help lists what is allowed."""
    option = f"--{name.replace('_', '-')}"
    choices = click.Choice(CHOICES[name])
    return click.option(option, type=choices, default=default, show_default=True, help=help)


_JOB_OPTIONS = (
    click.argument("edges"),
    click.option(
        "--directed/--undirected",
        default=None,
        help="Edges have a direction; default: as the files say, else they have none.",
    ),
    click.option("--weight", metavar="COL", help="Weight column ('true': the format's own)."),
    click.option("--source-column", metavar="COL", help="Default: source, or the first."),
    click.option("--target-column", metavar="COL", help="Default: target, or the second."),
    click.option(
        "--input-format", type=click.Choice([*FORMATS]), help="Default: by the ending."
    ),
    click.option("--sep", help="Separator of text files; default: found out."),
    click.option("--header/--no-header", default=None, help="Default: found out."),
    click.option(
        "--dtype",
        type=click.Choice(["int64", "uint64", "str"]),
        help="Of the ids in files; default: found out.",
    ),
    _policy("duplicates", "min", "Parallel edges."),
    _policy("self_loops", "keep", "Edges from a vertex to itself."),
    _policy("nulls", "error", "Edges that lack an id or weight."),
    *PLACEMENT_OPTIONS,
    click.option("--out", metavar="FILE", help="Write FILE.parquet or FILE.csv."),
    click.option(
        "--format",
        type=click.Choice(["csv", "parquet", "ldbc"]),
        help="Write this whatever FILE is called; ldbc: 'vertex value' lines.",
    ),
    *CLUSTER_OPTIONS,
)


def _job_command(name: str, *options: Any) -> Callable[[Command], Command]:
    """Make a function of (job, its own options) a subcommand of ``run``."""

    def decorate(function: Command) -> Command:
        def command(**values: Any) -> None:
            function(Job.of(values), **values)

        command.__doc__ = function.__doc__
        run.command(name)(with_options(*_JOB_OPTIONS, *options)(command))
        return function

    return decorate


def _execute(job: Job, algorithm: Callable[..., Any], **arguments: Any) -> None:
    """Build the graph, run the algorithm, and write or print what it gives."""
    job.check_output()
    if job.out is None and job.format == "parquet":
        raise click.UsageError("--format parquet needs a file: name it with --out")
    with (
        cluster_client(job.workers, job.threads, job.scheduler) as client,
        job.graph(client) as graph,
    ):
        if typed := arguments.get("source"):
            one = isinstance(typed, str)
            ids = [_as_id(graph, text) for text in ([typed] if one else typed)]
            arguments["source"] = ids[0] if one else ids
        if not graph.num_edges:
            say(f"{job.edges} holds no edges, or none is left: is it the right file?")
        result = algorithm(graph, **arguments)
        record = graph.runs[-1]
        if job.out is None or sys.stderr.isatty():
            unweighted = record.algorithm == "sssp" and not graph.weighted
            click.echo(
                f"{counted(graph.num_vertices, 'vertex')}, {counted(graph.num_edges, 'edge')}"
                f"{' of weight 1, as no --weight is named' * unweighted}; "
                f"{record.algorithm}: {counted(record.supersteps, 'superstep')}, "
                f"{record.seconds:.4f} s",
                err=job.out is not None or job.format is not None,
            )
        if job.out is not None:
            write_frame(result, job.out, job.format)
        elif job.format is not None:
            print_lines(result, job.format)
        else:
            _show(result)


def _show(result: Any) -> None:
    head = result.head(SHOWN, npartitions=-1)
    with pd.option_context("display.width", 100, "display.max_columns", None):
        click.echo(head.to_string(index=False))


def _as_id(graph: dg.Graph, text: str) -> int | str:
    """Return what was typed as an id of the graph's kind."""
    if graph.id_kind == "str":
        return text
    try:
        return int(text)
    except ValueError:
        raise click.UsageError(
            f"--source must be an integer, as the ids of this graph are, not {text!r}"
        ) from None


@_job_command(
    "bfs",
    click.option("--source", multiple=True, metavar="ID", help="One, or several times."),
    click.option("--depth-limit", type=click.IntRange(0)),
)
def _bfs(job: Job, source: tuple[str, ...], **options: Any) -> None:
    """Search breadth first from one or more sources."""
    _execute(job, dg.bfs, source=source or _stated_source(job, "bfs"), **options)


@_job_command(
    "sssp",
    click.option("--source", metavar="ID"),
    click.option("--delta", type=float, help="Width of a bucket; default: from the weights."),
    click.option("--limit", type=float, help="Leave out what is farther than this."),
)
def _sssp(job: Job, source: str | None, **options: Any) -> None:
    """Find the shortest paths from a source."""
    job = job.weighted_for("sssp")
    _execute(job, dg.sssp, source=source or _stated_source(job, "sssp"), **options)


def _stated_source(job: Job, algorithm: str) -> str:
    """Return the source that properties name."""
    source = job.stated.values.get(f"{algorithm}.source-vertex")
    if source is None:
        raise click.UsageError("Missing option '--source'.")
    return source


@_job_command(
    "pagerank",
    click.option("--alpha", type=float, show_default="0.85", help="Damping factor."),
    click.option("--max-iter", type=int, show_default="100"),
    click.option("--tol", type=float, show_default="1e-06"),
    click.option("--unweighted", is_flag=True, help="Ignore the weights."),
)
def _pagerank(job: Job, unweighted: bool, **options: Any) -> None:
    """Rank the vertices by PageRank."""
    if options["alpha"] is None:
        options["alpha"] = job.stated.number("pr.damping-factor", float)
    rounds = job.stated.number("pr.num-iterations", int)
    given = {name: value for name, value in options.items() if value is not None}
    if rounds is not None and not given.keys() & {"max_iter", "tol"}:
        given |= {"max_iter": rounds, "tol": None}  # exactly so many
    _execute(job, dg.pagerank, weighted=not unweighted, **given)


@_job_command(
    "bc",
    click.option("--k", type=click.IntRange(1), help="Sample so many sources; default: all."),
    click.option("--seed", type=int, help="Of the sample."),
    click.option("--weighted", is_flag=True, help="Shortest by weight, not by edges."),
    click.option("--endpoints", is_flag=True, help="Count the ends of paths as well."),
    click.option("--normalized/--not-normalized", default=True, show_default=True),
)
def _bc(job: Job, **options: Any) -> None:
    """Compute the betweenness centrality."""
    _execute(job, dg.betweenness_centrality, **options)


@_job_command("cdlp", click.option("--max-iter", type=int, show_default="10"))
def _cdlp(job: Job, max_iter: int | None) -> None:
    """Find communities by label propagation."""
    if max_iter is None:
        max_iter = job.stated.number("cdlp.max-iterations", int)
    _execute(job, dg.cdlp, max_iter=10 if max_iter is None else max_iter)


def _plain_command(name: str, text: str, algorithm: Callable[..., Any], **options: Any) -> None:
    """Make an algorithm without options of its own a subcommand of ``run``."""

    def command(job: Job) -> None:
        _execute(job, algorithm, **options)

    command.__doc__ = text
    _job_command(name)(command)


_plain_command("cc", "Find the connected components.", dg.connected_components)
_plain_command(
    "scc",
    "Find the strongly connected components.",
    dg.connected_components,
    connection="strong",
)
_plain_command("lcc", "Compute the local clustering coefficients.", dg.local_clustering)
_plain_command("triangles", "Count the triangles at every vertex, undirected.", dg.triangles)
_plain_command("core", "Find the core numbers of an undirected graph.", dg.core_number)


@cli.command()
@click.option("--scale", type=click.IntRange(1, 40), required=True, help="2**SCALE vertices.")
@click.option("--edgefactor", type=click.IntRange(1), default=16, show_default=True)
@click.option("--roots", type=click.IntRange(1), default=64, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--sssp", is_flag=True, help="Run kernel 3 as well, shortest paths.")
@click.option("--no-validate", is_flag=True, help="Believe the kernels.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "table"]),
    default="text",
    show_default=True,
    help="The official block; everything; a summary for people.",
)
@with_options(*CLUSTER_OPTIONS)
def graph500(
    scale: int,
    no_validate: bool,
    form: str,
    workers: int | None,
    threads: int | None,
    scheduler: str | None,
    **options: Any,
) -> None:
    """Run the Graph500 benchmark; exit code 1 if a result is not valid."""
    with cluster_client(workers, threads, scheduler) as client:
        report = dg.graph500.run(scale, validate=not no_validate, client=client, **options)
    if form == "json":
        click.echo(json.dumps(report.to_dict(), indent=2))
    else:
        click.echo(report.table() if form == "table" else str(report))
    for failure in report.failures:
        click.echo(f"dgraph: {failure}", err=True)
    if not report.valid:
        raise click.exceptions.Exit(1)


@cli.command()
@click.argument("kind", type=click.Choice(["kronecker", "uniform", "grid"]))
@click.option("--scale", type=click.IntRange(1, 40), required=True, help="2**SCALE vertices.")
@click.option("--edgefactor", default=16, show_default=True, help="Edges for each vertex.")
@click.option("--seed", default=1, show_default=True)
@click.option("--weights", is_flag=True, help="With weights in [0, 1).")
@click.option("--out", required=True, metavar="FILE", help="FILE.parquet or FILE.csv.")
def generate(
    kind: str, scale: int, edgefactor: int, seed: int, weights: bool, out: str
) -> None:
    """Generate a graph, the same one for the same seed."""
    check_output(out)
    if kind == "grid":
        rows = 1 << (scale // 2)
        edges = dg.generate.grid(rows, (1 << scale) // rows, weights=weights, seed=seed)
    else:
        make = getattr(dg.generate, kind)
        edges = make(scale, edgefactor, seed=seed, weights=weights)
    write_frame(edges, out)


for group in (placement, topology):
    cli.add_command(group)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; the entry point of the ``dgraph`` command."""
    code = INTERRUPTED
    # A rank of MPI is ended as its launcher does, with all others.
    signals = [signal.SIGINT] if "--mpi" in (arguments or sys.argv) else [*SIGNALS]
    with (
        interrupted_once(arguments is None, signals) as interrupted,
        warn_in_lines(),
        notes_to_terminals(),
    ):
        code = _main(arguments)
    if interrupted():
        code = interrupted()
        if arguments is None:
            end_at_once(code)
    if arguments is None:  # all is said; what Dask's threads have left may complain at exit
        logging.disable(logging.CRITICAL)
    sys.exit(code)


def _main(arguments: list[str] | None) -> int:
    from dgraph.config import Options
    from dgraph.events import progress

    try:
        _join_ranks(sys.argv[1:] if arguments is None else arguments)
        with progress(Options.read().progress):
            # what it returns is None, or the code with which a command has ended itself
            code: int | None = cli.main(arguments, prog_name="dgraph", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.ClickException as error:
        return complain(error.format_message() + remedy(error))
    except (KeyboardInterrupt, click.Abort):
        click.echo("dgraph: interrupted", err=True)  # unless that was said already
        return INTERRUPTED
    except (DgraphError, ArrowException) as error:
        return complain(str(error))
    except OSError as error:
        return complain(in_words(error))
    return code or 0


def _join_ranks(arguments: list[str]) -> None:
    """Under --mpi, go on with rank 1 only, before anything can be wrong with a command."""
    group = cli.make_context("dgraph", list(arguments), resilient_parsing=True)
    if not group.params["mpi"]:
        return
    if {"-h", "--help"}.isdisjoint(arguments):
        command = click.Command("any", params=[click.Option(["--threads"], type=int)])
        command.ignore_unknown_options = command.allow_extra_args = True
        found = command.make_context("any", list(arguments), resilient_parsing=True).params
        dg.mpi.start(threads=found["threads"] or 1, interface=group.params["interface"])
    else:
        leave_it_to_the_first(0)  # which shows the help, and needs no MPI for that

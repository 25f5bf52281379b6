"""``dgraph placement``: set placements of a graph side by side."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pandas as pd

import dgraph as dg
from dgraph.build.rhizomes import ALLOCATIONS
from dgraph.cli_cluster import CLUSTER_OPTIONS, cluster_client, with_options
from dgraph.output import check_output, write_whole
from dgraph.placement.resolve import NAMED
from dgraph.topology import Topology

__all__ = ["PLACEMENT_OPTIONS", "placement"]

#: What a plot may be.
PICTURES = ("png", "svg", "pdf")

RHIZOME_ALLOCATION = click.option(
    "--rhizome-allocation",
    type=click.Choice(ALLOCATIONS),
    default=ALLOCATIONS[0],
    show_default=True,
    help="Where the parts go.",
)

#: What ``dgraph run`` may be told of it.
PLACEMENT_OPTIONS = (
    click.option(
        "--placement",
        type=click.Choice([*NAMED]),
        default="auto",
        show_default=True,
        help="Which slot owns a vertex; never changes a result.",
    ),
    click.option(
        "--rhizome-max",
        type=click.IntRange(1),
        help="Split heavy vertices into so many parts at most; never changes a result.",
    ),
    RHIZOME_ALLOCATION,
)


def _measures() -> dict[str, Callable[[dg.Graph], Any]]:
    """Return what is run on each graph: ten rounds, and a search from a vertex of an edge.

    Nothing is searched if no edge leads to another vertex.
    """
    return {
        "bfs": lambda g: [dg.bfs(g, key) for key in dg.graph500.search_keys(g, 1)],
        "pagerank": lambda g: dg.pagerank(g, max_iter=10, tol=None),
    }


def _names(context: click.Context, parameter: click.Parameter, value: str | None) -> list[str]:
    if value is None:
        there = importlib.util.find_spec("pymetis") is not None
        return [name for name in NAMED if name != "metis" or there]
    names = value.split(",")
    if unknown := [name for name in names if name not in NAMED]:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(NAMED)}")
    return names


def _fanouts(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Topology | None:
    if value is None:
        return None
    try:
        return Topology.from_fanouts([int(number) for number in value.split(",")])
    except ValueError:
        raise click.BadParameter(
            f"expected numbers of at least 1 such as 4,4, not {value!r}"
        ) from None


def _picture(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    if value is None:
        return None
    path = Path(value)
    if path.suffix[1:] not in PICTURES:
        raise click.BadParameter(f"the plot must end in .{' or .'.join(PICTURES)}")
    check_output(path, path.suffix[1:])
    if importlib.util.find_spec("matplotlib") is None:
        raise click.UsageError("--plot needs matplotlib: pip install matplotlib")
    return path


@click.group()
def placement() -> None:
    """Say what placements of a graph come to."""


@placement.command()
@click.argument("edges")
@click.option(
    "--only",
    "names",
    callback=_names,
    help=f"Of {','.join(NAMED)}; default: all there are.",
)
@click.option(
    "--fanouts",
    callback=_fanouts,
    metavar="X1,X2,..",
    help="Virtual slots, leaf first: 4,4.",
)
@click.option("--topology", "file", metavar="FILE", help="A domain tree over virtual slots.")
@click.option("--directed", is_flag=True, default=None, help="Edges have a direction.")
@click.option(
    "--measure/--no-measure",
    default=True,
    help="Run BFS and PageRank on each graph: seconds, frames and bytes by level.  [default]",
)
@click.option(
    "--rhizome-max",
    type=click.IntRange(2),
    help="Show each placement also with heavy vertices split into so many parts at most.",
)
@RHIZOME_ALLOCATION
@click.option(
    "--plot",
    "picture",
    callback=_picture,
    metavar="FILE",
    help=f"Draw the table: {', '.join(PICTURES)}.",
)
@with_options(*CLUSTER_OPTIONS)
def compare(
    edges: str,
    names: list[str],
    fanouts: Topology | None,
    file: str | None,
    directed: bool | None,
    measure: bool,
    rhizome_max: int | None,
    rhizome_allocation: str,
    picture: Path | None,
    **cluster: Any,
) -> None:
    """Build the graph of EDGES with one placement after the other; show the figures."""
    layouts: list[Any] = list(names)
    if rhizome_max is not None:
        how = {"rhizome_max": rhizome_max, "rhizome_allocation": rhizome_allocation}
        layouts = [each for name in names for each in (name, {"placement": name, **how})]
    if fanouts is not None and file is not None:
        raise click.UsageError("--fanouts and --topology both say what the tree is: drop one")
    tree = fanouts if file is None else Topology.read(file)
    with cluster_client(**cluster) as client:
        found = dg.placement.compare(
            edges,
            layouts,
            topology=tree,
            directed=directed,
            measure=_measures() if measure else None,
            client=client,
        )
    with pd.option_context("display.width", 200, "display.max_columns", None):
        click.echo(found.to_string(index=False, float_format="{:.4g}".format))
    if picture is not None:
        _draw(found, picture)


def _draw(found: pd.DataFrame, path: Path) -> None:
    """Write a plot of the table to a file."""
    import matplotlib as mpl

    mpl.use("Agg")
    figure = dg.placement.plot(found)[0].figure
    write_whole(path, lambda file: figure.savefig(file, format=path.suffix[1:]))

"""``dgraph topology``: show where slots are, measure what lies between them."""

from __future__ import annotations

import warnings
from typing import Any

import click

import dgraph as dg
from dgraph.cli_cluster import CLUSTER_OPTIONS, cluster_client, with_options
from dgraph.errors import TopologyWarning
from dgraph.output import check_output
from dgraph.plurals import counted
from dgraph.topology import Topology
from dgraph.topology.sources import FORMATS

__all__ = ["topology"]


def _show_details(tree: Topology) -> None:
    """Show what a source says beside the tree, if it can be read in a line."""
    details = {} if tree.reading is None else tree.reading.details
    for key, value in details.items():
        shown = str(value)
        if value not in (None, [], {}) and len(shown) < 90:
            click.echo(f"{key}: {shown}")


@click.group()
def topology() -> None:
    """Show where slots are, measure what lies between them."""


@topology.command()
@click.argument("file", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice([each.NAME for each in FORMATS]),
    help="Default: found out.",
)
@click.option("--name", help="Which of several topologies in FILE.")
@with_options(*CLUSTER_OPTIONS)
def show(file: str | None, form: str | None, name: str | None, **cluster: Any) -> None:
    """Show the domain tree that FILE describes, or that of a cluster."""
    asked = any(value is not None for value in cluster.values())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TopologyWarning)
        tree = None if file is None else Topology.read(file, form, name=name)
        if tree is None or asked:
            with cluster_client(**cluster) as client:
                tree = Topology.discover(client, topology=tree)
    for warning in caught:
        if issubclass(warning.category, TopologyWarning):
            click.echo(f"dgraph: {warning.message}", err=True)
    click.echo(f"{tree.source}: {counted(tree.slots, 'slot')}, height {tree.height}")
    click.echo(str(tree))
    _show_details(tree)


@topology.command()
@click.option("--out", metavar="JSON", help="Write the result there too.")
@click.option("--topology", "given", metavar="FILE", help="Default: discovered.")
@click.option("--seconds", default=1.0, show_default=True, help="For each measurement.")
@with_options(*CLUSTER_OPTIONS)
def probe(out: str | None, given: str | None, seconds: float, **cluster: Any) -> None:
    """Measure latency and rate by level and transport, and keep them for later runs."""
    if out is not None:
        check_output(out, "json", () if given is None else [given])
    with cluster_client(**cluster) as client:
        found = dg.topology.probe(client, topology=given, seconds=seconds, out=out)
    click.echo(str(found))

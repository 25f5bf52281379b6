"""Where a topology can be read from: one file per format.

.. list-table::

    * - slurm
      - ``topology.conf``, tree, blocks or rings
    * - scontrol
      - ``scontrol show topology``; of tori which hosts are in each, not their cells
    * - slurm-yaml
      - ``topology.yaml``: tree, blocks, rings or tori
    * - slurm-env
      - ``SLURM_TOPOLOGY_ADDR`` of every worker, as JSON
    * - hwloc
      - ``lstopo --of xml``, of one machine
    * - nvidia-smi
      - ``nvidia-smi topo -m``, of one machine
    * - topograph
      - instances of topograph
    * - aws
      - ``aws ec2 describe-instance-topology``
    * - gcp
      - ``gcloud compute instances list --format json``
    * - kubernetes
      - ``kubectl get nodes -o json``
    * - rankfile
      - Open MPI's rankfile
    * - ibnetdiscover
      - ``ibnetdiscover``
    * - csv
      - ``host,<outermost>,..,<innermost>``

A format is a module with its `NAME`, ``recognise(text)``, which says whether a text looks like
it, and ``parse(text, **options)``, which returns a `Reading` and ignores the options of other
formats.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from dgraph.errors import OptionError, TopologyError, TopologyFileError
from dgraph.keywords import hint
from dgraph.topology.reading import Reading
from dgraph.topology.sources import (
    aws,
    gcp,
    hwloc,
    ibnetdiscover,
    kubernetes,
    nvidia_smi,
    rankfile,
    scontrol,
    slurm_conf,
    slurm_env,
    slurm_yaml,
    table,
    topograph,
)
from dgraph.topology.sources.text import Text

__all__ = ["FORMATS", "Format", "detect", "load_text", "read"]

#: What a folder is searched for; Slurm prefers the first.
IN_FOLDER = ("topology.yaml", "topology.conf")


class Format(Protocol):
    """A module that reads one format."""

    NAME: str

    def recognise(self, text: Text) -> bool:
        """Say whether a text looks like this format."""

    def parse(self, text: Text, **options: Any) -> Reading:
        """Read a text."""


#: In the sequence in which they are tried: those that could be taken for a later one first.
FORMATS: Sequence[Format] = (
    hwloc,
    scontrol,
    slurm_conf,
    slurm_yaml,
    slurm_env,
    nvidia_smi,
    topograph,
    aws,
    gcp,
    kubernetes,
    rankfile,
    ibnetdiscover,
    table,
)


def read(
    source: str | os.PathLike[str], format: str | None = None, **options: Any
) -> tuple[Reading, str]:
    r"""Read a file, a folder or a text; return what it says, and what messages call it.

    Parameters
    ----------
    source : str or path
        A text if it has several lines or starts like JSON or XML, else a path. Of a folder the
        ``topology.yaml`` or ``topology.conf`` is read.
    format : str, optional
        One of the table above. Default: found out.
    **options
        Of the formats: `name` of slurm-yaml, `labels` of kubernetes.

    Raises
    ------
    TopologyError
        If the text is malformed, with the line.
    TopologyFileError
        If there is no such file.
    OptionError
        If there is no such format.

    Examples
    --------
    >>> reading, _ = read("host,rack\nw1,r0\nw2,r1")
    >>> reading.format, reading.paths
    ('csv', {'w1': ('r0',), 'w2': ('r1',)})
    """
    text = load_text(source)
    parser = _named(format) if format is not None else detect(text)
    reading = parser.parse(text, **options)
    if not reading.paths and not reading.details.get("flat"):
        raise text.error(None, f"expected at least one {reading.unit}, got none")
    return reading, text.name


def detect(text: Text) -> Format:
    """Return the format of a text.

    Examples
    --------
    >>> detect(Text("rank 0=aa slot=0")).NAME
    'rankfile'
    """
    for each in FORMATS:
        if each.recognise(text):
            return each
    names = ", ".join(each.NAME for each in FORMATS)
    raise text.error(None, f"expected a topology in one of the formats {names}; pass format=")


def _named(name: str) -> Format:
    for each in FORMATS:
        if name == each.NAME:
            return each
    names = [each.NAME for each in FORMATS]
    raise OptionError(
        f"format must be one of {', '.join(names)}, not {name!r}{hint(name, names)}"
    )


def load_text(source: str | os.PathLike[str]) -> Text:
    r"""Return the text of a file, or the text that was given instead of a path.

    Examples
    --------
    >>> load_text("host,rack\nw1,r0").name
    'topology'
    >>> load_text("nowhere.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dgraph.errors.TopologyFileError: expected a file or a text ..., there is no file nowhere.csv
    """
    if isinstance(source, str):
        if "\n" in source or source.lstrip()[:1] in ("<", "{", "["):
            return Text.of(source)
        if not _exists(source) and any(each.recognise(Text.of(source)) for each in FORMATS):
            return Text.of(source)
    path = Path(source)
    if path.is_dir():
        path = next((path / name for name in IN_FOLDER if (path / name).is_file()), path)
    try:
        return Text.of(path.read_bytes().decode(), path.name)
    except UnicodeDecodeError as error:
        line = 1 + path.read_bytes()[: error.start].count(b"\n")
        raise TopologyError(f"{path.name}, line {line}: expected text in UTF-8") from None
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError | IsADirectoryError | ValueError)
        named = f"{' or '.join(IN_FOLDER)} in {source}" if path.is_dir() else source
        problem = f"there is no file {named}" if missing else str(error)
        raise TopologyFileError(
            f"expected a file or a text of several lines, {problem}"
        ) from None


def _exists(source: str) -> bool:
    try:
        return Path(source).exists()
    except (OSError, ValueError):
        return False

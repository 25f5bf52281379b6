"""``nvidia-smi topo -m``: how every GPU of a machine is linked to every other, and its NICs."""

from __future__ import annotations

import re
from typing import Any

from dgraph.topology.cliques import cover
from dgraph.topology.reading import Reading
from dgraph.topology.sources.text import Notes, Text

NAME = "nvidia-smi"

#: Kinds of paths without NVLink, the shortest first; SOC is the old word for SYS.
KINDS = ("PIX", "PXB", "PHB", "NODE", "SYS")

_LINKS = re.compile(r"NV(\d+)")
_FIRST = re.compile(r"^\s*GPU0\s+GPU1\b.*|^\s+GPU0\b.*", re.MULTILINE)
_AFFINITY = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_COLUMNS = ("CPU", "NUMA", "GPU")  # the first words of what follows the devices


def recognise(text: Text) -> bool:
    """Say whether a text looks like this format."""
    return bool(_FIRST.search(text.content)) and "X" in text.content


def parse(text: Text, **options: Any) -> Reading:
    r"""Read the matrix; GPUs of one clique of NVLinks are one domain.

    Examples
    --------
    >>> reading = parse(Text(" GPU0 GPU1 CPU Affinity\nGPU0 X NV2 0-7\nGPU1 NV2 X 0-7"))
    >>> reading.details["nvlinks"], reading.details["cliques"]
    ([[0, 2], [2, 0]], [[0, 1]])
    """
    header, devices, rows = _scan(text)
    kinds, affinity = [], []
    for device in devices:
        if device not in rows:
            raise text.error(header, f"expected a row of {device}, got none")
        line, cells, rest = rows[device]
        kinds.append([_kind(cell, text, line) for cell in cells])
        affinity.append(rest)
    _check(devices, kinds, {device: rows[device][0] for device in devices}, text)
    links = [[_links(kind) for kind in row] for row in kinds]
    gpus = [at for at, device in enumerate(devices) if device.startswith("GPU")]
    cliques = cover([[links[i][j] for j in gpus] for i in gpus])
    details: dict[str, Any] = {
        "devices": devices,
        "kinds": kinds,
        "nvlinks": links,
        "affinity": affinity,
        "cliques": [[gpus[at] for at in clique] for clique in cliques],
        "K_c": len(cliques),
        "K_g": [len(clique) for clique in cliques],
    }
    if nics := [at for at in range(len(devices)) if at not in gpus]:
        details["nearest_nic"] = {
            devices[gpu]: devices[min(nics, key=lambda nic: _distance(kinds[gpu][nic]))]
            for gpu in gpus
        }
    paths = {
        devices[gpus[at]]: (f"clique {number}",)
        for number, clique in enumerate(cliques)
        for at in clique
    }
    paths = {devices[gpu]: paths[devices[gpu]] for gpu in gpus}
    return Reading(NAME, paths, warnings=Notes().all(), details=details, unit="device")


Row = tuple[int, list[str], str | None]


def _scan(text: Text) -> tuple[int, list[str], dict[str, Row]]:
    """Return the header's line and devices, and their rows: line, cells, CPU affinity."""
    header = 0
    devices: list[str] = []
    rows: dict[str, Row] = {}
    for number, line in text.lines(comment=""):
        words = line.split()
        if words[0].startswith("Legend"):
            break
        if not devices:
            if words[0] == "GPU0" and not {"X", "x"} & set(words):
                stop = next((at for at, w in enumerate(words) if w in _COLUMNS), len(words))
                header, devices = number, words[:stop]
            continue
        if words[0] not in devices or words[0] in rows:
            known = ", ".join(devices)
            raise text.error(number, f"expected one row of each of {known}, got {words[0]}")
        cells = words[1 : 1 + len(devices)]
        if len(cells) < len(devices):
            raise text.error(
                number, f"expected {len(devices)} links of {words[0]}, got {len(cells)}"
            )
        rows[words[0]] = number, cells, _affinity(line, len(devices))
    if not devices:
        raise text.error(1, "expected a header with GPU0, got none")
    return header, devices, rows


def _affinity(line: str, devices: int) -> str | None:
    """Return the column after the devices; with tabs an empty one can be told."""
    cells = line.split("\t")
    if len(cells) > devices:
        column = cells[devices + 1] if len(cells) > devices + 1 else ""
    else:
        column = (line.split()[devices + 1 :] or [""])[0]
    return column.strip() if _AFFINITY.fullmatch(column.strip()) else None


def _kind(cell: str, text: Text, line: int) -> str:
    kind = {"SOC": "SYS", "x": "X"}.get(cell, cell)
    if kind != "X" and kind not in KINDS and not _LINKS.fullmatch(kind):
        raise text.error(line, f"expected X, NV# or {', '.join(KINDS)}, got {cell!r}")
    return kind


def _check(
    devices: list[str], kinds: list[list[str]], lines: dict[str, int], text: Text
) -> None:
    for i, device in enumerate(devices):
        for j, other in enumerate(devices):
            if (kinds[i][j] == "X") != (i == j) or kinds[i][j] != kinds[j][i]:
                raise text.error(
                    lines[device],
                    f"expected a symmetric matrix with X for a device itself, got {device} - "
                    f"{other} {kinds[i][j]} and {other} - {device} {kinds[j][i]}",
                )


def _links(kind: str) -> int:
    match = _LINKS.fullmatch(kind)
    return int(match[1]) if match else 0


def _distance(kind: str) -> tuple[int, int]:
    """Return a key that sorts paths, the best first: more NVLinks, then fewer bridges.

    Examples
    --------
    >>> sorted(["SYS", "NV1", "PIX", "NV2"], key=_distance)
    ['NV2', 'NV1', 'PIX', 'SYS']
    """
    return (0, -_links(kind)) if _links(kind) else (1 + KINDS.index(kind), 0)

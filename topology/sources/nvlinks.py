"""hwloc's NVLinkBandwidth: how fast the GPUs of a machine are linked to each other.

::

    <distances2 type="OSDev" name="NVLinkBandwidth" indexing="gp">    GPUs only
    <distances2hetero name="NVLinkBandwidth">                         and NVSwitches, CPUs
      <indexes>OSDev:802 OSDev:803 PCIDev:449 ..</indexes>
      <u64values>1000000 0 25000 ..</u64values>                       MB/s; itself: no figure

GPUs that NVSwitches link are as fast as the slower of their links to all of these, as hwloc's
own transitive closure has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgraph.topology.cliques import cover
from dgraph.topology.sources.elements import Element, numbers, objects, words
from dgraph.topology.sources.text import Text

__all__ = ["links_of"]

#: What hwloc calls the matrix, an object that is a GPU, and a switch between GPUs.
NAME, GPU, SWITCH = "NVLinkBandwidth", "OSDev", "NVSwitch"

#: More MB/s than there are.
MOST = 1 << 40


def links_of(root: Element, text: Text) -> dict[str, Any]:
    """Return what the matrix says of GPUs, nothing if there is none.

    Returns
    -------
    dict
        devices: their names; bandwidth: MB/s from each to each, 0 for none; cliques, K_c and
        K_g as of ``nvidia-smi topo -m``.
    """
    for element in root.children:
        if element.attributes.get("name") == NAME:
            return _read(element, root, text)
    return {}


def _read(element: Element, root: Element, text: Text) -> dict[str, Any]:
    keys = _keys(element)
    values = numbers(element, "u64values", text)
    if len(values) != len(keys) ** 2:
        raise text.error(
            element.line,
            f"expected {len(keys) ** 2} bandwidths of {len(keys)} devices, got {len(values)}",
        )
    if not all(0 <= value < MOST for value in values):
        raise text.error(element.line, f"expected bandwidths of 0 to {MOST} MB/s, got others")
    found = _find(root, {})
    unknown = [key for key in keys if key not in found]
    if unknown:
        raise text.error(element.line, f"expected devices of the machine, got {unknown[0]}")
    gpus = [at for at, key in enumerate(keys) if key.startswith(f"{GPU}:")]
    switches = [at for at, key in enumerate(keys) if found[key].get("subtype") == SWITCH]
    matrix = np.array(values, np.int64).reshape(len(keys), len(keys))
    links = _between(matrix, gpus, switches)
    cliques = cover(links.tolist())
    return {
        "devices": [found[keys[at]].get("name") or keys[at] for at in gpus],
        "bandwidth": links.tolist(),
        "cliques": cliques,
        "K_c": len(cliques),
        "K_g": [len(clique) for clique in cliques],
    }


def _keys(element: Element) -> list[str]:
    """Return type and global index of each object, such as ``OSDev:802``."""
    kind = element.attributes.get("type")
    listed = words(element, "indexes")
    return listed if kind is None else [f"{kind}:{index}" for index in listed]


def _find(element: Element, found: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return the attributes of all objects below an element, by type and global index."""
    for each in objects(element):
        about = each.attributes
        found[f"{about.get('type')}:{about.get('gp_index')}"] = about
        _find(each, found)
    return found


def _between(
    matrix: NDArray[np.int64], gpus: Sequence[int], switches: Sequence[int]
) -> NDArray[np.int64]:
    """Return the bandwidth between GPUs, straight or through switches; 0 to itself.

    Examples
    --------
    >>> _between(np.array([[9, 0, 4], [0, 9, 2], [4, 2, 9]]), [0, 1], [2])
    array([[0, 2],
           [2, 0]])
    """
    to = matrix[np.ix_(gpus, switches)].sum(axis=1)
    back = matrix[np.ix_(switches, gpus)].sum(axis=0)
    links: NDArray[np.int64] = np.maximum(
        matrix[np.ix_(gpus, gpus)], np.minimum(to[:, None], back[None])
    )
    np.fill_diagonal(links, 0)
    return links

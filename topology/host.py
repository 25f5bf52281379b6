"""Which processes can reach each other without a network, and what a host is called."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from dgraph.topology.sources.slurm_env import ADDRESS, PATTERN

__all__ = ["host_key", "names_of", "whereabouts"]

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/net")

#: Environment variables with the host's name, the best first: the user's word for it, Slurm's,
#: and the one that Kubernetes users give their pods from ``spec.nodeName``.
NAMES = ("DGRAPH_HOST", "SLURMD_NODENAME", "NODE_NAME", "HOSTNAME")


def host_key() -> tuple[str, int]:
    """Return a key that two processes share if they are on one host.

    Returns
    -------
    (str, int)
        Boot id and inode of the network namespace; where there is no /proc, the host's name and
        0.

    Notes
    -----
    Containers and pods of one machine have one boot id but not one network, hence the
    namespace. Host names are not unique. The key says where to try; a Unix socket that really
    connects is the proof.

    Examples
    --------
    >>> host_key() == host_key()
    True
    """
    try:
        return _BOOT_ID.read_text().strip(), os.stat(_NAMESPACE).st_ino
    except OSError:
        return platform.node(), 0


def whereabouts(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what the environment of a process says of where it is; small, to be sent.

    Parameters
    ----------
    environment : mapping, optional
        Default: that of this process.

    Examples
    --------
    >>> found = whereabouts({"DGRAPH_HOST": "node7", "PATH": "/bin"})
    >>> found["DGRAPH_HOST"], "HOSTNAME" in found, "PATH" in found
    ('node7', True, False)
    """
    given = os.environ if environment is None else environment
    found = {key: given[key] for key in (*NAMES, ADDRESS, PATTERN) if given.get(key)}
    return found | {"HOSTNAME": platform.node()}


def names_of(about: Mapping[str, str], address: str) -> list[str]:
    """Return the names that a worker's host may go by, the best first.

    Parameters
    ----------
    about : mapping
        What `whereabouts` returned there.
    address : str
        The worker's.

    Examples
    --------
    >>> names_of({"HOSTNAME": "n1.example.org"}, "tcp://10.0.0.1:8786")
    ['n1.example.org', '10.0.0.1']
    """
    names = [about[key] for key in NAMES if about.get(key)]
    match = re.fullmatch(r"\w+://\[?([^\]/]+?)\]?(:\d+)?(/.*)?", address)
    return [*dict.fromkeys([*names, *([match[1]] if match else [])])]

"""Which transport carries frames between two workers of a run.

::

    dgraph.transport    what it says
    auto                the fastest by the probe that dgraph.cost names, if it works; else the
                        first that works of MPI, Unix sockets, TCP sockets and Dask's comms

Memory is shared beside a Unix socket, so wherever there is such a socket, and never beyond the
host; where the other process cannot open the memory, the socket carries all. It is not what
auto takes by itself: long columns arrive in half the time, a superstep of 4 MiB each way in
0.6 ms instead of 1.4, but whole runs at scale 20 take as long either way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from dgraph.engine.spec import Member, RunSpec

__all__ = ["carrier", "choose_carriers", "crowded_hosts"]


def choose_carriers(spec: RunSpec, me: int) -> dict[int, str]:
    """Return what leads to each other member; both ends choose alike.

    Parameters
    ----------
    spec : RunSpec
    me : int
    """
    crowded, wanted = crowded_hosts(spec.members), spec.options.transport
    return {
        other: carrier(spec.members[me], there, wanted, crowded, _probed(spec, me, other))
        for other, there in enumerate(spec.members)
        if other != me
    }


def crowded_hosts(members: Sequence[Member]) -> set[str]:
    """Return the hosts with more slots at work than cores.

    Who waits for a socket sleeps in the kernel; who waits for MPI has to look. Measured with
    six slots on two cores: a superstep with 8 bytes to each takes 1.1 ms over sockets, and
    1.5 to 2 ms over MPI; with 1 MiB there is no difference.
    """
    lanes: Counter[str] = Counter()
    for member in members:
        lanes[member.host] += member.threads
    return {
        member.host
        for member in members
        if member.place is not None and lanes[member.host] > member.place.cores
    }


def carrier(
    here: Member, there: Member, wanted: str, crowded: Collection[str], best: str = ""
) -> str:
    """Return what carries frames between two members: "mpi", "shm", "unix", "tcp" or "comm".

    `best` is the fastest by a probe, or ""; it is taken for "auto" if it works.
    """
    is_near = here.host == there.host
    are_ranks = bool(here.place and there.place and here.place.world == there.place.world)
    is_slow = wanted == "auto" and is_near and here.host in crowded
    works = {
        "mpi": are_ranks and not is_slow,
        "shm": is_near,
        "unix": is_near,
        "tcp": here.tcp and there.tcp,
        "comm": True,
    }
    if wanted == "auto" and works.get(best):
        return best
    if works["mpi"] and wanted in ("auto", "mpi"):
        return "mpi"
    if is_near and wanted not in ("comm", "tcp"):
        return "shm" if wanted == "shm" else "unix"
    return "tcp" if works["tcp"] and wanted != "comm" else "comm"


def _probed(spec: RunSpec, member: int, other: int) -> str:
    """Return the transport that a probe found the fastest between two members, or ""."""
    best = spec.options.carriers
    if not best:
        return ""
    one, two = (spec.members[number].slots[0] for number in (member, other))
    return best[int(spec.topology.level(one, two))]

"""Workers that were lost a moment ago and that their nannies start again.

Who makes a graph in between would get fewer slots than the cluster has, and would not know it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from time import time
from typing import Any

__all__ = ["RESTART", "describe_late", "late_workers", "lost_lately"]

#: Seconds that a nanny gets to start a lost worker again; it takes 2 to 4 on a busy laptop.
RESTART = 10.0

#: Seconds for which a worker counts as just lost: longer than anybody waits for it.
LATELY = 60.0


async def late_workers(scheduler: Any, identities: Mapping[str, Any]) -> list[str]:
    """Return the addresses of workers that should be there, and do not answer.

    Parameters
    ----------
    scheduler : rpc of a distributed.Client
    identities : mapping of address to identity
        What workers have answered; whether a nanny looks after them is in it.
    """
    known, events = await asyncio.gather(scheduler.ncores(), scheduler.events(topic="all"))
    silent = [address for address in known if address not in identities]
    paused = [
        address for address, who in identities.items() if who and who["status"] == "paused"
    ]
    # Dask forgets with a worker whether it had a nanny: it is taken for one like the others.
    nannies = any(who and who["nanny"] for who in identities.values())
    return [*silent, *paused, *(lost_lately(events, time()) if nannies else ())]


def lost_lately(events: Iterable[tuple[float, Any]], now: float) -> list[str]:
    """Return the workers that were lost unexpectedly, and for which none has come since.

    Parameters
    ----------
    events : iterable of (seconds, event)
        The scheduler's log, of which what is older than `LATELY` does not count.
    now : float

    Examples
    --------
    >>> lost = {"action": "remove-worker", "expected": False}
    >>> came = {"action": "add-worker", "worker": "c"}
    >>> lost_lately([(100, lost | {"worker": "a"}), (101, lost | {"worker": "b"})], 102)
    ['a', 'b']
    >>> lost_lately([(100, lost | {"worker": "a"}), (101, came)], 102)
    []
    >>> lost_lately([(40, lost | {"worker": "a"})], 102)
    []
    """
    lost: list[str] = []
    for when, event in events:
        if not isinstance(event, Mapping) or abs(now - when) > LATELY:
            continue
        if event.get("action") == "remove-worker" and not event["expected"]:
            lost.append(event["worker"])
        elif event.get("action") == "add-worker" and lost:
            lost.pop(0)
    return lost


def describe_late(late: Collection[str], threads: int) -> str:
    """Say who is missing, and what that means.

    Examples
    --------
    >>> describe_late(["tcp://10.0.0.1:1"], 2)
    'only 2 threads take part: of tcp://10.0.0.1:1 the worker was lost or is paused, and is \
not back; wait for it (client.wait_for_workers) and call again to use all'
    """
    one = len(late) == 1
    return (
        f"only {threads} threads take part: of {', '.join(late)} the "
        f"{'worker was lost or is' if one else 'workers were lost or are'} paused, and "
        f"{'is' if one else 'are'} not back; wait for {'it' if one else 'them'} "
        "(client.wait_for_workers) and call again to use all"
    )

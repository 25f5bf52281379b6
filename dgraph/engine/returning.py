"""Workers that were lost a moment ago and that their nannies start again.

Who makes a graph in between would get fewer slots than the cluster has, and would not know it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from time import time
from typing import Any

from dgraph.plurals import counted

__all__ = [
    "RESTART",
    "changes_lately",
    "describe_late",
    "late_workers",
    "paused_workers",
    "still_lost",
]

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
    before = await scheduler.ncores()
    events = await scheduler.events(topic="all")
    # who leaves or comes while the scheduler is asked is in one of both
    known = {**before, **await scheduler.ncores()}
    silent = [address for address in known if address not in identities]
    paused = paused_workers(identities)
    # Dask forgets with a worker whether it had a nanny: it is taken for one like the others.
    nannies = any(who and who["nanny"] for who in identities.values())
    if not nannies:
        return [*silent, *paused]
    changes = changes_lately(events, time())
    gone = await _closed(scheduler, [address for lost, address in changes if lost])
    return [*silent, *paused, *still_lost(changes, gone)]


def paused_workers(identities: Mapping[str, Any]) -> list[str]:
    """Return the addresses of workers on which Dask begins nothing, for want of memory."""
    return [address for address, who in identities.items() if who and who["status"] == "paused"]


async def _closed(scheduler: Any, lost: Collection[str]) -> list[str]:
    """Return which of the workers have said that they close: nobody starts those again.

    So do those that `scale` has ended, which the scheduler takes for lost.
    """
    said = await asyncio.gather(*(scheduler.events(topic=address) for address in lost))
    return [
        address
        for address, events in zip(lost, said, strict=True)
        if any(_action(event) == "closing-worker" for _, event in events)
    ]


def changes_lately(events: Iterable[tuple[float, Any]], now: float) -> list[tuple[bool, str]]:
    """Return which workers were lost unexpectedly, and which came (False), in this sequence.

    Parameters
    ----------
    events : iterable of (seconds, event)
        The scheduler's log, of which what is older than `LATELY` does not count.
    now : float

    Examples
    --------
    >>> lost = {"action": "remove-worker", "expected": False, "worker": "a"}
    >>> came = {"action": "add-worker", "worker": "c"}
    >>> changes_lately([(40, lost), (100, lost), (101, came)], 102)
    [(True, 'a'), (False, 'c')]
    """
    return [
        (_action(event) == "remove-worker", event["worker"])
        for when, event in events
        if abs(now - when) <= LATELY
        and (
            _action(event) == "add-worker"
            or (_action(event) == "remove-worker" and not event["expected"])
        )
    ]


def still_lost(changes: Iterable[tuple[bool, str]], closed: Collection[str]) -> list[str]:
    """Return the workers that were lost and have not closed, and for which none has come since.

    Examples
    --------
    >>> still_lost([(True, "a"), (True, "b"), (False, "c")], [])
    ['b']
    >>> still_lost([(True, "a"), (True, "b"), (False, "c")], ["a"])
    []
    """
    lost: list[str] = []
    for is_lost, address in changes:
        if not is_lost:
            del lost[:1]
        elif address not in closed:
            lost.append(address)
    return lost


def _action(event: Any) -> Any:
    return event.get("action") if isinstance(event, Mapping) else None


def describe_late(late: Collection[str], paused: Collection[str], threads: int) -> str:
    """Say who is missing, why, and what that means.

    Parameters
    ----------
    late : collection of str
        The addresses of all that are missing.
    paused : collection of str
        Those of them that are paused; the others were lost.
    threads : int
        Of the workers that are there.

    Examples
    --------
    >>> print(describe_late(["tcp://10.0.0.1:1"], [], 2))
    only 2 threads take part: of tcp://10.0.0.1:1 the worker was lost, and is not back; wait \
for it (client.wait_for_workers) and call again to use all
    >>> print(describe_late(["tcp://10.0.0.1:1"], ["tcp://10.0.0.1:1"], 2))
    only 2 threads take part: Dask has paused the worker of tcp://10.0.0.1:1 for its memory; \
let it hold less or give it more (memory_limit=, --memory-limit), and call again to use all
    """
    lost = [address for address in late if address not in paused]
    why, what = [], []
    if lost:
        one = len(lost) == 1
        why.append(
            f"of {', '.join(lost)} the worker{' was' if one else 's were'} lost, and "
            f"{'is' if one else 'are'} not back"
        )
        what.append(f"wait for {'it' if one else 'them'} (client.wait_for_workers)")
    if paused:
        one = len(paused) == 1
        them = "it" if one else "them"
        why.append(
            f"Dask has paused the worker{'s' * (not one)} of {', '.join(paused)} for "
            f"{'its' if one else 'their'} memory"
        )
        what.append(f"let {them} hold less or give {them} more (memory_limit=, --memory-limit)")
    return (
        f"only {counted(threads, 'thread')} take{'s' * (threads == 1)} part: "
        f"{'; '.join(why)}; {', '.join(what)}{',' * bool(paused)} and call again to use all"
    )

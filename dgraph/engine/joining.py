"""How a member of a run connects to all others, before the first superstep.

Members of one host look for each other in a folder of sockets, ranks of an MPI job by messages;
of two others one calls the other, through Dask. All are waited for together, no longer than
`dgraph.timeouts.join`.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Collection, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from distributed.comm.core import Comm

from dgraph.engine.carriers import choose_carriers
from dgraph.engine.plugin import Plugin, Seat
from dgraph.engine.spec import RunSpec
from dgraph.errors import JoinTimeoutError
from dgraph.exchange.transport.comm import CommChannel, dial
from dgraph.exchange.transport.links import Channel
from dgraph.exchange.transport.meeting import Meeting
from dgraph.exchange.transport.mpi import MpiMeeting
from dgraph.exchange.transport.tcp import Calls, call

__all__ = ["Joining", "Peers", "run_number"]

T = TypeVar("T")
AnyMeeting = Meeting | MpiMeeting | Calls

#: A worker looks for missing members again after this share of the time that it has waited
#: already, but at least so often (seconds).
PATIENCE, LONGEST_PAUSE = 0.1, 0.02


@dataclass(frozen=True, slots=True)
class Peers:
    """The other members of a run, as one of them sees them.

    Parameters
    ----------
    names : mapping of int to str
        What errors call each.
    carriers : mapping of int to str
        The transport that leads to each: "shm", "unix", "tcp", "comm" or "mpi".
    """

    names: Mapping[int, str]
    carriers: Mapping[int, str]

    @classmethod
    def of(cls, spec: RunSpec, me: int) -> Self:
        """Return those of a member."""
        members = enumerate(spec.members)
        names = {at: f"worker {them.address}" for at, them in members if at != me}
        return cls(names, choose_carriers(spec, me))

    def over(self, carrier: str) -> dict[int, str]:
        """Return the members that a carrier leads to, and their names."""
        return {at: name for at, name in self.names.items() if self.carriers[at] == carrier}


class Joining:
    """The connections of one member while they are made.

    Parameters
    ----------
    spec : RunSpec
    me : int
        The member.
    peers : Peers
    plugin : Plugin
        Of this worker.
    seat : Seat
        The place in the run to which others connect.
    """

    def __init__(
        self, spec: RunSpec, me: int, peers: Peers, plugin: Plugin, seat: Seat
    ) -> None:
        self._spec, self._me, self._peers = spec, me, peers
        self._plugin, self._seat = plugin, seat
        self._number = run_number(spec.run)
        self._meetings = self._meet()
        self._dials = self._call(dial, seat.inboxes)

    def channels(self, check: Callable[[], None]) -> list[Channel]:
        """Wait until all members are connected, and return the channels to them.

        Parameters
        ----------
        check : callable
            Raises if the run is over.

        Raises
        ------
        JoinTimeoutError
            If some do not come in time; names them.
        """
        try:
            self._await_all(check)
        except BaseException:
            self._give_up()
            raise
        finally:
            for meeting in self._meetings:
                meeting.close()
        met: list[Channel] = [
            channel for meeting in self._meetings for channel in meeting.channels.values()
        ]
        return met + [
            self._channel(other, made.result()) for other, made in self._dials.items()
        ]

    def _meet(self) -> list[AnyMeeting]:
        """Begin to look for the members that are reached by sockets, and by MPI."""
        peers, me, number = self._peers, self._me, self._number
        sharing, ranks, far = peers.over("shm"), peers.over("mpi"), peers.over("tcp")
        near = peers.over("unix") | sharing
        meetings: list[AnyMeeting] = []
        if near:
            folder = self._plugin.folder
            meetings.append(Meeting(folder, number, self._spec.token, me, near, sharing))
        if ranks:
            assert self._plugin.world is not None
            numbers = {other: _rank(self._spec, other) for other in ranks}
            meetings.append(MpiMeeting(self._plugin.world, number, numbers, ranks))
        if far:
            made = self._call(call, [other for other in far if other < me])
            meetings.append(Calls(number, far, made, self._seat.guests))
        return meetings

    def _call(
        self, how: Callable[..., Coroutine[Any, Any, T]], others: Collection[int]
    ) -> dict[int, Future[T]]:
        """Begin to call other members, on the event loop."""
        spec, plugin = self._spec, self._plugin
        hello = {"run": spec.run, "token": spec.token, "member": self._me}
        return {
            other: asyncio.run_coroutine_threadsafe(
                how(plugin.worker, spec.members[other].address, **hello), plugin.loop
            )
            for other in others
        }

    def _await_all(self, check: Callable[[], None]) -> None:
        began = time.monotonic()
        while missing := self._missing():
            check()
            waited = time.monotonic() - began
            if waited > self._spec.options.join_timeout:
                names = ", ".join(self._peers.names[other] for other in sorted(missing))
                raise JoinTimeoutError(
                    f"expected all workers to join within {waited:.3g} s, {names} did not: "
                    "see whether all their threads are busy, or raise dgraph.timeouts.join"
                )
            time.sleep(min(PATIENCE * waited, LONGEST_PAUSE))

    def _missing(self) -> set[int]:
        """Go on with what is not connected; return the members that are not there yet."""
        missing = self._not_dialled()
        for meeting in self._meetings:
            if meeting.missing:
                meeting.step()
            missing |= meeting.missing
        return missing

    def _not_dialled(self) -> set[int]:
        """Return the members to which there is not yet a comm in both directions."""
        calling = {
            other for other, made in self._dials.items() if not (made.done() and made.result())
        }
        silent = {other for other, inbox in self._seat.inboxes.items() if not inbox.open}
        return calling | silent

    def _give_up(self) -> None:
        for meeting in self._meetings:
            for channel in meeting.channels.values():
                channel.close()
        for other, made in self._dials.items():
            if not made.cancel() and made.exception() is None:
                self._channel(other, made.result()).close()

    def _channel(self, other: int, comm: Comm) -> CommChannel:
        inbox, name = self._seat.inboxes[other], self._peers.names[other]
        return CommChannel(comm, inbox, other, self._number, name, self._plugin.loop)


def _rank(spec: RunSpec, member: int) -> int:
    place = spec.members[member].place
    assert place is not None
    return place.rank


def run_number(run: str) -> int:
    """Return the number that marks the frames of a run.

    Examples
    --------
    >>> run_number("bfs-1") != run_number("bfs-2")
    True
    """
    digest = hashlib.blake2b(run.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)

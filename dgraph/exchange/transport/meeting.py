"""How the members of a run that are on one host find each other: by sockets in a folder.

Only the user can enter the folder. For the length of a join a member listens there on a socket
of its own; members with a higher number connect to it and present the run's token.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import os
import socket
import stat
import struct
import tempfile
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from dgraph.exchange.transport.shm import SharedChannel
from dgraph.exchange.transport.unix import SocketChannel

__all__ = ["Meeting", "can_reach", "listen", "private_folder", "sweep"]

logger = logging.getLogger("dgraph")

#: Members that may call at the same time without being sent away; they call again.
BACKLOG = 128

#: A socket's path may have 104 bytes on macOS, 108 on Linux; ours need 40 below the folder.
LONGEST_BASE = 60

#: Seconds after which a socket on which nobody listens was left behind.
STALE = 60

_MEMBER = struct.Struct("<i")


class Meeting:
    """Connect to other members on this host, without ever waiting for one.

    Parameters
    ----------
    folder : Path
        Only the user can enter it.
    run : int
    token : bytes
        A member that cannot present it is turned away.
    me : int
    names : mapping of int to str
        The members to meet, and what errors call them.
    sharing : collection of int
        Those of them with which memory is shared.
    """

    def __init__(
        self,
        folder: Path,
        run: int,
        token: bytes,
        me: int,
        names: Mapping[int, str],
        sharing: Collection[int] = (),
    ) -> None:
        self._folder = folder
        self._run = run
        self._token = token
        self._me = me
        self._names = names
        self._sharing = sharing
        self._guests: list[tuple[socket.socket, bytearray]] = []
        self._listener: socket.socket | None = None
        self.channels: dict[int, SocketChannel] = {}
        if any(member > me for member in names):
            self._listener = listen(self._path(me))

    @property
    def missing(self) -> set[int]:
        """The members that have not been met yet."""
        return self._names.keys() - self.channels.keys()

    def step(self) -> None:
        """Call those with a lower number, and let in those with a higher one that call."""
        for member in self.missing:
            if member < self._me:
                self._call(member)
        if self._listener is not None:
            self._let_in(self._listener)

    def close(self) -> None:
        """Stop listening; the channels stay open."""
        for guest, _ in self._guests:
            guest.close()
        if self._listener is not None:
            self._listener.close()
            self._path(self._me).unlink(missing_ok=True)

    def _path(self, member: int) -> Path:
        return self._folder / f"{self._run % (1 << 64):016x}-{member}"

    def _add(self, sock: socket.socket, member: int) -> None:
        known = sock, member, self._run, self._names[member]
        if member in self._sharing:
            room = SharedChannel.room_for(len(self._sharing))
            self.channels[member] = SharedChannel(*known, room)
        else:
            self.channels[member] = SocketChannel(*known)

    def _call(self, member: int) -> None:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.setblocking(False)
        try:
            sock.connect(os.fspath(self._path(member)))
            sock.sendall(_MEMBER.pack(self._me) + self._token)
        except OSError:  # it does not listen yet, or is busy
            sock.close()
        else:
            self._add(sock, member)

    def _let_in(self, listener: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                guest, _ = listener.accept()
                guest.setblocking(False)
                self._guests.append((guest, bytearray()))
        self._guests = [entry for entry in self._guests if not self._is_done(*entry)]

    def _is_done(self, guest: socket.socket, said: bytearray) -> bool:
        """Return whether a guest has been let in or turned away."""
        size = _MEMBER.size + len(self._token)
        try:
            received = guest.recv(size - len(said))
        except BlockingIOError:
            return False
        except OSError:
            received = b""
        said += received
        if received and len(said) < size:
            return False
        (member,) = _MEMBER.unpack_from(said.ljust(size, b"\0"))
        if (
            hmac.compare_digest(said[_MEMBER.size :], self._token)
            and member in self.missing
            and member > self._me
        ):
            self._add(guest, member)
        else:
            if said:
                logger.warning("turned away a connection without the token of the run")
            guest.close()
        return True


def listen(path: Path) -> socket.socket:
    """Return a socket that listens and does not block."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(os.fspath(path))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def private_folder() -> Path:
    """Return a folder for sockets that only this user can enter, the same one each time.

    Raises
    ------
    OSError
        If there is no place for it.
    """
    base = tempfile.gettempdir()
    if len(base) > LONGEST_BASE:
        base = "/tmp"
    folder = Path(base, f"dgraph-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if mine and not found.st_mode & 0o077:
        return folder
    return Path(tempfile.mkdtemp(prefix="dgraph-", dir=base))


def sweep(folder: Path) -> None:
    """Remove sockets that processes left behind which were killed."""
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > STALE and not can_reach(path):
                path.unlink()


def can_reach(path: Path) -> bool:
    """Return whether a process listens on a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.setblocking(False)
        try:
            sock.connect(os.fspath(path))
        except BlockingIOError:  # its queue is full: there is one
            return True
        except OSError:
            return False
        return True

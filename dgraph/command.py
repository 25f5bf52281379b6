"""Whether this process is the ``dgraph`` command; Ctrl-C while that is still being imported.

Importing takes seconds, and a traceback out of the midst of it says nothing to anybody.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

__all__ = ["is_command"]


def is_command(words: Sequence[str]) -> bool:
    """Tell whether the words that have started Python start the command.

    Examples
    --------
    >>> is_command(["python", "/usr/bin/dgraph", "run"]), is_command(["python", "-m", "dgraph"])
    (True, True)
    >>> is_command(["python", "mine.py", "dgraph"])
    False
    """
    if words[1:3] == ["-m", "dgraph"]:
        return True
    return bool(words[1:]) and os.path.basename(words[1]) == "dgraph"


def _end_at_interrupts() -> None:
    """Let Ctrl-C end the command with one line, and change nothing in any other process."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # somebody's own, or ignored: in the background of a script
    here = threading.current_thread() is threading.main_thread()
    if here and is_command(sys.orig_argv):  # which no worker process is
        signal.signal(signal.SIGINT, _end)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"\ndgraph: interrupted\n")
    os._exit(130)


_end_at_interrupts()

"""The emulated network: whether there is one, and how programs are run inside it.

The network is made by a script ``netlab.py`` that lies in a folder of its own (option
``--netlab`` or the variable DGRAPH_NETLAB): a network namespace for each slot, latency and rate
by level of a domain tree. It needs root. Its level 0 is a host's own.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["VARIABLE", "Netlab", "find"]

#: Where the folder of the network's script is named.
VARIABLE = "DGRAPH_NETLAB"

ROOT = Path(__file__).parents[2]

_PYTHON = sys.executable
_SCHEDULER = f"{_PYTHON} -m dask scheduler --host {{address}} --port 8786 --no-dashboard"
_WORKER = (
    f"DGRAPH_HOST=w{{slot}} {_PYTHON} -m dask worker tcp://{{address0}}:8786 --nthreads 1 "
    "--host {address} --no-nanny --no-dashboard --name {slot}"
)


#: The process that forwards packets may be held up by others on the machine.
_PATIENCE = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "600s"}


@dataclass(frozen=True)
class Netlab:
    """A network to be made, one for each run of a program.

    Parameters
    ----------
    script : Path
    fanouts : tuple of int
        Of the domain tree, from the root down.
    latency : tuple of float
        Seconds one way by level, from level 0.
    rate : tuple of float
        Bytes per second by level; 0: no limit.
    """

    script: Path
    fanouts: tuple[int, ...] = (2, 2, 2)
    latency: tuple[float, ...] = (0.0, 1e-3, 1e-2)
    rate: tuple[float, ...] = (0.0, 100e6, 20e6)

    @property
    def slots(self) -> int:
        """How many there are."""
        count = 1
        for fanout in self.fanouts:
            count *= fanout
        return count

    @property
    def hosts(self) -> str:
        """The table from which dgraph learns the tree: host, then its domains.

        >>> Netlab(Path(), (2, 1)).hosts.split()
        ['host,outer', 'w0,o0', 'w1,o1']
        """
        names = ("outer", "inner")[: len(self.fanouts) - 1]
        rows = [",".join(("host", *names))]
        sizes = [math.prod(self.fanouts[level + 1 :]) for level in range(len(names))]
        for slot in range(self.slots):
            domains = zip(names, sizes, strict=True)
            row = [f"w{slot}", *(f"{name[0]}{slot // size}" for name, size in domains)]
            rows.append(",".join(row))
        return "\n".join(rows) + "\n"

    def on_workers(
        self,
        module: str,
        *arguments: str,
        timeout: float = 600,
        say: Callable[[str], Any] = lambda _: None,
        stats: Path | None = None,
    ) -> Any:
        """Run a module beside a Dask cluster with a one-thread worker in each slot."""
        background = ["--at", "0", f"{_SCHEDULER} 2>/dev/null"]
        background += ["--at", "all", f"{_WORKER} 2>/dev/null"]
        return self.run(background, module, *arguments, timeout=timeout, say=say, stats=stats)

    def run(
        self,
        background: Sequence[str],
        module: str,
        *arguments: str,
        timeout: float = 600,
        say: Callable[[str], Any] = lambda _: None,
        stats: Path | None = None,
    ) -> Any:
        """Run a module in slot 0; say its lines, and return the last one, which is JSON.

        What the network has carried, by level, is written to `stats`.
        """
        words = [_PYTHON, str(self.script), "--tree", ",".join(map(str, self.fanouts))]
        words += ["--latency", ",".join(f"{1e3 * each:g}ms" for each in self.latency)]
        words += [
            "--rate",
            ",".join(f"{each / 1e6:g}MB" if each else "0" for each in self.rate),
        ]
        words += ["--stats", str(stats)] if stats else []
        words += [*background, "--", _PYTHON, "-m", module, *arguments]
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        last = ""
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                words,
                env={**os.environ, "PYTHONPATH": path, **_PATIENCE},
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            ) as process,
        ):
            timer = threading.Timer(timeout, process.terminate)
            timer.start()
            try:
                for line in process.stdout or ():
                    if last:
                        say(last)
                    last = line.rstrip()
            finally:
                timer.cancel()
                process.terminate()
            code = process.wait()
            errors.seek(0)
            err = errors.read()
        if code or not last:
            raise RuntimeError(f"{module} failed in the emulated network: {err[-2000:]}")
        return json.loads(last)


def find(folder: str | os.PathLike[str] | None) -> tuple[Netlab | None, str]:
    """Return the network, or None and the reason why there is none.

    >>> find("/nowhere")
    (None, 'there is no /nowhere/netlab.py')
    """
    folder = folder or os.environ.get(VARIABLE)
    if not folder:
        return None, f"neither --netlab nor {VARIABLE} names the folder of netlab.py"
    script = Path(folder) / "netlab.py"
    if not script.exists():
        return None, f"there is no {script}"
    spec = importlib.util.spec_from_file_location("netlab", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    reason = module.usable()
    return (None, f"it {reason}") if reason else (Netlab(script), "")

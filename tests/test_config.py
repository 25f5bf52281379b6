"""Configuration is checked when it is read; kernels find a folder to be cached in."""

from __future__ import annotations

import importlib
import os
import pickle
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client

import dgraph as dg
import dgraph.config
from dgraph.config import BufferOptions, Options, check_keys
from dgraph.errors import ConfigurationWarning, OptionError
from dgraph.kernels import _private_folder
from tests.clusters import asynchronously

PATH = np.array([[1, 2], [2, 3]])
PACKAGE = Path(dgraph.config.__file__).parent


def test_defaults() -> None:
    assert Options.read() == Options("auto", "auto", True, 300.0, 60.0, "auto")


def test_options_travel() -> None:
    options = Options.read()
    assert pickle.loads(pickle.dumps(options)) == options


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("routing", "scenic"),
        ("transport", None),
        ("transport", ["unix"]),
        ("combine", 1),
        ("combine", "yes"),
        ("progress", "always"),
        ("cost", 3),
        ("cost", {"alpha": [1]}),
        ("cost", {"alpha": [1], "beta": ["x"]}),
        ("buffers", "elastic"),
        ("buffers", None),
        ("buffers", {"mode": "static", "sise": 5}),
        ("buffers", {"cap": "1 kiB"}),
        ("buffers", {"size": "2 MiB", "cap": "1 MiB"}),
        ("buffers", {"size": True}),
        ("buffers", {"size": "large"}),
        ("buffers", {"reserved": 0}),
        ("timeouts.join", 0),
        ("timeouts.join", True),
        ("timeouts.join", None),
        ("timeouts.silence", "-3s"),
        ("timeouts.silence", "nan"),
        ("timeouts.silence", "3 parsecs"),
    ],
)
def test_wrong_value_is_refused(key: str, value: Any) -> None:
    with (
        dask.config.set({f"dgraph.{key}": value}),
        pytest.raises(OptionError, match=f"dgraph.{key} must be .*, not "),
    ):
        Options.read()


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("routng", "did you mean dgraph.routing"),
        ("timeouts.jion", "did you mean dgraph.timeouts.join"),
        ("join", "did you mean dgraph.timeouts.join"),
        ("time-outs", "dgraph.timeouts"),
        ("xyzzy", "known are .*routing"),
    ],
)
def test_an_unknown_key_is_told_with_the_nearest_known_one(key: str, near: str) -> None:
    with (
        dask.config.set({f"dgraph.{key}": 1}),
        pytest.warns(
            ConfigurationWarning, match=rf"^dgraph.{key} is no key .*: .*{near}"
        ) as told,
    ):
        check_keys()
    assert len(told) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda client: dg.from_edges(PATH, client=client),
        lambda client: dg.from_edges(PATH, placement="auto", client=client),
        lambda client: dg.estimate(PATH, client=client),
        lambda client: dg.topology.Topology.discover(client),
    ],
)
def test_an_unknown_key_is_told_once_a_call(client: Client, call: Callable[..., Any]) -> None:
    with (
        dask.config.set({"dgraph.routng": "direct"}),
        pytest.warns(ConfigurationWarning) as told,
    ):
        call(client)
    assert len(told) == 1


@pytest.mark.parametrize("routing", ["direct", "monitor"])
def test_an_unknown_key_is_told_once_an_algorithm(client: Client, routing: str) -> None:
    calls: list[Callable[..., Any]] = [
        lambda g: dg.bfs(g, 1),
        dg.pagerank,
        lambda g: dg.betweenness_centrality(g, k=2, seed=1),
        lambda g: g.degrees(),
        lambda g: g.to_networkx(),
    ]
    with dg.from_edges(PATH, virtual_slots=4, client=client) as g:
        for call in calls:
            with (
                dask.config.set({"dgraph.routng": "direct", "dgraph.routing": routing}),
                pytest.warns(ConfigurationWarning) as told,
            ):
                call(g)
            assert len(told) == 1


def test_an_unknown_key_is_told_once_an_awaited_call() -> None:
    async def program(client: Client) -> int:
        with (
            dask.config.set({"dgraph.routng": "direct"}),
            pytest.warns(ConfigurationWarning) as told,
        ):
            g = await dg.from_edges(PATH, client=client)  # type: ignore[misc]
        g.close()
        return len(told)

    assert asynchronously(program) == 1


def test_known_keys_are_told_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_keys()
        with dask.config.set({"dgraph.timeouts": {"join": 3, "silence": 4}}):
            check_keys()
            assert Options.read().silence_timeout == 4


@pytest.mark.parametrize(
    ("value", "options"),
    [
        ("static", BufferOptions("static")),
        ({"cap": "1 MiB"}, BufferOptions(cap=1 << 20)),
        (
            {"mode": "dynamic", "size": "64 KiB", "reserved": 2, "cap": 1 << 22},
            BufferOptions("dynamic", 1 << 16, 2, 1 << 22),
        ),
    ],
)
def test_buffers(value: Any, options: BufferOptions) -> None:
    with dask.config.set({"dgraph.buffers": value}):
        assert Options.read().buffers == options


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"buffers.cap": "4 MiB"}, BufferOptions(cap=1 << 22)),
        ({"buffers.mode": "static", "buffers.reserved": 2}, BufferOptions("static", None, 2)),
        ({"buffers": {"mode": "static"}, "buffers.size": 9}, BufferOptions("static", 9)),
        ({"buffers.cap": "4 MiB", "buffers": "static"}, BufferOptions("static")),
    ],
)
def test_buffers_by_keys_with_dots(settings: dict[str, Any], options: BufferOptions) -> None:
    with dask.config.set({f"dgraph.{key}": value for key, value in settings.items()}):
        assert Options.read().buffers == options
    assert Options.read().buffers == BufferOptions()


@pytest.mark.parametrize("key", ["mode", "size", "reserved", "cap", "cab"])
def test_a_wrong_value_of_the_buffers_by_its_key_is_refused(key: str) -> None:
    with (
        dask.config.set({f"dgraph.buffers.{key}": "elastic"}),
        pytest.raises(OptionError, match=r"dgraph\.buffers must be .*, not .*elastic"),
    ):
        Options.read()


def test_buffers_of_the_environment_and_of_a_file(tmp_path: Path) -> None:
    program = (
        "from dgraph.config import Options as O; b = O.read().buffers; print(b.mode, b.cap)"
    )
    (tmp_path / "mine.yaml").write_text("dgraph:\n  buffers: static\n")
    for given, told in [
        ({"DASK_DGRAPH__BUFFERS": "static"}, "static None"),
        ({"DASK_DGRAPH__BUFFERS__CAP": "4 MiB"}, "dynamic 4194304"),
        ({"DASK_CONFIG": str(tmp_path)}, "static None"),
    ]:
        printed = subprocess.check_output(
            [sys.executable, "-c", program], env=os.environ | given, text=True
        )
        assert printed.strip() == told


@pytest.mark.parametrize(("value", "seconds"), [("90s", 90), (5, 5), (0.5, 0.5), ("1h", 3600)])
def test_times(value: Any, seconds: float) -> None:
    with dask.config.set({"dgraph.timeouts.join": value}):
        assert Options.read().join_timeout == seconds


def test_environment_overrides() -> None:
    program = "from dgraph.config import Options; print(Options.read().combine)"
    environment = os.environ | {"DASK_DGRAPH__COMBINE": "false"}
    printed = subprocess.check_output([sys.executable, "-c", program], env=environment)
    assert printed == b"False\n"


def test_kernels_are_cached_though_neither_package_nor_home_can_be_written(
    tmp_path: Path,
) -> None:
    copy = shutil.copytree(
        PACKAGE, tmp_path / "dgraph", ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in (copy, *copy.glob("**/")):
        (folder / "__pycache__").touch()  # a file where a folder should be stops even root
    environment = {
        name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"
    }
    environment |= {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "TMPDIR": str(tmp_path)}
    program = "import dgraph, dgraph.shard.bits, numba; print(numba.config.CACHE_DIR)"
    printed = subprocess.check_output(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, text=True
    )
    cache = tmp_path / f"dgraph-kernels-{os.getuid()}"
    assert Path(printed.strip()) == cache
    assert list(cache.iterdir())
    assert cache.stat().st_mode & 0o777 == 0o700


SHAPE = """
from typing import NamedTuple

class Shape(NamedTuple):
    side: int
"""
KERNEL = """
import numba
from {} import Shape

@numba.njit(cache=True)
def area(shape):
    return shape.side * shape.side
"""


def test_kernels_are_compiled_anew_where_the_module_of_a_type_has_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)  # so it is beside the source
    monkeypatch.setattr("numba.config.CACHE_DIR", "")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("squares_of_a_test", "shapes"):
        (tmp_path / f"{name}.py").write_text(SHAPE)
        (tmp_path / "kernel_of_a_test.py").write_text(KERNEL.format(name))
        importlib.invalidate_caches()
        kernel = importlib.import_module("kernel_of_a_test")
        assert kernel.area(kernel.Shape(3)) == 9
        assert not kernel.area.stats.cache_hits
        (tmp_path / f"{name}.py").unlink()
        del sys.modules[name], sys.modules["kernel_of_a_test"]
    assert list(tmp_path.glob("__pycache__/kernel_of_a_test.area*.nbi"))


def test_folder_that_others_can_enter_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    laid = tmp_path / f"dgraph-kernels-{os.getuid()}"
    laid.mkdir()
    laid.chmod(0o777)
    folder = _private_folder()
    assert folder != laid
    assert folder.stat().st_mode & 0o777 == 0o700

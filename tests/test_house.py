"""The house stands as it was laid out: folders, links, build table, layers, sizes, wheel."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import dgraph

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINKS = {"dgraph.algorithms": "algorithms", "dgraph.topology": "topology"}

#: A module imports from its own line and from the lines above, never from those below.
LAYERS = [
    "command distinct errors kernels plurals",
    "elsewhere keywords warn",
    "config events tables",
    "clients output",
    "topology",
    "vertices",
    "arguments named_ids sketch",
    "edges",
    "shard",
    "exchange",
    "engine",
    "build",
    "census facts listing mpi policies",
    "estimate home",
    "absorb convert figures results store",
    "ingest",
    "graph",
    "placement",
    "create",
    "algorithms",
    "graph500 gnn",
    "__init__",
    "job",
    "cli_interrupt",
    "cli_cluster cli_messages",
    "cli_placement cli_topology",
    "cli demo __main__",
]

#: What some users do not have or do not want to wait for.
OPTIONAL = {"matplotlib", "mpi4py", "networkx", "polars", "pymetis", "torch", "torch_geometric"}


def find_modules() -> dict[str, Path]:
    """Return the file of every module of the package; a glob does not follow the links."""
    return {
        ".".join((package, *path.relative_to(ROOT / folder).with_suffix("").parts)): path
        for package, folder in ({"dgraph": "dgraph"} | LINKS).items()
        for path in (ROOT / folder).glob("**/*.py")
    }


MODULES = find_modules()
TREES = {module: ast.parse(path.read_text()) for module, path in MODULES.items()}


def imported_by(module: str) -> Iterator[str]:
    """Yield the modules of the package that a module imports, anywhere in it."""
    for node in ast.walk(TREES[module]):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names += [str(node.module)] * any(name not in MODULES for name in names)
        for name in names:
            yield from {name, f"{name}.__init__"} & MODULES.keys()


IMPORTS = {module: set(imported_by(module)) - {module} for module in MODULES}


def layer(module: str) -> int:
    """Return the line of LAYERS on which a module stands."""
    part = module.split(".")[1]
    found = [line for line, parts in enumerate(LAYERS) if part in parts.split()]
    assert found, f"{module} has no place in LAYERS"
    return found[0]


def test_links_lead_to_the_folders() -> None:
    for package, folder in LINKS.items():
        assert os.readlink(ROOT / package.replace(".", "/")) == f"../{folder}"
        assert (ROOT / folder).is_dir()


def test_build_table_names_every_package() -> None:
    table = PROJECT["tool"]["setuptools"]
    inits = {module for module in MODULES if module.endswith(".__init__")}
    assert {f"{package}.__init__" for package in table["packages"]} == inits
    assert table["package-dir"] == {"dgraph": "dgraph"} | LINKS


def test_versions_agree() -> None:
    assert dgraph.__version__ == PROJECT["project"]["version"]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_point_one_way(module: str) -> None:
    upwards = {other for other in IMPORTS[module] if layer(other) > layer(module)}
    assert not upwards


def test_imports_have_no_cycle() -> None:
    TopologicalSorter(IMPORTS).prepare()


def test_import_loads_nothing_optional() -> None:
    program = "import sys, dgraph; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True)
    assert not OPTIONAL & set(loaded.split())


@pytest.mark.parametrize("module", sorted(MODULES.keys() - {"dgraph.cli", "dgraph.demo"}))
def test_library_does_not_print(module: str) -> None:
    called = [node.func for node in ast.walk(TREES[module]) if isinstance(node, ast.Call)]
    assert "print" not in [name.id for name in called if isinstance(name, ast.Name)]


@pytest.mark.parametrize(
    "module", sorted(name for name in MODULES if name.startswith("dgraph.exchange."))
)
def test_frames_are_never_unpickled(module: str) -> None:
    words = {node.id for node in ast.walk(TREES[module]) if isinstance(node, ast.Name)}
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.ImportFrom):
            words |= {*str(node.module).split("."), *(alias.name for alias in node.names)}
        elif isinstance(node, ast.Import):
            words |= {part for alias in node.names for part in alias.name.split(".")}
    assert not words & {"pickle", "cloudpickle", "marshal", "loads", "deserialize", "eval"}


def test_files_are_short() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in MODULES.values()}
    assert not {path: length for path, length in lengths.items() if length > 400}


def test_wheel_holds_every_module_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", minversion="77", reason="the build needs it")
    left_out = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info")
    source = shutil.copytree(
        ROOT,
        tmp_path / "source",
        symlinks=True,
        ignore=lambda folder, names: left_out(folder, names) if Path(folder) == ROOT else [],
    )
    hook = "from setuptools.build_meta import build_wheel; build_wheel('..')"
    subprocess.run([sys.executable, "-c", hook], cwd=source, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    info = wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info/"
    modules = {module.replace(".", "/") + ".py" for module in MODULES}
    data = {"dgraph/py.typed", "dgraph/dgraph.yaml"}
    assert {name for name in names if not name.startswith(info)} == modules | data
    assert f"{info}licenses/LICENSE" in names

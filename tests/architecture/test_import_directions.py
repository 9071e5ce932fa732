"""Imports point one way, also those inside functions."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.layers import (
    BINDING_CRATES,
    CRATES,
    IO_CRATES,
    LAYERS,
    SIBLINGS,
    STATE_MACHINES,
    layer_of,
)

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "freestone"
MODULES = sorted(PACKAGE.rglob("*.py"))
MANIFESTS = sorted((ROOT / "crates").glob("*/Cargo.toml"))
RUST_TESTS = "#[cfg(test)]"
OUTSIDE = re.compile(
    r"std::(net|fs|thread|os::unix)\b|\b(Instant|SystemTime)::now|\b(mio|tokio|libc)::"
)


def dotted(path: Path) -> list[str]:
    """Return the names that lead from `freestone` to the module in `path`."""
    names = path.relative_to(PACKAGE).with_suffix("").parts
    return list(names) if len(names) == 1 else [name for name in names if name != "__init__"]


def is_module(names: list[str]) -> bool:
    """Tell whether `names` lead from `freestone` to a module, or to a part in the table."""
    path = PACKAGE.joinpath(*names)
    known = len(names) == 1 and any(names[0] in layer for layer in LAYERS)
    return known or path.is_dir() or path.with_suffix(".py").is_file()


def resolved(names: list[str]) -> str:
    """Return the module that `names`, the last one perhaps an attribute, are from."""
    while names and not is_module(names):
        names = names[:-1]
    return ".".join(names) or "__init__"


def imported(path: Path, source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the module below `freestone` of every import in `source`."""
    inside = dotted(path)
    is_package = path.name == "__init__.py"
    folder = inside if is_package and path.parent != PACKAGE else inside[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            paths = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = ["freestone", *folder[: len(folder) + 1 - node.level]] if node.level else []
            start += node.module.split(".") if node.module else []
            paths = [[*start, alias.name] for alias in node.names]
        else:
            continue
        for names in paths:
            if names[0] == "freestone":
                yield node.lineno, resolved(names[1:])


def violations(path: Path, source: str) -> list[str]:
    """Describe every import in `source` that points upward or to a sibling surface."""
    own = ".".join(dotted(path))
    surface = own.split(".")[0]
    found = []
    for line, module in imported(path, source):
        other = module.split(".")[0]
        sideways = surface in SIBLINGS and other in SIBLINGS and surface != other
        if layer_of(module) > layer_of(own) or sideways:
            found.append(f"{path}:{line}: {own} may not import freestone.{module}")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: ".".join(dotted(path)))
def test_a_module_imports_only_downward(path: Path) -> None:
    assert violations(path, path.read_text()) == []


@pytest.mark.parametrize(
    ("module", "source", "count"),
    [
        ("cluster.py", "from freestone import errors", 0),
        ("errors.py", "def f():\n    from freestone.cluster import Cluster", 1),
        ("errors.py", "import freestone.cluster", 1),
        ("hosts/local.py", "from .. import cluster", 1),
        ("hosts/local.py", "from . import ssh", 0),
        ("hosts/__init__.py", "from .local import start", 0),
        ("graph/order.py", "from freestone.events import fire", 1),
        ("graph/order.py", "from ..graph import rewrite", 0),
        ("cluster.py", "import freestone as fs", 1),
        ("demo/run.py", "import freestone as fs", 0),
        ("__init__.py", "from .cluster import Cluster", 0),
        ("hosts/local.py", "from freestone.observe import control", 0),
        ("hosts/local.py", "from freestone.observe import progress", 1),
        ("cluster.py", "import numpy.linalg", 0),
    ],
)
def test_the_walk_sees_what_it_should(module: str, source: str, count: int) -> None:
    assert len(violations(PACKAGE / module, source)) == count


def test_no_part_is_in_two_layers() -> None:
    assert sum(map(len, LAYERS)) == len(frozenset().union(*LAYERS))


def dependencies(manifest: Path) -> set[str]:
    """Return the names of what a crate is built with, its tests' dependencies left out."""
    tables = tomllib.loads(manifest.read_text())
    targets = [tables, *tables.get("target", {}).values()]
    return {name for table in targets for name in table.get("dependencies", {})}


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)
def test_a_crate_depends_only_downward(manifest: Path) -> None:
    crate = manifest.parent.name
    found = dependencies(manifest)
    inside = {name.removeprefix("freestone-") for name in found if name.startswith("freestone-")}
    assert inside <= CRATES[crate]
    assert crate in BINDING_CRATES or not any(name.startswith("pyo3") for name in found)
    assert crate != "base" or not found & IO_CRATES


@pytest.mark.parametrize("folder", STATE_MACHINES)
def test_a_state_machine_has_no_clock_socket_file_or_thread(folder: str) -> None:
    found = [
        f"{path}:{number}: {line.strip()}"
        for path in sorted((ROOT / "crates" / folder).rglob("*.rs"))
        for number, line in enumerate(path.read_text().split(RUST_TESTS)[0].splitlines(), 1)
        # The simulation around a state machine measures it, with a real clock.
        if OUTSIDE.search(line) and "simulate" not in path.parts
    ]
    assert found == []

"""Imports point one way, also those inside functions."""

import ast
import re
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.architecture.layers import (
    BINDING_CRATES,
    CRATES,
    INSIDE,
    IO_CRATES,
    LAYERS,
    SIBLINGS,
    STATE_MACHINES,
    may_import,
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
    return [
        f"{path}:{line}: {own} may not import freestone.{module}"
        for line, module in imported(path, source)
        if not may_import(own, module)
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: ".".join(dotted(path)))
def test_a_module_imports_only_downward(path: Path) -> None:
    assert violations(path, path.read_text()) == []


def test_no_room_is_in_two_layers() -> None:
    for layers in (LAYERS, *INSIDE.values()):
        assert sum(map(len, layers)) == len(frozenset().union(*layers))


def test_all_in_a_room_with_layers_has_one() -> None:
    for room, layers in INSIDE.items():
        folder = PACKAGE.joinpath(*room.split("."))
        children = {path.stem for path in folder.iterdir() if path.suffix == ".py" or is_room(path)}
        assert children - {"__init__"} == frozenset().union(*layers)


def is_room(path: Path) -> bool:
    return (path / "__init__.py").is_file()


def module_file(module: str) -> Path:
    """Return the path of a module, or of a new one in a room."""
    path = PACKAGE.joinpath(*module.split("."))
    return path / "planted.py" if path.is_dir() else path.with_suffix(".py")


def pairs(layers: tuple[frozenset[str], ...], room: str = "") -> Iterator[tuple[str, str]]:
    """Yield a room below and one above it, for each two layers."""
    for number, lower in enumerate(layers):
        for upper in layers[number + 1 :]:
            below, above = min(lower - {"_native"}), min(upper)
            if not (PACKAGE.joinpath(*room.split("."), *above.split("."))).exists():
                continue
            yield f"{room}.{below}".strip("."), f"{room}.{above}".strip(".")


FORBIDDEN = [
    *pairs(LAYERS),
    *(pair for room, layers in INSIDE.items() for pair in pairs(layers, room)),
    *((one, other) for one in sorted(SIBLINGS) for other in sorted(SIBLINGS) if one != other),
]
FORMS = {
    "whole": "import freestone.{module}",
    "from": "from freestone.{module} import anything",
    "of_package": "from freestone.{parent} import {name}",
    "as": "import freestone.{module} as other",
    "lazy": "def f():\n    from freestone.{module} import anything",
    "types": "if TYPE_CHECKING:\n    from freestone.{module} import anything",
    "attempt": "try:\n    import freestone.{module}\nexcept ImportError:\n    pass",
    "relative": "from {dots}{module} import anything",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("below", "above"), FORBIDDEN, ids=lambda name: name)
def test_a_planted_import_is_found(below: str, above: str, form: str) -> None:
    path = module_file(below)
    parent, _, name = above.rpartition(".")
    dots = "." * len(path.relative_to(PACKAGE).parts)
    source = FORMS[form].format(module=above, parent=parent, name=name, dots=dots)
    source = source.replace("from freestone. import", "from freestone import")
    assert len(violations(path, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("cluster/cluster.py", "from freestone import errors"),
        ("hosts/local.py", "from . import ssh"),
        ("hosts/__init__.py", "from .local import start"),
        ("graph/order.py", "from ..graph import rewrite"),
        ("demo/run.py", "import freestone as fs"),
        ("__init__.py", "from .cluster import Cluster"),
        ("hosts/local.py", "from freestone.observe import control"),
        ("lang/run/local.py", "from freestone.lang.front.graph.graph import Op"),
        ("cluster/cluster.py", "import numpy.linalg"),
    ],
)
def test_what_is_allowed_is_not_refused(module: str, source: str) -> None:
    assert violations(PACKAGE / module, source) == []


def runtime_imports(path: Path) -> Iterator[str]:
    """Yield the modules below `freestone` that one imports when it runs, lazy ones included."""
    source = path.read_text()
    tree = ast.parse(source)
    typing_only = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for line in range(node.lineno, node.body[-1].end_lineno + 1)  # type: ignore[operator]
    }
    for line, module in imported(path, source):
        if line not in typing_only:
            yield module


def test_no_modules_import_each_other() -> None:
    graph = {".".join(dotted(path)): set(runtime_imports(path)) for path in MODULES}
    sorter = TopologicalSorter({one: others - {one} for one, others in graph.items()})
    sorter.prepare()


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
        if OUTSIDE.search(line)
    ]
    assert found == []

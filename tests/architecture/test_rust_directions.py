"""Modules of Rust import one way: crates, the folders of the core, and those of the manager."""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.architecture import rust
from tests.architecture.layers import MANAGER, MANAGER_DATA, ROOMS

CRATES = Path(__file__).resolve().parents[2] / "crates"


def room_of(names: list[str]) -> str:
    """Return the room that holds an item, given by the names that lead to it."""
    if names[:2] == ["core", "manager"] and len(names) > 2 and names[2] in MANAGER_DATA:
        return "core::manager::data"
    for length in range(len(names), 0, -1):
        known = "::".join(names[:length])
        if known in ROOMS:
            return known
    raise LookupError(f"{'::'.join(names)} has no place in ROOMS")


def is_in(room: str, other: str) -> bool:
    """Tell whether a room is another one, or inside of it."""
    return room == other or room.startswith(f"{other}::")


def is_allowed(own: str, other: str) -> bool:
    """Tell whether `own` may import from `other`."""
    # The manager's folders are inside of it, and may still not import one another upward.
    below = ROOMS[own]
    return is_in(other, own) or any(
        other == room if room == "core::manager" and is_in(own, room) else is_in(other, room)
        for room in below
    )


def sources() -> dict[Path, str]:
    """Return the files of all crates that are built without tests, and what is in them."""
    found = {path: path.read_text() for path in sorted(CRATES.glob("*/src/**/*.rs"))}
    tests = rust.files_of_tests(found)
    return {path: source for path, source in found.items() if path not in tests}


SOURCES = sources()


def folder_of(path: Path) -> Path:
    """Return the `src` folder of the crate of a file."""
    return CRATES / path.relative_to(CRATES).parts[0] / "src"


def own_room(path: Path) -> str:
    """Return the room of a file."""
    folder = folder_of(path)
    return room_of([folder.parent.name, *rust.module_of(path, folder)])


def violations(path: Path, source: str) -> list[str]:
    """Describe every import in `source` that points upward."""
    own = own_room(path)
    return [
        f"{path}:{line}: {own} may not import {'::'.join(names)}"
        for line, names in rust.imported(path, folder_of(path), source)
        if not is_allowed(own, room_of(names))
    ]


def files_of(crate: str) -> dict[Path, str]:
    """Return the files of a crate that are built without tests, and what is in them."""
    return {path: source for path, source in SOURCES.items() if CRATES / crate in path.parents}


NAMES = sorted({path.relative_to(CRATES).parts[0] for path in SOURCES})


def circle(files: dict[Path, str], crate: str) -> list[Path]:
    """Return files of a crate that import each other in a circle; none if there are none."""
    try:
        TopologicalSorter(rust.files_imported(files, CRATES / crate / "src")).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("crate", NAMES)
def test_no_files_import_each_other(crate: str) -> None:
    assert circle(files_of(crate), crate) == []


def test_a_planted_circle_is_found() -> None:
    files = files_of("events")
    payload = CRATES / "events/src/payload.rs"
    planted = {**files, payload: f"use crate::rank::task::Label;\n{files[payload]}"}
    found = circle(planted, "events")
    assert {payload, CRATES / "events/src/rank/task.rs"} <= {*found}


@pytest.mark.parametrize("crate", NAMES)
def test_a_module_imports_only_downward(crate: str) -> None:
    assert [
        one for path, source in files_of(crate).items() for one in violations(path, source)
    ] == []


def forms(path: Path, target: str) -> Iterator[str]:
    """Yield an import of a room into a file, in each form that the language has."""
    folder = folder_of(path)
    crate, *rest = target.split("::")
    if rest[-1:] == ["data"]:
        rest[-1] = "table"
    is_own = crate == folder.parent.name
    root = "crate" if is_own else f"freestone_{crate.replace('-', '_')}"
    names = [root, *rest, "planted"]
    whole = "::".join(names)
    yield f"use {whole};"
    yield f"use {whole} as other;"
    yield f"pub use {whole};"
    yield f"pub(in crate::manager) use {whole};"
    yield f"use {whole}::*;"
    yield f"use {root}::{{{'::'.join(names[1:])}::{{self, One as Other}}}};"
    yield f"use {root}::{{\n    {'::'.join(names[1:])},\n}};"
    yield f"use {{std::fmt, {whole}}};"
    yield f"use {' :: /* a note; */ '.join(names)} ;"
    yield f"fn f() {{ use {whole}; }}"
    yield f"fn f() -> {whole}::One {{ {whole}::f() }}"
    yield f"struct One(Vec<{whole}::Two>);"
    yield f'fn f() {{ println!("{{}}", {whole}::f()); }}'
    yield f"fn f(quote: char) -> bool {{ quote == '\"' || {whole}::f() }}"
    yield f"#[cfg(test)]\nmod tests {{ fn f() {{}} }}\nuse {whole};"
    if is_own:
        inside = rust.module_of(path, folder)
        yield f"use {'super::' * len(inside) or 'self::'}{'::'.join(names[1:])};"
        yield f"use self::{'super::' * len(inside)}{'::'.join(names[1:])};"
    else:
        yield f"extern crate {root} as other;"


@pytest.mark.parametrize("own", sorted(ROOMS))
def test_a_forbidden_import_is_found_in_every_form(own: str) -> None:
    files = [path for path in SOURCES if own_room(path) == own]
    path = min(files, key=lambda path: len(SOURCES[path]))
    source = SOURCES[path]
    forbidden = [other for other in ROOMS if not is_allowed(own, other)]
    missed = [
        (other, form)
        for other in forbidden
        for form in forms(path, other)
        for planted in (f"{form}\n{source}", f"{source}\n{form}\n")
        if not violations(path, planted)
    ]
    assert forbidden
    assert missed == []


@pytest.mark.parametrize(
    "harmless",
    [
        "// use crate::client::Row;",
        "/* use crate::client::Row; */",
        "/// See [`crate::manager::client`].",
        'fn f() -> &\'static str { "use crate::manager::client::Row;" }',
        'fn f() -> &\'static str { r#"a " use crate::manager::client::Row;"# }',
        "#[cfg(test)]\nmod tests { fn f() {} use crate::manager::client::Row; }",
        "pub(in crate::manager) fn f() {}",
        "use crate::manager::Manager;",
        "use super::blocks::Block;",
        "use std::net::TcpStream;",
    ],
)
def test_what_is_no_import_upward_is_not_taken_for_one(harmless: str) -> None:
    path = CRATES / "core" / "src" / "manager" / "graph" / "tasks.rs"
    assert violations(path, f"{harmless}\n{SOURCES[path]}") == []


def test_tests_are_not_what_is_built() -> None:
    manager = CRATES / "core" / "src" / "manager"
    assert manager / "mod.rs" in SOURCES
    assert [path for path in SOURCES if path.stem.endswith("tests") or "tests" in path.parts] == []


def test_each_folder_of_the_manager_has_a_place() -> None:
    folders = {path.parent.name for path in (CRATES / "core/src/manager").glob("*/mod.rs")}
    assert folders == {*MANAGER[1:]}

"""Which module of which crate imports what, read from `use` and from paths in the code."""

import re
from collections.abc import Iterator
from pathlib import Path

_STRINGS = re.compile(
    r"""r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\[^']+|[^'\\])'|//[^\n]*|/\*.*?\*/""", re.DOTALL
)
_TEST_FILES = re.compile(
    r'#\[cfg\(test\)\]\s*(?:#\[path = "(?P<path>[^"]+)"\]\s*)?'
    r"(?:pub(?:\(\w+\))? )?mod (?P<name>\w+);"
)
_TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*mod \w+ \{")
_USE = re.compile(r"\buse\s+([^;]+);")
_VISIBILITY = re.compile(r"\bpub\s*\([^)]*\)")
_PATH = re.compile(r"\b(?:crate|self|super|freestone_\w+)(?:\s*::\s*\w+)+")
_CRATE = re.compile(r"\bextern\s+crate\s+(\w+)")


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found.group())


def code_of(source: str) -> str:
    """Return `source` without comments, texts, visibilities and tests, with its lines."""
    code = _VISIBILITY.sub(_blank, _STRINGS.sub(_blank, _TEST_FILES.sub(_blank, source)))
    while tests := _TEST_MODULE.search(code):
        depth, end = 1, tests.end()
        while depth and end < len(code):
            depth += (code[end] == "{") - (code[end] == "}")
            end += 1
        code = code[: tests.start()] + "\n" * code.count("\n", tests.start(), end) + code[end:]
    return code


def files_of_tests(sources: dict[Path, str]) -> set[Path]:
    """Return the files that only tests are built from, of files and what is in them."""
    found = set()
    for path, source in sources.items():
        for declared in _TEST_FILES.finditer(source):
            inside = path.parent if path.stem in ("mod", "lib") else path.with_suffix("")
            if declared["path"]:
                found.add(path.parent / declared["path"])
                continue
            folder = inside / declared["name"]
            found.add(folder.with_suffix(".rs"))
            found.update(other for other in sources if folder in other.parents)
    return found


def module_of(path: Path, source_folder: Path) -> list[str]:
    """Return the names that lead from the crate to the module in `path`."""
    names = list(path.relative_to(source_folder).with_suffix("").parts)
    return names[:-1] if names[-1] in ("mod", "lib", "main") else names


def branches(tree: str) -> Iterator[list[str]]:
    """Yield every path of a `use`, such as `a::{b, c::{self, d as e}}`."""
    head, brace, rest = tree.partition("{")
    names = [name.strip() for name in head.split("::") if name.strip()]
    if not brace:
        yield [re.split(r"\s+as\s+", name)[0].removeprefix("r#") for name in names]
        return
    depth, start = 0, 0
    inside = rest[: rest.rindex("}")]
    for at, letter in enumerate([*inside, ","]):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            part = inside[start:at].strip()
            start = at + 1
            for branch in branches(part) if part else ():
                yield [*names, *branch]


def resolved(names: list[str], crate: str, inside: list[str]) -> list[str] | None:
    """Return a path from its crate on, or none if it leads to no crate of the workspace."""
    if names[0].startswith("freestone_"):
        return [names[0].removeprefix("freestone_").replace("_", "-"), *names[1:]]
    if names[0] not in ("crate", "self", "super"):
        return None
    start = [] if names[0] == "crate" else list(inside)
    for name in names:
        if name == "super":
            start = start[:-1]
        elif name not in ("crate", "self"):
            break
    rest = [name for name in names if name not in ("crate", "self", "super")]
    return [crate, *start, *rest]


def imported(path: Path, source_folder: Path, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the full path of all that a file uses of the workspace."""
    crate, inside = source_folder.parent.name, module_of(path, source_folder)
    code = code_of(source)
    for pattern in (_USE, _PATH, _CRATE):
        for found in pattern.finditer(code):
            line = code.count("\n", 0, found.start()) + 1
            for names in branches(found.group(pattern.groups)):
                full = resolved(names, crate, inside) if names else None
                if full is not None:
                    yield line, full


def files_imported(sources: dict[Path, str], source_folder: Path) -> dict[Path, set[Path]]:
    """Return which files of a crate each of them imports from."""
    files = {(source_folder.parent.name, *module_of(path, source_folder)): path for path in sources}

    def file_of(names: list[str]) -> Path | None:
        known = (names[:length] for length in range(len(names), 0, -1))
        return next((files[tuple(name)] for name in known if tuple(name) in files), None)

    return {
        path: {
            other
            for _, names in imported(path, source_folder, source)
            if (other := file_of(names)) not in (None, path)
        }
        for path, source in sources.items()
    }

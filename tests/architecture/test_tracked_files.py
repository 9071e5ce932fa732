"""What is in the repository is about the project, not about a machine that it was made on."""

import re

from tests.architecture.repository import ROOT, git, tracked
from tests.conftest import SLOWEST

LONGEST = 600
# Nobody has to understand these as a whole: locks, and a list that grows with each release.
LISTS = re.compile(r"(Cargo\.lock|requirements/.*\.txt|LICENSE|CHANGELOG\.md|measured/.*\.json)$")
# Written in pieces, so that this file does not hold what it looks for.
MACHINE_PATHS = re.compile("|".join(["/wo" + "rk/", "/ro" + "ot/", "/ho" + r"me/\w", "/op" + "t/"]))
REGISTRIES = re.compile(
    "|".join([r"pypi\." + "org", r"pythonhosted\." + "org", r"static\.crates\." + "io"])
    + r"|--(extra-)?(index"
    + r"-url|find"
    + r"-links)[ =]\S*://"
)
CONFLICTS = re.compile(r"^(<{7}|>{7}) ")


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    """Return the tracked lines in which `pattern` occurs."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in tracked()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_file_names_a_place_on_a_developers_machine() -> None:
    assert lines_with(MACHINE_PATHS) == []


def test_no_file_names_a_registry_host() -> None:
    assert lines_with(REGISTRIES) == []


def test_no_file_holds_the_marks_of_a_merge() -> None:
    assert lines_with(CONFLICTS) == []


def test_no_file_is_too_long() -> None:
    long = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in tracked()
        if not LISTS.search(str(path.relative_to(ROOT)))
    }
    assert {name: length for name, length in long.items() if length > LONGEST} == {}


def test_files_that_are_no_text_are_pictures_of_the_docs() -> None:
    """What a program leaves in the folder where it ran belongs to nobody else."""
    listed = git("ls-files", "-z").split("\0")[:-1]
    paths = [name for name in listed if (ROOT / name).is_file()]
    binary = [name for name in paths if b"\0" in (ROOT / name).read_bytes()]
    assert [name for name in binary if not name.startswith("docs/images/")] == []


def test_the_slowest_files_are_there() -> None:
    assert [file for file in SLOWEST if not (ROOT / file).is_file()] == []

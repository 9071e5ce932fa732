"""Decisions are numbered records; the code that they explain refers to records that exist."""

import re
from pathlib import Path

from tests.architecture.repository import ROOT, tracked

FOLDER = ROOT / "docs" / "decisions"
REFERENCE = re.compile(r"docs/decisions/(\d{3}[\w-]*)")
SECTIONS = ["Context", "Decision", "Reason", "Consequences"]


def records() -> list[Path]:
    return sorted(path for path in FOLDER.glob("*.md") if path.name != "index.md")


def test_records_are_numbered_one_after_the_other() -> None:
    assert [int(path.name[:3]) for path in records()] == list(range(1, len(records()) + 1))


def test_a_record_has_its_number_a_date_and_four_sections() -> None:
    for path in records():
        title, _, date, *_ = path.read_text(encoding="utf-8").splitlines()
        assert title.startswith(f"# {path.name[:3]}. "), path.name
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", date), path.name
        found = re.findall(r"^## (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert found == SECTIONS, path.name


def test_the_index_lists_every_record() -> None:
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"\]\((\d{3}-[^)]+)\)", index)
    assert sorted(listed) == [path.name for path in records()]


def test_references_in_code_lead_to_records() -> None:
    known = {path.stem for path in records()}
    referred = {
        name
        for path in tracked()
        if path.suffix in {".py", ".rs"} and path != Path(__file__)
        for name in REFERENCE.findall(path.read_text(encoding="utf-8"))
    }
    assert referred
    assert referred <= known, f"no such records: {sorted(referred - known)}"

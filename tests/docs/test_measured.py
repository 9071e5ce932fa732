"""Pages of performance show what the kept reports of benchmarks say."""

from __future__ import annotations

import json
import operator
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import __main__ as command
from benchmarks import common, kept, plots, startup

REPORTS = kept.reports()
MARKS = [
    found[2]
    for path in kept.PERFORMANCE.glob("*.md")
    for found in kept.MARKED.finditer(path.read_text("utf-8"))
]
PARTS = [plots.Part("kernel", 3.0, [plots.Part("write", 2.0), plots.Part("read", 1.0)])]
FLAME = plots.Flame("Steps", "µs", PARTS)
COMPARE = {">=": operator.ge, "<=": operator.le}
DOTS = plots.Dots(
    "Calls", [plots.Panel("map", "a second", {"a": 2.0, "b": 300.0}, {"c": 9})], ["a"]
)
LINES = plots.Lines("Sweep", {"x": [plots.Line("own", [1, 10], [3.0, 4.0])]}, ["n", "s"], name="-x")


def test_every_benchmark_has_its_place_on_one_page() -> None:
    assert sorted(MARKS) == sorted(command.NAMES)


def test_every_page_shows_a_plot() -> None:
    for path in kept.pages():
        assert "](measured/" in path.read_text("utf-8"), (
            f"{path.name}: no report is kept of any mark"
        )


def all_reports() -> Iterator[Any]:
    """Yield each report that is kept, and its file."""
    for name, report in REPORTS.items():
        for path, content in {kept.file_of(name): report, **kept.others(name)}.items():
            yield pytest.param(path, content, id=str(path.relative_to(kept.FOLDER)))


@pytest.mark.parametrize(("path", "report"), list(all_reports()))
def test_a_report_says_how_it_was_measured(path: Path, report: dict[str, Any]) -> None:
    name = path.stem
    assert report["benchmark"] == name
    assert kept.file_on(name, report["machine"]["cpu"]) == path
    assert report["machine"]["cpu"] not in ("", "?")
    assert report["command"].startswith(f"python -m benchmarks.{name}")
    assert report["quick"] == ("--quick" in report["command"])
    assert re.fullmatch(r"[0-9a-f]{12}\+?", report["commit"])
    assert report["pictures"]


@pytest.mark.parametrize(("path", "report"), list(all_reports()))
def test_a_claim_holds_if_its_value_is_what_was_wanted(path: Path, report: dict[str, Any]) -> None:
    for claim in report["claims"]:
        value, (sign, _, wanted) = claim["value"], claim["wanted"].partition(" ")
        if sign in COMPARE and value is not None:
            # The text of what was wanted has six digits.
            slack = 1e-5 * abs(float(wanted)) * (1 if sign == "<=" else -1)
            holds = COMPARE[sign](value, float(wanted) + (slack if claim["holds"] else -slack))
            assert claim["holds"] == holds, claim


@pytest.mark.parametrize(("path", "report"), list(all_reports()))
def test_pictures_are_up_to_date(path: Path, report: dict[str, Any]) -> None:
    for file, picture in common.pictures(report, path).items():
        assert file.read_text("utf-8") == plots.draw(picture), "run `make plots`"


def test_nothing_else_lies_beside_the_reports() -> None:
    assert {path for path in kept.FOLDER.rglob("*") if path.is_file()} == kept.files()
    assert set(REPORTS) <= set(command.NAMES)


def test_pages_are_up_to_date() -> None:
    for path in kept.pages():
        text = path.read_text("utf-8")
        assert text == kept.page(text), "run `make plots`"
    assert kept.CLAIMS.read_text("utf-8") == kept.claims(), "run `make plots`"


@pytest.mark.parametrize("picture", [DOTS, LINES, FLAME])
def test_a_picture_is_drawn_from_json_alone(picture: plots.Picture) -> None:
    found = plots.read(json.loads(json.dumps(plots.written(picture))))
    svg = plots.draw(found)
    assert svg == plots.draw(picture)
    assert picture.title in svg
    assert "prefers-color-scheme:dark" in svg
    # Other colours would not follow the reader's choice.
    body = svg.partition("</style>")[2]
    assert not set(re.findall(r"#[0-9a-f]{6}", body)) - set(plots.COLOURS)


def test_what_was_not_measured_is_not_drawn() -> None:
    assert plots.Dots("", [plots.Panel("", "", {})], []).is_empty
    assert plots.Lines("", {"x": [plots.Line("", [], [])]}, ["", ""]).is_empty
    assert plots.Flame("", "", []).is_empty


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_reports_are_written_as_json(value: Any) -> None:
    assert json.loads(common.text_of(value)) == value


def test_the_command_is_as_it_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["calls.py", "--json", "a.json", "--only", "MPI in C"])
    assert common.command("calls") == "python -m benchmarks.calls --only 'MPI in C'"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder in place of that of the kept reports, with one page above it."""
    found = tmp_path / "measured"
    monkeypatch.setattr(common, "ROOT", tmp_path)
    for name, path in {"PERFORMANCE": tmp_path, "FOLDER": found}.items():
        monkeypatch.setattr(kept, name, path)
    monkeypatch.setattr(kept, "CLAIMS", tmp_path / "claims.md")
    (tmp_path / "page.md").write_text("before\n<!-- measured: calls -->\n<!-- end -->\nafter\n")
    monkeypatch.setattr(subprocess, "run", run_benchmark)
    return found


def run_benchmark(words: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
    """Write a report as a benchmark does."""
    if words[0] == "git":
        return subprocess.CompletedProcess(words, 1, "")
    _, _, module, *given_ = words
    name = module.removeprefix("benchmarks.")
    options = common.options(name, common.parser(name, "How?").parse_args(given_))
    report = common.Report("How?", claims=[common.at_least("a", 2.0, 1.0, "x")], pictures=[DOTS])
    common.write(report, options, common.machine())
    return subprocess.CompletedProcess(words, 0)


def test_what_is_kept_is_on_the_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--keep", "--quick", "calls"])
    assert command.main() == 0
    page = folder.parent / "page.md"
    assert "![Calls](measured/calls.svg)" in page.read_text()
    assert "**a quick round, shorter than a full one**" in page.read_text()
    assert "1 of 1 [claims](claims.md#calls) hold." in page.read_text()
    assert "| a | 2 x | >= 1 x | yes |" in (folder.parent / "claims.md").read_text()
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--keep", "calls", "--rounds", "1"])
    assert command.main() == 0
    assert "a full run" in page.read_text()
    kept_text = page.read_text()
    kept.draw()
    kept.rewrite()
    assert page.read_text() == kept_text


def test_reports_of_another_processor_are_kept_beside_the_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = common.machine()
    measured = {"AMD EPYC": 2.0, "Intel(R) Xeon(R) Processor @ 2 GHz": 0.5}

    def run(words: list[str], **given: Any) -> subprocess.CompletedProcess[str]:
        done = run_benchmark(words, **given)
        if words[0] != "git":
            path = Path(words[words.index("--json") + 1])
            found = json.loads(path.read_text())
            value = measured[found["machine"]["cpu"]]
            found["claims"][0] |= {"value": value, "holds": value >= 1}
            path.write_text(json.dumps(found))
        return done

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--keep", "--quick", "calls"])
    # Again, too: each replaces its own.
    for cpu in [*measured, *measured]:
        monkeypatch.setattr(common, "machine", lambda cpu=cpu: here | {"cpu": cpu})
        assert command.main() == 0
    files = {path for path in folder.rglob("*") if path.is_file()}
    own = folder / "intel-xeon"
    assert files == {
        folder / "calls.json",
        folder / "calls.svg",
        own / "calls.json",
        own / "calls.svg",
    }
    page = (folder.parent / "page.md").read_text()
    assert "1 of 1 [claims](claims.md#calls) hold." in page
    assert (
        "([JSON](measured/intel-xeon/calls.json), [picture 1](measured/intel-xeon/calls.svg))"
        in page
    )
    claims = (folder.parent / "claims.md").read_text()
    assert "| claim | AMD EPYC | Intel Xeon | wanted | holds |" in claims
    assert "| a | 2 x | 0.5 x | >= 1 x | on AMD EPYC |" in claims


def test_a_quick_round_does_not_replace_a_full_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.mkdir()
    report = {"quick": False, "machine": common.machine()}
    (folder / "calls.json").write_text(json.dumps(report))
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--keep", "--quick", "calls"])
    with pytest.raises(SystemExit):
        command.main()
    assert "is of a full run, which a quick one does not replace" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cals"], "no such benchmark: cals"),
        (["--keep", "calls", "split", "--more"], "options of one benchmark"),
    ],
)
def test_what_can_not_be_run_is_refused(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", *words])
    with pytest.raises(SystemExit):
        command.main()
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("script", startup.scripts(), ids=lambda path: path.stem)
def test_each_script_has_its_arguments_in_the_benchmark_of_starting(script: Path) -> None:
    assert startup.compiled_ms(script) > 0

"""Every step of the tutorial that runs something shows it."""

import re
from pathlib import Path

import pytest

from tests.docs import tutorial

PAGES = sorted((tutorial.ROOT / "docs/tutorial").glob("*.md"))
SECTION = re.compile(r"^## ", re.MULTILINE)
CODE = re.compile(r"^```(python|console|\n)", re.MULTILINE)
NO_PICTURE = {
    "dask.md": {
        "Two analyses": "the examples' page has their pictures",
        "xarray": "the same as above, on other collections",
    },
    "z-peak.md": {"Compute the mass": "functions alone; the next step runs them"},
}
"""Steps that have code and no picture, and why."""


def steps(page: Path) -> dict[str, str]:
    """Return the text of each step of a page by its heading."""
    parts = SECTION.split(page.read_text("utf-8"))
    return {part.partition("\n")[0].removeprefix("# "): part for part in parts}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_step_has_a_picture(page: Path) -> None:
    without = {
        heading
        for heading, text in steps(page).items()
        if CODE.search(text) and "](../images/" not in text
    }
    assert without == set(NO_PICTURE.get(page.name, ()))


@pytest.mark.parametrize("page", tutorial.PLOTS)
def test_a_plot_is_what_the_page_computes(page: str, tmp_path, monkeypatch) -> None:
    pytest.importorskip({"dask": "dask.array", "z-peak": "uproot"}.get(page, "matplotlib"))
    monkeypatch.chdir(tmp_path)
    found = tutorial.path_of(page).read_text("utf-8")
    assert found == tutorial.made(page), "run `python -m tests.docs.tutorial`"
    text = (tutorial.ROOT / f"docs/tutorial/{page}.md").read_text("utf-8")
    assert f"![{tutorial.PLOTS[page][0]}](../images/plots/{page}.svg)" in text


def test_no_other_plots_are_there() -> None:
    assert {path.stem for path in tutorial.FOLDER.iterdir()} == set(tutorial.PLOTS)

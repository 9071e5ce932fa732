"""Diagrams say what their sources say, can be read by everybody, and stand on a page."""

import re
from pathlib import Path

import pytest

from tests.docs import diagrams

PAGES = [page.read_text(encoding="utf-8") for page in diagrams.IMAGES.parent.rglob("*.md")]
NAMES = [source.stem for source in diagrams.sources()]
SMALL = "title two boxes\ndesc one box\nheight 100\nbox a 10 10 100 40 first\n"


def source(name: str) -> Path:
    return diagrams.IMAGES / f"{name}.txt"


def test_each_picture_in_svg_has_a_source() -> None:
    assert sorted(path.stem for path in diagrams.IMAGES.glob("*.svg")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_up_to_date(name: str) -> None:
    found = source(name).with_suffix(".svg").read_text(encoding="utf-8")
    assert found == diagrams.made(source(name)), "run `python -m tests.docs.diagrams`"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_cut_off_or_covered(name: str) -> None:
    diagram = diagrams.read(source(name).read_text(encoding="utf-8"))
    assert list(diagrams.faults(diagram)) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_described_and_stands_on_a_page_with_a_caption(name: str) -> None:
    diagram = diagrams.read(source(name).read_text(encoding="utf-8"))
    assert diagram.title
    assert len(diagram.desc) > len(diagram.title)
    shown = rf"!\[{re.escape(diagram.title)}\]\(\.\./images/{name}\.svg\)\n\n\*[^*]+\*\n\n"
    assert [page for page in PAGES if re.search(shown, page)], (
        "no page has it, its title and a caption"
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("box b 90 10 100 40 second", "a overlaps b"),
        ("box b 650 10 100 40 second", "b is outside of the picture"),
        ("box b 200 10 40 40 second", "b is too narrow for its text"),
        ("box b 200 10 100 20 second|line", "b is too low for its text"),
        ("panel b 50 5 200 60 second", "a crosses the edge of b"),
        ("text 90 40 second", "a overlaps the text second at 90.0"),
        (
            "box b 200 10 100 40 second\nbox c 400 10 100 40 third\narrow a c",
            "the arrow [(110.0, 30.0), (400.0, 30.0)] crosses b",
        ),
    ],
)
def test_what_covers_something_is_found(line: str, fault: str) -> None:
    assert fault in list(diagrams.faults(diagrams.read(f"{SMALL}{line}\n")))


def test_text_of_a_source_is_no_markup() -> None:
    picture = diagrams.draw(diagrams.read(SMALL.replace("first", '"x < y & z"')))
    assert "x &lt; y &amp; z" in picture


def test_a_line_that_is_none_of_a_diagram_is_refused() -> None:
    with pytest.raises(ValueError, match="not a line of a diagram: circle a"):
        diagrams.read("circle a")

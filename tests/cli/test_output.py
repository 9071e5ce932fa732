from __future__ import annotations

import io
import json

import pytest

from freestone.cli.output import Form, Output, pairs, table


@pytest.mark.parametrize(
    ("form", "reported"), [("table", "words\n"), ("json", '{\n  "a": 1\n}\n'), ("quiet", "")]
)
def test_the_form_decides(form: Form, reported: str) -> None:
    stream = io.StringIO()
    Output(form, stream).show({"a": 1}, lambda: "words")
    assert stream.getvalue() == reported


def test_an_error_is_reported_to_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    Output("json", stream).fail("closed", "it is closed", ["a note"])
    more = "why, and what to do: freestone explain closed"
    assert capsys.readouterr().err == f"closed: it is closed\na note\n{more}\n"
    assert json.loads(stream.getvalue()) == {"error": "closed", "message": "it is closed"}


def test_numbers_stand_to_the_right() -> None:
    text = table(["name", "calls", "note"], [["mass", 1200, "-"], ["add", 3, "x"]])
    assert text.splitlines() == [
        "name  calls  note",
        "mass   1200  -",
        "add       3  x",
    ]
    assert table(["a", "b"], []) == "a  b"


def test_pairs_have_two_columns() -> None:
    assert pairs([("a", 1), ("long", "x")]) == "a     1\nlong  x"
    assert pairs([]) == ""

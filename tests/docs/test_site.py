"""Sites of several versions beside each other, and links that lead nowhere."""

import json
from pathlib import Path

from tests.docs.links import broken
from tests.docs.site import place


def built(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "sitemap.xml").touch()
    (folder / "index.html").write_text(text, encoding="utf-8")
    return folder


def test_versions_are_listed_with_the_newest_first(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name in ("0.9.0", "0.10.0", "0.2.0"):
        place(built(tmp_path / name, name), site, name)
    listed = json.loads((site / "versions.json").read_text(encoding="utf-8"))
    assert [entry["version"] for entry in listed] == ["0.10.0", "0.9.0", "0.2.0"]
    assert 'href="0.10.0/"' in (site / "index.html").read_text(encoding="utf-8")


def test_a_version_that_is_built_again_replaces_itself_only(tmp_path: Path) -> None:
    site = tmp_path / "site"
    place(built(tmp_path / "old", "old"), site, "0.1.0")
    place(built(tmp_path / "other", "other"), site, "0.2.0")
    place(built(tmp_path / "new", "new"), site, "0.1.0")
    assert (site / "0.1.0/index.html").read_text(encoding="utf-8") == "new"
    assert (site / "0.2.0/index.html").read_text(encoding="utf-8") == "other"


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    good = (
        '<a href="../b/#there">b</a> <a href="https://example.org/x">x</a> <a href="#me" id="me">'
    )
    bad = '<a href="c/">c</a> <img src="d.png"> <a href="../b/#gone">'
    (tmp_path / "b").mkdir()
    (tmp_path / "b/index.html").write_text('<h2 id="there">', encoding="utf-8")
    built(tmp_path / "a", good + bad)
    assert broken(tmp_path) == [
        "a/index.html: ../b/#gone: no heading #gone",
        "a/index.html: c/: no such file",
        "a/index.html: d.png: no such file",
    ]

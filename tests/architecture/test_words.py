"""Code, documentation and commits use the terms of the field; the check finds what it refuses."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.architecture import words

EXAMPLES = {
    "truths": "truths",
    "compressed rows": "compressed rows",
    "cells with their places": "cells with their places",
    "settle": "settled",
    "newcomer": "newcomers",
    "comeback": "comeback",
    "crew": "crew",
    "as good as new": "as good as new",
    "told": "told",
    "said": "said",
    "brought": "brought",
    "lent": "lent",
    "loose": "loose",
    "fresh": "fresh",
    "desk": "desk",
    "gathers": "gathers",
    "passage": "passage",
    "seat": "seat",
    "kinds": "kinds",
    "turned": "turned",
}
FOLDERS = {"kinds": "crates/core/src", "turned": "python/freestone/lang"}
ORDINARY = [
    "The user is told which setting is wrong, and nobody said why.",
    "A site of the grid takes the place of another one; there is a place for all.",
    "A loose bound, fresh pages and a home worker are turned into other kinds of rows.",
    "He brought a seat and a desk, lent me a passage, and gathers dust on a bench.",
    "The truth is: compressed sparse rows have cells of a table as elements.",
    "Screws and settings; at most eight, at least one. `MAX_S`, `TIMEOUT_S` and POLL_INTERVAL_S.",
]


@pytest.fixture
def own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git knows neither the repository that these tests may run in nor anybody's settings."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def git(*arguments: str, folder: Path) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def test_code_has_none() -> None:
    assert list(words.code()) == []


def test_documentation_has_none() -> None:
    assert list(words.documents()) == []


def test_commits_since_the_check_exists_have_none() -> None:
    assert list(words.commits(words.messages())) == []


def test_every_word_has_an_example_here() -> None:
    assert set(EXAMPLES) == {*words.PHRASES, *words.NAMES, *words.NAMES_WITHIN}


@pytest.mark.parametrize("word", words.PHRASES)
def test_a_phrase_is_found_in_documentation_and_commits(word: str) -> None:
    example = EXAMPLES[word]
    assert list(words.in_prose(f"One\nline has {example}.\n")) == [(2, word)]
    assert list(words.in_prose(f"{example.capitalize()} here")) == [(1, word)]
    assert len(list(words.commits([f"A subject\n\nIt has {example}, too."]))) == 1


@pytest.mark.parametrize("word", words.PHRASES)
def test_a_phrase_is_found_in_comments_of_code(word: str) -> None:
    example = EXAMPLES[word]
    assert list(words.in_code(f"x = 1\n# {example}\n", "a.py")) == [(2, word)]
    assert list(words.in_code(f"\n/// {example}\n", "a.rs")) == [(2, word)]


@pytest.mark.parametrize("word", [word for word in EXAMPLES if " " not in word])
def test_a_word_is_found_in_names_of_code(word: str) -> None:
    folder, example = FOLDERS.get(word, "crates/base/src"), EXAMPLES[word]
    for name in (example, f"the_{example}", f"{example}_at", f"on{example.capitalize()}"):
        assert list(words.in_code(f"\n{name} = 1\n", f"{folder}/a.py")) == [(2, word)], name
        assert list(words.in_code(f"\nlet {name};\n", f"{folder}/a.rs")) == [(2, word)], name
    assert list(words.in_code("x = 1\n", f"{folder}/{example}.py")) == [(0, word)]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("MOST_ROWS = 3", "MOST_"),
        ("const LEAST_TASKS: u64 = 3;", "MOST_"),
        ("PATIENCE_S = 3", "PATIENCE_S"),
        ("FAREWELL_S = 3", "PATIENCE_S"),
        ("_NAP_S = 3", "PATIENCE_S"),
        ("LOOK_NS = 3", "PATIENCE_S"),
        ("class Place:", "types"),
        ("pub struct Bench<'a> {", "types"),
        ("enum Home {", "types"),
        ("class Site(ABC):", "types"),
    ],
)
def test_a_name_of_a_constant_or_type_is_found(text: str, word: str) -> None:
    assert list(words.in_code(f"\n{text}\n", "a.rs")) == [(2, word)]


@pytest.mark.parametrize("sentence", ORDINARY)
def test_ordinary_sentences_are_not_refused(sentence: str) -> None:
    assert list(words.in_prose(sentence)) == []
    for path, comment in (("a.py", "# {}"), ("crates/core/a.rs", "// {}"), ("a.py", '"""{}"""')):
        assert list(words.in_code(comment.format(sentence), path)) == []


def test_code_in_documentation_is_not_prose() -> None:
    text = "See `examples/newcomers`, [it](newcomers.md).\n```python\nsettle()\n```\nnewcomer\n"
    assert list(words.in_prose(text)) == [(5, "newcomer")]


def test_names_are_read_without_texts() -> None:
    python = 'a = \'told\'  # told\n"""told\n"""\nb = f("it\'s", \'told\')\ntold = 1\n'
    assert list(words.in_code(python, "a.py")) == [(5, "told")]
    rust = 'let a = "told"; // told\nlet b = \'"\'; /* told */\nlet told = r#"a" told"#;\n'
    assert list(words.in_code(rust, "a.rs")) == [(3, "told")]


@pytest.mark.usefixtures("own_git")
def test_messages_are_those_of_commits_after_the_check(tmp_path: Path) -> None:
    check = tmp_path / "check.py"
    git("init", "-q", "-b", "main", folder=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "Before", folder=tmp_path)
    git("branch", "side", folder=tmp_path)
    check.write_text("")
    git("add", "check.py", folder=tmp_path)
    git("commit", "-q", "-m", "The check", folder=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "After\n\nA newcomer", folder=tmp_path)
    git("switch", "-q", "side", folder=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "Begun before", folder=tmp_path)
    git("switch", "-q", "main", folder=tmp_path)
    git("merge", "-q", "-m", "Both", "side", folder=tmp_path)
    found = words.messages(tmp_path, "check.py")
    assert sorted(found) == ["After\n\nA newcomer", "Both"]
    assert len(list(words.commits(found))) == 1
    shallow = tmp_path / "shallow"
    git("clone", "-q", "--depth", "1", tmp_path.as_uri(), str(shallow), folder=tmp_path)
    assert words.messages(shallow, "check.py") == []


@pytest.mark.usefixtures("own_git")
def test_without_a_repository_there_are_no_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert words.messages(tmp_path) == []
    monkeypatch.setenv("PATH", "")
    assert words.messages(tmp_path) == []

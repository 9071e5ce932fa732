"""Pages are easy to read, and what is not is found."""

from pathlib import Path

import pytest

from tests.docs import prose

SHORT = "It runs. " * 20
LONG_SENTENCE = "It runs " + "and runs " * 30 + "on. "


@pytest.mark.parametrize("page", prose.pages(), ids=lambda page: str(page.relative_to(prose.ROOT)))
def test_a_page_is_easy_to_read(page: Path) -> None:
    assert list(prose.faults(page.read_text("utf-8"))) == [], "see `python -m tests.docs.prose`"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("It " + "runs " * 60, "line 1: a sentence of 61 words (at most 48)"),
        (SHORT + LONG_SENTENCE * 4, "4 of 24 sentences have more than 30 words"),
        ("It is run by them. " * 9 + SHORT[: 9 * 6], "9 of 15 sentences are passive"),
        (
            "And it runs on and on, " * 5 + "on. " + LONG_SENTENCE * 11,
            "words a sentence in the mean",
        ),
    ],
)
def test_what_is_hard_to_read_is_found(text: str, fault: str) -> None:
    assert any(fault in found for found in prose.faults(text))


def test_only_prose_counts() -> None:
    page = """\
# A title of many words that is no sentence

```python
is_run = "It is run."
```

![A picture that is drawn](a.svg)

*What is drawn.*

| a table | that is read |
| --- | --- |

<!-- It is left
out. -->
- An item with [a link](to/a/page.md). Then
  `code.that(is_run)` runs.
"""
    assert [(one.line, one.text) for one in prose.sentences(page)] == [
        (16, "An item with a link."),
        (16, "Then `x` runs."),
    ]


@pytest.mark.parametrize(
    ("text", "is_passive"),
    [
        ("The file is read by a worker", True),
        ("It was never fully finished", True),
        ("Blocks are there", False),
        ("It is need that drives us", False),
    ],
)
def test_passive_voice_is_a_participle_after_to_be(text: str, is_passive: bool) -> None:
    assert prose.Sentence(1, text).is_passive == is_passive

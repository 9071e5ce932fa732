"""Typical mistakes give the messages of the list, each of which teaches enough."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import freestone as fs
from tests.docs.mistakes import Mistake, is_message, message_of, mistakes

pytest.importorskip("polars")
pytest.importorskip("duckdb")
MISTAKES = mistakes()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[fs.Cluster]:
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("mistakes"))
    try:
        with fs.Cluster(
            executors=2, memory="256MiB", disk="256MiB", dashboard=False, logs="none"
        ) as cluster:
            yield cluster
    finally:
        os.chdir(before)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.title.replace(" ", "-"))
def test_a_mistake_is_reported(cluster: fs.Cluster, mistake: Mistake) -> None:
    text = message_of(mistake.code, cluster)
    assert is_message(text, mistake.message), f"now it is:\n{text}"
    for part in mistake.parts:
        assert part.strip() in text


def test_every_message_teaches_enough() -> None:
    assert len({mistake.title for mistake in MISTAKES}) == len(MISTAKES) >= 40
    assert [mistake.title for mistake in MISTAKES if mistake.grade < 4] == []

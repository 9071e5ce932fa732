"""Saved states: what a job goes on from after a loss, with any number of ranks."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freestone import malleable
from freestone.errors import ConfigurationError, SavedStateError
from freestone.malleable.index import Entry, Index, Piece
from freestone.malleable.values import plain_bytes, value_of
from tests.malleable.jobs import Outcome, run

pytest.importorskip("mpi4py")

CHUNKS = np.array([[0, 24, 7]], np.int64)


def job(ranks: int, **words: Any) -> Outcome:
    return run("saving_job.py", json.dumps(words), ranks=ranks)


@pytest.fixture(scope="module")
def expected() -> Any:
    return job(2).data


def results(data: Any) -> Any:
    return {name: data[name] for name in ("x", "total", "values")}


@pytest.mark.parametrize(
    ("before", "after", "die"), [(3, 2, (0, 8)), (2, 4, (1, 3)), (1, 3, (1, 11))]
)
def test_a_job_that_loses_a_rank_goes_on_from_its_last_state(
    expected: Any, tmp_path: Path, before: int, after: int, die: tuple[int, int]
) -> None:
    saves = tmp_path / "state"
    lost = job(before, saves=str(saves), save_every=5, die=die)
    assert lost.status != 0
    assert saves.exists()
    outcome = job(after, saves=str(saves), save_every=5)
    assert outcome.status == 0, outcome.err
    first = (12 * die[0] + die[1]) // 5 * 5
    assert f"goes on from step {first}, which {before} rank" in outcome.err
    assert outcome.data["steps"] == list(range(first, 24))
    assert results(outcome.data) == results(expected)
    assert outcome.data["ranks"] == after
    assert list(tmp_path.iterdir()) == []


def test_a_job_that_was_resized_is_saved_and_resized_again(expected: Any, tmp_path: Path) -> None:
    saves = tmp_path / "state"
    words = {"saves": str(saves), "save_every": 4, "targets": {3: 4, 9: 1, 14: 3}}
    assert job(2, **words, die=(0, 7)).status != 0
    outcome = job(3, **words)
    assert outcome.status == 0, outcome.err
    assert "goes on from step 4, which 4 ranks saved" in outcome.err
    assert results(outcome.data) == results(expected)


def test_a_state_of_a_loops_end_is_loaded_behind_it_and_stays(
    expected: Any, tmp_path: Path
) -> None:
    archive = tmp_path / "archive"
    assert results(job(2, archive=str(archive)).data) == results(expected)
    for _ in range(2):
        outcome = job(3, load=str(archive))
        assert outcome.data["steps"] == list(range(12, 24))
        assert results(outcome.data) == results(expected)


@pytest.mark.parametrize("damage", ["end", "rows", "other"])
def test_damage_is_reported_by_all_ranks(tmp_path: Path, damage: str) -> None:
    archive = tmp_path / "archive"
    assert job(2, archive=str(archive)).status == 0
    content = bytearray(archive.read_bytes())
    if damage == "end":
        content = content[:-100]
    elif damage == "rows":
        content[5000] ^= 1
    else:
        content = bytearray(b"something else")
    archive.write_bytes(content)
    outcome = job(2, load=str(archive))
    assert outcome.status != 0
    assert "SavedStateError" in outcome.err
    assert "is damaged in bytes" in outcome.err if damage == "rows" else str(archive) in outcome.err


def test_a_state_that_can_not_be_written_leaves_the_job_and_the_one_before(
    expected: Any, tmp_path: Path
) -> None:
    outcome = job(2, archive=str(tmp_path / "nowhere" / "archive"))
    assert "the state could not be saved in" in outcome.err
    assert "FileNotFoundError" in outcome.data["errors"][0]
    assert results(outcome.data) == results(expected)


def test_a_state_is_written_where_a_link_leads_and_replaces_files_alone(
    expected: Any, tmp_path: Path
) -> None:
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to("far")
    os.mkfifo(pipe)
    outcome = job(2, archive=str(link))
    assert outcome.data["errors"] == [""]
    assert link.is_symlink()
    assert job(3, load=str(link)).data["steps"] == list(range(12, 24))
    refused = job(2, archive=str(pipe))
    (error,) = refused.data["errors"]
    assert f"{pipe} is a pipe, and no file can take its place" in error
    assert f"could not be saved in {pipe}" in refused.err
    assert results(refused.data) == results(expected)
    assert pipe.is_fifo()
    (tmp_path / "other.part").symlink_to("elsewhere")
    (error,) = job(2, archive=str(tmp_path / "other")).data["errors"]
    assert "other.part is a link, and the new file needs its place" in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["far", "link", "other.part", "pipe"]


@pytest.mark.parametrize("key", ["saves", "load"])
def test_a_pipe_is_no_state(tmp_path: Path, key: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigurationError, match=rf"{key}.*pipe.*a file"):
        malleable.Config(**{key: tmp_path / "pipe"})


PIECE = Piece(8, 24, 4096, CHUNKS)
ENTRY = Entry("höhe x", "variable", 3, "rows", "a+b", [PIECE])
INDEX = Index(-3, 2, 1.5e9, [ENTRY, Entry("m", "constant", 3, "csr", "", [PIECE], {0: 0, 3: 9})])


def test_an_index_is_read_as_it_was_written() -> None:
    text = INDEX.text()
    assert Index.parse(text).text() == text
    assert Index.parse(text).entries[0].pieces[0].chunks.tolist() == [[0, 24, 7]]


@given(st.integers(0, len(INDEX.text())), st.text(max_size=3), st.integers(0, 9))
def test_damaged_lines_are_an_error_or_another_index(at: int, more: str, less: int) -> None:
    text = INDEX.text()
    with contextlib.suppress(ValueError):
        assert Index.parse(text[:at] + more + text[at + less :]).ranks >= 0


def test_values_are_bytes_as_in_other_languages() -> None:
    for value in (True, -7, 2.5, b"abc", np.float32(1.5), np.arange(6).reshape(2, 3)):
        content = plain_bytes(value)
        assert content is not None
        assert np.array_equal(value_of("v", content, value), value)
        assert type(value_of("v", content, value)) is type(value)
    assert plain_bytes(7).tolist() == [7, 0, 0, 0, 0, 0, 0, 0]
    assert [plain_bytes(value) for value in ("text", None, [1], 1 << 70)] == [None] * 4
    with pytest.raises(SavedStateError, match="'v' has 8 bytes in the file, and 'a', with which"):
        value_of("v", plain_bytes(7), "a")
    with pytest.raises(SavedStateError, match="registers it, has 4; begin with a number"):
        value_of("v", plain_bytes(7), np.int32(7))


def test_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="save_every is 3 and must be with saves="):
        malleable.Config(save_every=3)
    with pytest.raises(ConfigurationError, match="a file that exists"):
        malleable.Config(load=tmp_path / "none")
    with pytest.raises(ConfigurationError, match="a file in a folder that exists"):
        malleable.Config(saves=tmp_path / "none" / "state")

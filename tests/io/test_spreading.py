"""One file written by many workers: who encodes what, and what is written at once."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse

import freestone as fs
from freestone.client.local import LocalClient
from freestone.errors import FormatError
from freestone.io import Shape, Writer, open_writer
from freestone.storage import turns
from freestone.storage.encoding import place_there
from freestone.storage.ledger import Turn, ledger

X = np.random.default_rng(4).normal(size=(900, 7))
TABLE = pa.table({"n": np.arange(900), "text": [f"row {row}\n" * (row % 4) for row in range(900)]})
SPARSE = scipy.sparse.random_array(
    (900, 40), density=0.1, format="csr", rng=np.random.default_rng(5)
)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PART_NBYTES", 30 * 7 * turns.CELL_NBYTES)


@pytest.mark.parametrize("given", [X, TABLE, SPARSE], ids=["array", "frame", "csr"])
@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_it_is_the_file_that_one_process_writes(
    two_workers: fs.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: Any, kept: int
) -> None:
    monkeypatch.setattr(turns, "KEPT_NBYTES", kept)
    fs.write(given, tmp_path / "here.csv")
    is_table = isinstance(given, pa.Table)
    held = fs.Frame.from_table(given, 100) if is_table else fs.Array.from_numpy(given, 100)
    fs.write(held.persist(), tmp_path / "there.csv")
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_workers_of_a_host_take_turns(
    two_workers: fs.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = fs.Array.from_function(X.shape, 150, lambda start, stop: X[start:stop]).persist()
    assert len({holders[0] for holders in array.where()}) == 2
    submit, calls = LocalClient.submit, list[tuple[Any, ...]]()

    def recorded(self: LocalClient, function: Any, given: Any, *more: Any, **outputs: Any) -> Any:
        if function is turns.take_turn:
            calls.append((given[2].number, more[1]["near"]))
        return submit(self, function, given, *more, **outputs)

    monkeypatch.setattr(LocalClient, "submit", recorded)
    fs.write(array, tmp_path / "m.csv")
    assert len(calls) == 6 * 5
    places = [near for _, near in sorted(calls)]
    assert set(places) == {0, 1}
    assert all(one != other for one, other in itertools.pairwise(places))


def test_pieces_of_blocks_are_cut_too(two_workers: fs.Cluster, tmp_path: Path) -> None:
    array = fs.Array.from_numpy(X, 400).persist().rechunk(150)
    fs.write(array, tmp_path / "there.csv", meta=False)
    fs.write(X, tmp_path / "here.csv", meta=False)
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()


def draft_of(writer: Writer) -> Any:
    return writer.location.create(None)


@pytest.mark.parametrize("seed", range(20))
def test_parts_in_any_order(tmp_path: Path, seed: int) -> None:
    """Some are encoded before it is known where they begin, and some are made twice."""
    dice = random.Random(seed)
    shape = Shape(kind="array", rows=900, columns=(7,), dtype="<f8")
    writer: Any = open_writer(tmp_path / "m.csv", shape, meta=False)
    draft = draft_of(writer)
    cuts = [0, *sorted(dice.sample(range(1, 900), 11)), 900]
    order = list(range(12))
    dice.shuffle(order)
    with ledger(f"{draft.path}.sizes") as path:

        def take(number: int) -> Any:
            turn = Turn(ledger=path, number=number, front=0, offset=0, abreast=1)
            start, stop = cuts[number], cuts[number + 1]
            return turns.take_turn(writer, draft, turn, 0, X[start:stop], start)

        found = {number: take(number) for number in order}
        assert (order[0] == 0) == found[order[0]][1][1]
        end = 0
        for number in range(12):
            text, (nbytes, is_written) = found[number]
            assert (text is None) == is_written
            if not is_written and dice.random() < 0.5:
                # The worker that kept it was lost: by now it is known where it begins.
                text, again = take(number)
                assert (text, again) == (None, (nbytes, True))
            if not is_written:
                place_there(writer, draft, [end], [end], text)
            end += nbytes
    draft.commit()
    fs.write(X, tmp_path / "wanted.csv", meta=False)
    assert (tmp_path / "m.csv").read_bytes() == (tmp_path / "wanted.csv").read_bytes()


@pytest.mark.parametrize("by_workers", [False, True])
def test_a_value_that_is_too_wide_is_reported_with_its_row(
    two_workers: fs.Cluster, tmp_path: Path, by_workers: bool
) -> None:
    values = np.ones((40, 2))
    values[33, 1] = 123456.0
    given = fs.Array.from_numpy(values, 10) if by_workers else values
    with pytest.raises(FormatError, match=r"row 34, column 2: 123456\.0 needs 8") as caught:
        fs.write(given, tmp_path / "m.csv", width=5)
    assert (caught.value.row, caught.value.column) == (34, 2)

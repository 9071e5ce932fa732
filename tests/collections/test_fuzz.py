"""Findings of random expressions of arrays; and frames with seeds that are fixed."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import freestone as fs
from tests.collections import fuzz


def test_a_finding_is_printed_as_a_program_that_shows_it() -> None:
    case = fuzz.Case.drawn("7:1")
    assert case.program() == fuzz.Case.drawn("7:1").program()
    assert fuzz.problem_of(case) in (None, "refused")
    case.text = "np.ones(3)"
    case.found = lambda: np.zeros(3)  # type: ignore[method-assign]
    assert "not array([1., 1., 1.])" in str(fuzz.problem_of(case))


@pytest.mark.parametrize("seed", range(20))
def test_frames_are_what_arrow_makes_of_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(0, 30))
    table = pa.table(
        {
            "a": pa.array(rng.integers(-5, 5, rows), mask=rng.random(rows) < 0.2),
            "b": rng.normal(size=rows),
            "c": pa.array(["x" * n or None for n in rng.integers(0, 4, rows)], "string"),
        }
    )
    cuts = [0, *sorted(rng.integers(0, rows + 1, 3).tolist()), rows]
    blocks = [table[start:stop] for start, stop in itertools.pairwise(cuts)]
    frame = fs.Frame.from_blocks(blocks)
    start, stop = (int(at) for at in rng.integers(-rows - 2, rows + 3, 2))
    ends = slice(start, stop).indices(rows)
    part = frame[start:stop]
    expected = table[ends[0] : max(ends[0], ends[1])]
    assert part.compute().to_pylist() == expected.to_pylist()
    assert part.compute().schema == table.schema
    assert len(part) == expected.num_rows
    assert frame.rechunk(int(rng.integers(1, 9))).compute().to_pylist() == table.to_pylist()
    kept = frame.map_blocks(lambda block: block.filter(pa.compute.greater(block["b"], 0)))
    assert kept.compute().equals(table.filter(pa.compute.greater(table["b"], 0)))
    counted = frame.reduce(lambda one, other: one + other, lambda block: block["a"].null_count)
    assert counted.result() == table["a"].null_count

"""Seeds that are fixed, and those of findings that were mended, have no finding."""

from __future__ import annotations

import tomllib

import pytest

from tests.fuzz.fuzzers import CASES, FUZZERS
from tests.fuzz.running import run_seeds

# A tenth of a machine takes ten times as long; what hangs is ended by its own limit.
TIMEOUT_S = 1200
NEEDS = {"resizes-by-mpi": "mpi4py", "graphs": "dask"}
NEEDS |= {"read-parquet": "pyarrow", "read-arrow": "pyarrow", "read-tdms": "nptdms"}
NEEDS |= {"read-avro": "fastavro"}
NEEDS |= {"read-root": "uproot", "read-rntuple": "uproot", "read-zarr": "zarr"}
# Those of crates have tests of their own with fixed seeds.
WITH_SEEDS = [name for name, each in FUZZERS.items() if each.fixed or each.known("mended")]


@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.parametrize("name", WITH_SEEDS)
def test_no_fixed_seed_finds_anything(name: str) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    fuzzer = FUZZERS[name]
    seeds = [*range(fuzzer.fixed), *fuzzer.known("mended")]
    outcome = run_seeds(fuzzer, seeds)
    assert not outcome.failure, outcome.failure
    shown = [f"{each.command}: {each.text}\n{each.detail}" for each in outcome.findings]
    assert not shown, "\n\n".join(shown)
    assert outcome.cases == len(seeds)


def test_cases_are_of_fuzzers_that_there_are() -> None:
    table = tomllib.loads(CASES.read_text("utf-8"))
    assert set(table) <= set(FUZZERS)
    assert {state for states in table.values() for state in states} <= {"mended", "open"}


def test_only_fuzzers_of_crates_have_no_fixed_seeds_here() -> None:
    without = [each for name, each in FUZZERS.items() if name not in WITH_SEEDS]
    assert {each.module for each in without} == {"tests.fuzz.rust"}

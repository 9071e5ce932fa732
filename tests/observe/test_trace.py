from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from freestone.cli import main
from freestone.errors import ConfigurationError, FormatError
from freestone.observe import trace
from freestone.observe.figures import WorkerStatus

ENDINGS = ["parquet", "jsonl", "json"]
NAMES = st.text("0123456789abcdef", min_size=32, max_size=32)
WORKERS = st.integers(0, 3).map("worker-{}".format)
TIMES = st.integers(0, 2**62)


def record(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"kind": st.just(kind), **fields})


STATUS = {field.name: TIMES for field in dataclasses.fields(WorkerStatus)}
RECORDS = st.lists(
    st.one_of(
        record(
            "task",
            label=st.text(),
            name=NAMES,
            task=TIMES,
            attempt=st.integers(1, 9),
            worker=WORKERS,
            ready_ns=TIMES,
            sent_ns=TIMES,
            start_ns=TIMES,
            opening_ns=TIMES,
            duration_ns=TIMES,
            storing_ns=TIMES,
            nbytes=TIMES,
            ended=st.sampled_from(["done", "raised"]),
        ),
        record(
            "transfer",
            name=NAMES,
            source=WORKERS,
            target=WORKERS,
            nbytes=TIMES,
            end_ns=TIMES,
            duration_ns=TIMES,
        ),
        record("joined", worker=WORKERS, at_ns=TIMES, slots=st.integers(1, 9)),
        record("left", worker=WORKERS, at_ns=TIMES),
        record("cache", worker=WORKERS, at_ns=TIMES, **STATUS),
    ),
    max_size=20,
)


@pytest.mark.parametrize("ending", ENDINGS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(records=RECORDS)
def test_what_is_written_is_read(
    tmp_path: Path, ending: str, records: list[dict[str, Any]]
) -> None:
    path = tmp_path / f"run.{ending}"
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    assert trace.write(path, iter(records)) == len(records)
    assert trace.read(path) == records
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    trace.summary(records)


@pytest.mark.parametrize("ending", ["csv", ""])
def test_another_ending_is_refused(tmp_path: Path, ending: str) -> None:
    with pytest.raises(ConfigurationError, match=r"must end in \.parquet, \.jsonl, \.json"):
        trace.write(tmp_path / f"run.{ending}", [])


def test_without_pyarrow_it_is_reported_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match=r"needs pyarrow: install it, or .*jsonl"):
        trace.write(tmp_path / "run.parquet", [])


def test_a_trace_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    trace.write(path, [{"kind": "left", "worker": "worker-0", "at_ns": 1}])
    with pytest.raises(TypeError):
        trace.write(path, [{"kind": "left", "worker": object()}])
    assert len(trace.read(path)) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_an_unknown_field_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="no field 'colour'"):
        trace.write(tmp_path / "run.parquet", [{"kind": "left", "colour": 1}])


def task(label: str, start_s: float, seconds: float, ended: str = "done") -> dict[str, Any]:
    return {
        "kind": "task",
        "label": label,
        "sent_ns": int(start_s * 1e9),
        "start_ns": int(start_s * 1e9),
        "duration_ns": int(seconds * 1e9),
        "nbytes": 1024,
        "ended": ended,
    }


def test_a_summary_counts_and_sums() -> None:
    joined = {"kind": "joined", "worker": "worker-0", "at_ns": 10**9, "slots": 2}
    moved = {"kind": "transfer", "nbytes": 2048, "end_ns": 2 * 10**9, "duration_ns": 10}
    records = [
        joined,
        task("mass", 1, 2),
        task("mass", 3, 1, "raised"),
        task("add", 5, 6),
        moved,
        moved,
    ]
    found = trace.summary(records)
    assert found.seconds == 10
    assert list(found.labels) == ["add", "mass"]
    assert found.labels["mass"] == trace.LabelFigures(2, 1, 3.0, 2.0, 2048)
    assert (found.transfers, found.transferred_nbytes, found.slots) == (2, 4096, 2)
    assert str(found).splitlines() == [
        "3 attempts in 10 s on 1 worker, 45% of the executors' time; 2 transfers of 4 KiB",
        "  add: 1 attempt, 6 s in all, 6 s each, 6 s the longest, 1 KiB",
        "  mass: 2 attempts, 1 failed, 3 s in all, 1.5 s each, 2 s the longest, 2 KiB",
    ]


def test_an_empty_trace_sums_up_to_nothing() -> None:
    assert trace.summary([]).seconds == 0
    assert "0 attempts" in str(trace.summary([]))


BAD = {
    "junk.parquet": b"junk",
    "junk.jsonl": b"junk\n",
    "bytes.json": b"\xff\xfe",
    "object.json": b"{}",
    "rows.json": b"[1, 2]",
    "other.jsonl": b'{"a": 1}\n',
    "field.jsonl": b'{"kind": "task", "label": "f"}\n',
    "type.jsonl": b'{"kind": "left", "at_ns": "x", "worker": "worker-0"}\n',
    "junk.parquet.partial": b"junk",
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["trace", "report"])
def test_what_is_no_trace_is_refused_in_a_sentence(
    tmp_path: Path, command: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(BAD[name])
    assert main([command, str(path)]) == 2
    reported = capsys.readouterr().err
    assert reported.startswith("format: ")
    assert f"{name} can't be used: it is no trace of a run: " in reported
    assert "Traceback" not in reported


def test_a_table_is_no_trace(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "table.parquet"
    pa.parquet.write_table(pa.table({"x": [1, 2]}), path)
    with pytest.raises(FormatError, match="record 1 has no kind"):
        trace.read(path)

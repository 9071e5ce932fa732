"""Measure how fast three columns of many files are read.

1,000 Parquet files by freestone and by pyarrow.dataset, and 200 ROOT files by freestone and by
uproot, 3 of 100 columns of each: freestone in one process, and with two workers, whose blocks stay
there. Files are in the page cache. Each turn begins with nothing known of the files but the first
one: what has to be imported is imported before the clock starts, once in a process's life.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import freestone as fs
from benchmarks import common, plots

QUESTION = "How fast are three of 100 columns of many files read?"
OWN, WORKERS = "freestone", "freestone, 2 workers"
PEERS = {"parquet": "pyarrow.dataset", "root": "uproot"}
SUBJECTS = (OWN, WORKERS, *PEERS.values())
FILES = {True: {"parquet": 100, "root": 10}, False: {"parquet": 1000, "root": 200}}
COLUMNS, ROWS = 100, 2_000
WANTED = ["c3", "c50", "c97"]
MOST = 1.2


def make(folder: Path, kind: str, files: int) -> None:
    """Write files of random columns; all have the same content, which no reader knows."""
    rng = np.random.default_rng(1)
    columns = {f"c{number}": rng.normal(size=ROWS) for number in range(COLUMNS)}
    first = folder / f"00000.{kind}"
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(columns), first)
    else:
        import uproot

        with uproot.recreate(first) as file:
            file.mktree("Events", {name: values.dtype for name, values in columns.items()})
            file["Events"].extend(columns)
    content = first.read_bytes()
    for number in range(1, files):
        (folder / f"{number:05}.{kind}").write_bytes(content)


def by_freestone(folder: Path, kind: str) -> int:
    """Return how many rows freestone read, here or on its workers."""
    pattern = f"{folder}/*.{kind}" + (":Events" if kind == "root" else "")
    found = fs.read(pattern, columns=WANTED, progress=False).persist()
    return len(found)


def by_pyarrow(folder: Path, kind: str) -> int:
    """Return how many rows pyarrow.dataset read."""
    import pyarrow.dataset as ds

    return int(ds.dataset(folder, format=kind).to_table(columns=WANTED).num_rows)


def by_uproot(folder: Path, kind: str) -> int:
    """Return how many rows uproot read."""
    import uproot

    return len(uproot.concatenate(f"{folder}/*.{kind}:Events", WANTED, library="ak"))


WAYS: dict[str, Callable[[Path, str], int]] = {
    OWN: by_freestone,
    WORKERS: by_freestone,
    "pyarrow.dataset": by_pyarrow,
    "uproot": by_uproot,
}


def measure(report: common.Report, subject: str, kind: str, folder: Path, files: int) -> None:
    """Take one subject's turn."""
    cluster = fs.Cluster(workers=2, executors=1) if subject == WORKERS else contextlib.nullcontext()
    with cluster:
        if subject in (OWN, WORKERS):
            first = os.fspath(folder / f"00000.{kind}")
            fs.read([first] * 2, columns=WANTED, block_rows=ROWS, progress=False).persist()
        else:
            importlib.import_module(subject)
        seconds = timed(subject, kind, folder, files)
    report.add(subject, kind, seconds, "s")


def timed(subject: str, kind: str, folder: Path, files: int) -> float:
    """Return the seconds of one read, whose rows are counted."""
    start = time.perf_counter()
    rows = WAYS[subject](folder, kind)
    seconds = time.perf_counter() - start
    if rows != files * ROWS:
        raise AssertionError(f"{subject} read {rows:,} rows of {files * ROWS:,}")
    return seconds


def claims(report: common.Report) -> list[common.Claim]:
    """Compare freestone's better way with the library alone."""
    found = []
    for kind, peer in PEERS.items():
        own = [report.median(subject, kind) for subject in (OWN, WORKERS)]
        best = min((one for one in own if one is not None), default=None)
        value = common.ratio(best, report.median(peer, kind))
        found.append(common.at_most(f"{kind}, of {peer}'s time", value, MOST, "times"))
    return found


def main() -> int:
    """Measure, and write the report."""
    options = common.parse("datasets", QUESTION, SUBJECTS)
    counts = FILES[options.quick]
    settings: dict[str, Any] = {"files": counts, "columns": COLUMNS, "rows": ROWS}
    report, before = common.Report(QUESTION, settings), common.machine()
    report.go_on(options)
    with tempfile.TemporaryDirectory() as folder:
        for kind, files in counts.items():
            made = Path(folder) / kind
            made.mkdir()
            make(made, kind, files)
            subjects = [
                one
                for one in (OWN, WORKERS, PEERS[kind])
                if one in options.only or not options.only
            ]
            common.interleave(
                options.rounds,
                subjects,
                lambda subject, kind=kind, made=made, files=files: measure(  # type: ignore[misc]
                    report, subject, kind, made, files
                ),
            )
    report.claims = claims(report)
    panels = [
        plots.Panel(f"{files:,} files of {kind}", "seconds, lower is better", report.series(kind))
        for kind, files in counts.items()
    ]
    report.pictures = [plots.Dots(QUESTION, panels, list(SUBJECTS))]
    common.write(report, options, before)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measure how fast files are read and written.

CSV and DBDF of dense doubles in the shapes of the paper: freestone by itself and with one and two
workers, against pandas, polars, pyarrow, duckdb and NumPy, each to and from a dense array; and
against raw reads and writes of the same bytes, which are the limit. Files are in the page cache
before each read; what a write leaves is removed before the next. An action of less than two seconds
is done twice, and the second time counts: a virtual machine may give memory that nobody uses to its
host within seconds, and whoever is first to use it again waits for each page. The peak memory of a
read is that of a process of its own.
"""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import freestone as fs
from benchmarks import common, plots, raw

QUESTION = "How fast are files read and written?"
OWN, ONE, TWO, RAW = "freestone", "freestone, 1 worker", "freestone, 2 workers", "raw"
PEERS = ("pandas", "polars", "pyarrow", "duckdb", "numpy")
SUBJECTS = (OWN, *PEERS, RAW, ONE, TWO)
# Would take minutes with more.
SLOW = ("pandas", "duckdb", "numpy")
SHAPES = {
    True: [(2_000, 1_000)],
    False: [(10_000, 1_000), (20_000, 1_000), (50_000, 1_000), (10_000, 10_000)],
}
# What workers do, by what claims call it.
WORKED = {
    "CSV read": "csv read",
    "CSV write": "csv write",
    "DBDF read": "dbdf read",
    "DBDF write": "dbdf write",
    "fixed-width read": "fixed read",
    "fixed-width write": "fixed write",
}
# Of these characters each, in the paper; so many decimals of random numbers fit into them.
FIXED: dict[str, Any] = {"width": 17, "decimals": 14}
PROCESSES = {1: "one process", 2: "two processes"}
# Twice as many workers should be so many times as fast.
GAIN = 1.7
# What takes longer is done once only.
LONG_S = 2.0
PEAK = """
import re, sys, freestone as fs

def kib(field):
    return int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read())[1])

path, small = sys.argv[1:]
fs.read(small).compute()
open("/proc/self/clear_refs", "w").write("5")
before = kib("VmRSS")
x = fs.read(path, **({"index": False} if path.endswith("csv") else {})).compute()
print((kib("VmHWM") - before) * 1024 / x.nbytes)
"""

Action = Callable[[], Any]
Clock = Callable[[Action], float]


# -- peers ------------------------------------------------------------------------------------


def readers(path: str) -> dict[str, Action]:
    """Return what reads a CSV file into a dense array."""
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow.csv

    unnamed = pyarrow.csv.ReadOptions(autogenerate_column_names=True)

    def by_arrow() -> Any:
        table = pyarrow.csv.read_csv(path, read_options=unnamed)
        return np.column_stack([column.to_numpy() for column in table.columns])

    def by_duckdb() -> Any:
        table = duckdb.sql(f"select * from read_csv('{path}', header=false)").to_arrow_table()
        return np.column_stack([column.to_numpy() for column in table.columns])

    return {
        OWN: lambda: fs.read(path, index=False).compute(),
        "pandas": lambda: pd.read_csv(path, header=None).to_numpy(),
        "polars": lambda: pl.read_csv(path, has_header=False).to_numpy(),
        "pyarrow": by_arrow,
        "duckdb": by_duckdb,
        "numpy": lambda: np.loadtxt(path, delimiter=",", ndmin=2),
        RAW: lambda: raw.read(path),
    }


def writers(x: Any, path: str) -> dict[str, Action]:
    """Return what writes a dense array as CSV; each makes its own form of it beforehand."""
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.csv

    names = [f"c{number}" for number in range(x.shape[1])]
    frame, series = pd.DataFrame(x), pl.DataFrame(x, schema=names)
    table = pa.table({name: column for name, column in zip(names, x.T.copy(), strict=True)})
    plain = pyarrow.csv.WriteOptions(include_header=False)

    def by_duckdb() -> None:
        with duckdb.connect() as database:
            database.register("given", table)
            database.sql(f"copy given to '{path}' (header false)")

    return {
        OWN: lambda: fs.write(x, path, meta=False),
        "pandas": lambda: frame.to_csv(path, header=False, index=False),
        "polars": lambda: series.write_csv(path, include_header=False),
        "pyarrow": lambda: pyarrow.csv.write_csv(table, path, plain),
        "duckdb": by_duckdb,
        "numpy": lambda: np.savetxt(path, x, delimiter=",", fmt="%.17g"),
    }


# -- measuring --------------------------------------------------------------------------------


def seconds(action: Action) -> float:
    """Return how long an action takes; what it returns goes before the clock stops."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def warm_seconds(action: Action, clean: Action) -> float:
    """Return how long an action takes the second time; `clean` removes what the first one left."""
    first = seconds(action)
    if first > LONG_S:
        return first
    clean()
    return seconds(action)


@contextlib.contextmanager
def workers(count: int) -> Iterator[None]:
    """Open a cluster of workers with an executor each, which have read and written before."""
    with fs.Cluster(workers=count, executors=1, memory="4GiB"):
        with tempfile.TemporaryDirectory(prefix="freestone-") as folder:
            warm(count, f"{folder}/small.csv", f"{folder}/small.dbdf")
        yield


def warm(count: int, *urls: str) -> None:
    """Have each of some workers write and read a row: so they load what that takes."""
    for url in urls:
        fs.write(fs.Array.from_function((count, 1), 1, lambda start, stop: np.ones((1, 1))), url)
        fs.read(url, block_rows=1).persist()


def label_of(shape: tuple[int, int]) -> str:
    """Return what a shape is called, such as 10Kx1K."""
    return f"{shape[0] // 1000}Kx{shape[1] // 1000}K"


def measure_shape(report: common.Report, rounds: int, shape: tuple[int, int], folder: Path) -> None:
    """Take all samples of a shape."""
    x = np.random.default_rng(1).random(shape)
    label = label_of(shape)
    text, binary, out = str(folder / "m.csv"), str(folder / "m.dbdf"), str(folder / "out")
    fs.write(x, text)
    fs.write(x, binary)
    os.unlink(text + ".meta")
    reading, writing = readers(text), writers(x, out + ".csv")
    data = x.reshape(-1).view(np.uint8).data
    clock = functools.partial(warm_seconds, clean=lambda: clear(out))

    def take(subject: str) -> None:
        if subject in reading:
            report.add(subject, f"csv read {label}", clock(reading[subject]), "s")
        if subject in writing:
            report.add(subject, f"csv write {label}", clock(writing[subject]), "s")
            clear(out)
        if subject == OWN:
            binary_of(report, clock, label, x, binary, out)
        elif subject == RAW:
            report.add(RAW, f"dbdf read {label}", clock(lambda: raw.read(binary)), "s")
            both = [raw_writing(clock, data, out, threads) for threads in (1, 2)]
            report.add(RAW, f"dbdf write {label}", min(both), "s")
            for threads, found in zip(("one", "two"), both, strict=True):
                report.add(RAW, f"dbdf write by {threads} {label}", found, "s")
            by_processes(report, clock, label, {"csv": text, "dbdf": binary}, out)
        elif subject in (ONE, TWO):
            with workers(1 if subject == ONE else 2):
                by_workers(report, clock, subject, label, text, out)

    is_first = shape in (SHAPES[True][0], SHAPES[False][0])
    subjects = [name for name in SUBJECTS if is_first or name not in SLOW]
    common.interleave(rounds, subjects, take)
    peak(report, label, text, binary, folder)


def raw_writing(clock: Clock, data: memoryview, out: str, threads: int) -> float:
    """Write bytes by one thread or by two, which the file system may let in one at a time."""
    found = clock(functools.partial(raw.write, data, out, threads))
    clear(out)
    return found


def by_processes(
    report: common.Report, clock: Clock, label: str, paths: dict[str, str], out: str
) -> None:
    """Read and write as many bytes as files have by one process and by two."""
    sizes = {kind: os.path.getsize(path) for kind, path in paths.items()}
    for count, words in PROCESSES.items():
        with raw.processes(count, max(sizes.values())) as running:
            for kind, path in paths.items():
                read = clock(functools.partial(running.read, path))
                report.add(RAW, f"{kind} read by {words} {label}", read, "s")
                written = clock(functools.partial(running.write, out, sizes[kind]))
                report.add(RAW, f"{kind} write by {words} {label}", written, "s")
                clear(out)


def binary_of(report: common.Report, clock: Clock, label: str, x: Any, path: str, out: str) -> None:
    """Read and write the binary form."""
    report.add(OWN, f"dbdf read {label}", clock(lambda: fs.read(path).compute()), "s")
    report.add(OWN, f"dbdf write {label}", clock(lambda: fs.write(x, out + ".dbdf")), "s")
    clear(out)
    fixed = out + ".csv"
    written = clock(lambda: fs.write(x, fixed, meta=False, **FIXED))
    report.add(OWN, f"fixed write {label}", written, "s")
    read = warm_seconds(lambda: fs.read(fixed, index=False).compute(), lambda: None)
    report.add(OWN, f"fixed read {label}", read, "s")
    clear(out)


def by_workers(
    report: common.Report, clock: Clock, subject: str, label: str, text: str, out: str
) -> None:
    """Read into blocks of the workers, and write them; nothing comes to this program."""
    # Ten blocks, or two of the quick shape.
    rows = max(os.path.getsize(text) // (190 << 20), 1) * 1_000
    kept: list[Any] = []

    def read(path: str, **options: Any) -> None:
        # Another time of change: else what is read would be answered from what was.
        os.utime(path)
        kept[1:] = [fs.read(path, block_rows=rows, **options).persist()]

    def take(case: str, action: Action, clean: Action) -> None:
        if seconds(action) < LONG_S:
            clean()
        before = cpu_seconds()
        report.add(subject, f"{case} {label}", seconds(action), "s")
        spent = {each: now - before.get(each, 0) for each, now in cpu_seconds().items()}
        report.add(subject, f"{case}, busiest worker's CPU {label}", max(spent.values()), "s")

    def take_write(case: str, path: str, **options: Any) -> None:
        take(case, lambda: fs.write(kept[0], path, **options), lambda: clear(out))

    def take_read(case: str, path: str, **options: Any) -> None:
        take(case, lambda: read(path, **options), forget)

    def forget() -> None:
        kept[1:] = []

    fixed, binary = out + ".csv", out + ".dbdf"
    kept.append(None)
    take_read("csv read", text, index=False)
    kept[:] = kept[1:]
    take_write("csv write", fixed, meta=False)
    clear(out)
    take_write("fixed write", fixed, meta=False, **FIXED)
    take_read("fixed read", fixed, index=False)
    forget()
    clear(out)
    take_write("dbdf write", binary)
    take_read("dbdf read", binary)
    clear(out)


def cpu_seconds() -> dict[int, float]:
    """Return the time on a processor that each process below this one has had so far."""
    found = {}
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(OSError):
            tasks = Path(f"/proc/{process.pid}/task").glob("*/schedstat")
            found[process.pid] = sum(int(task.read_text().split()[0]) for task in tasks) / 1e9
    return found


def clear(out: str) -> None:
    """Remove what a write left."""
    for path in Path(out).parent.glob(Path(out).name + "*"):
        path.unlink()


def peak(report: common.Report, label: str, text: str, binary: str, folder: Path) -> None:
    """Add the memory that a read takes at most, as a multiple of the result."""
    small = str(folder / "small.csv")
    Path(small).write_text("1,2\n3.5,4\n")
    for kind, path in (("csv", text), ("dbdf", binary)):
        words = [sys.executable, "-c", PEAK, path, small]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        report.add(OWN, f"{kind} peak {label}", float(done.stdout), "x")


# -- claims -----------------------------------------------------------------------------------


def claims(report: common.Report, label: str) -> list[common.Claim]:
    """Compare with what was wanted, on the first shape, which all peers have."""

    def speedup(case: str, names: tuple[str, ...], own: str = OWN) -> float | None:
        others = [report.median(name, f"{case} {label}") for name in names]
        known = [other for other in others if other is not None]
        mine = report.median(own, f"{case} {label}")
        return None if not known or mine is None else min(known) / mine

    return [
        common.at_least("CSV read over the fastest peer", speedup("csv read", PEERS), 1, "x"),
        common.at_least("CSV write over pandas", speedup("csv write", ("pandas",)), 3, "x"),
        common.at_least(
            "CSV write over polars and pyarrow", speedup("csv write", ("polars", "pyarrow")), 1, "x"
        ),
        common.at_least("DBDF read of raw reads", speedup("dbdf read", (RAW,)), 0.8, "x"),
        common.at_least("DBDF write of raw writes", speedup("dbdf write", (RAW,)), 0.8, "x"),
        *(
            common.at_least(f"{name}, 2 workers over 1", speedup(case, (ONE,), TWO), GAIN, "x")
            for name, case in WORKED.items()
        ),
        common.at_most(
            "peak memory of a CSV read", report.median(OWN, f"csv peak {label}"), 1.2, "x"
        ),
        common.at_most(
            "peak memory of a DBDF read", report.median(OWN, f"dbdf peak {label}"), 1.2, "x"
        ),
    ]


def gains(report: common.Report, label: str) -> dict[str, float]:
    """Return how many times as fast two are as one: workers, and processes that do nothing else."""

    def gain(case: str, one: tuple[str, str], two: tuple[str, str]) -> float | None:
        before, after = (report.median(who, f"{case}{by} {label}") for who, by in (one, two))
        return common.ratio(before, after)

    one, two = ((RAW, f" by {words}") for words in PROCESSES.values())
    kinds = ("csv read", "csv write", "dbdf read", "dbdf write")
    found = {name: gain(case, (ONE, ""), (TWO, "")) for name, case in WORKED.items()}
    found |= {f"raw {case}": gain(case, one, two) for case in kinds}
    return {name: value for name, value in found.items() if value is not None}


def main() -> None:
    """Measure, report and draw."""
    asked = common.parser("io", QUESTION)
    known = {label_of(shape): shape for shape in SHAPES[False]}
    asked.add_argument("--shape", nargs="+", choices=known, default=list(known)[:2], help="of them")
    given = asked.parse_args()
    options = common.options("io", given)
    before = common.machine()
    shapes = SHAPES[True] if options.quick else [known[name] for name in given.shape]
    report = common.Report(QUESTION, {"quick": options.quick, **FIXED})
    report.go_on(options)
    with tempfile.TemporaryDirectory(prefix="freestone-") as folder:
        for shape in shapes:
            measure_shape(report, options.rounds, shape, Path(folder))
    label = label_of(SHAPES[options.quick][0])
    report.notes.append("freestone writes floats that read back as the same bits; so do its peers")
    report.claims = claims(report, label)
    labels = [label_of(shape) for shape in shapes]
    for each in labels:
        shown = ", ".join(f"{name} {gain:.2f}" for name, gain in gains(report, each).items())
        report.notes.append(f"two workers, and two raw processes, over one, {each}: {shown}")
    report.pictures = pictures(report, label, labels)
    common.write(report, options, before)


def pictures(report: common.Report, label: str, labels: list[str]) -> list[plots.Picture]:
    """Return the times of the first shape, and for each what two are faster than one."""
    kinds = ("csv read", "csv write", "dbdf read", "dbdf write", "fixed read", "fixed write")
    cases = [f"{kind} {label}" for kind in kinds]
    panels = [plots.Panel(case, "seconds, lower is better", report.series(case)) for case in cases]
    times = plots.Dots("Files of doubles", panels, list(SUBJECTS))
    wanted, words = {"wanted": GAIN}, "times as fast as one, higher is better"
    panels = [plots.Panel(each, words, gains(report, each), wanted) for each in labels]
    order = [*panels[0].values]
    return [times, plots.Dots("Two workers, and two processes", panels, order, "-two")]


if __name__ == "__main__":
    main()

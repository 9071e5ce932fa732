"""Measure what it costs to resize a job with 1 GB of data, by all methods.

Each run goes through all pairs of 1, 2, 4 and 8 processes in one chain (`--short`: from 2 to 4 and
back, twice), with dense or CSR data, in one of two forms: constant data as a user gets it on one
host, which is memory that all map (`shared`), and as variable data goes (`messages`): copied from
process to process on one host, and sent by MPI between hosts. Beside them: the machine's copy
bandwidth, of one core and of as many as there are targets, a plain mpi4py `Alltoallv` of the same
blocks between processes that are all there from the start, and messages of the same rows by hand,
in Python and in C, beside the library in C. Reconfiguration, spawn and data times, bytes moved,
alpha, the work that the sources get done while data moves, and peak memory. What 16 more ranks
take in C stands beside an `MPI_Comm_spawn` of as many that do nothing.

By pieces: `--only SUBJECT --rounds 1 --more` adds a round of one subject to the report.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import common, plots
from benchmarks.resizing.programs import compiled
from freestone.malleable import METHODS, plans

QUESTION = "What does it cost to resize a job with 1 GB of data?"
NBYTES = {False: 1_000_000_000, True: 200_000_000}
# Every ordered pair of 1, 2, 4 and 8 once, from 2 back to 2.
CHAIN = [4, 2, 8, 2, 1, 4, 1, 8, 4, 8, 1, 2]
SHORT = [4, 2, 4, 2]
QUICK = ("merge-p2p-sync", "merge-p2p-nonblocking", "baseline-collective-sync")
PLAIN, COPY = "plain Alltoallv", "memcpy"
BY_HAND, IN_C, OFTEN = "messages by hand", "C", "one job, many resizes"
BESIDE = (COPY, PLAIN, BY_HAND, IN_C, OFTEN)
SPAWNED, SPAWNED_BY_HAND = "16 more ranks, s", "16 more ranks by hand, s"
TITLES = {"spawned": SPAWNED, "spawned by hand": SPAWNED_BY_HAND}
ONE, BOTH = "bandwidth of one core", "bandwidth of two cores"
HERE = Path(__file__).parent / "resizing"
MAX_S = 280

SUBJECTS: dict[str, dict[str, Any]] = {
    f"{kind} {form} {method}": {
        "kind": kind,
        "method": str(method),
        "share": form != "messages",
        "relabel": True,
    }
    for kind in ("dense", "csr")
    for form in ("shared", "messages")
    for method in METHODS
}
SUBJECTS["dense messages merge-p2p-sync, rank r stays rank r"] = {
    **SUBJECTS["dense messages merge-p2p-sync"],
    "relabel": False,
}


def mpi(ranks: int, program: str, *words: str) -> Any:
    """Run a program on ranks, and return what it says, or why it does not."""
    mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or "mpiexec"
    command = [mpiexec, "-n", str(ranks), sys.executable, "-m", "mpi4py", str(HERE / program)]
    found = started([*command, *words])
    return found if isinstance(found, dict) else json.loads(found[-1])


def started(command: Sequence[str]) -> list[str] | dict[str, str]:
    """Return the lines that a command prints, or why there are none."""
    try:
        job = subprocess.run(command, capture_output=True, text=True, timeout=MAX_S, check=False)
    except subprocess.TimeoutExpired:
        return {"absent": f"did not end within {MAX_S} s"}
    if job.returncode != 0:
        return {"absent": f"failed: {(job.stderr.strip().splitlines() or ['no word'])[-1]}"}
    return job.stdout.strip().splitlines()


def copy_gbs(nbytes: int, cores: int) -> float:
    """Return the bandwidth at which so many cores together copy into warm memory, in GB/s."""
    # Zeros would be pages that nobody has touched.
    source, target = np.ones(nbytes // 8), np.full(nbytes // 8, 2.0)
    pairs = zip(np.array_split(target, cores), np.array_split(source, cores), strict=True)
    threads = [threading.Thread(target=np.copyto, args=pair) for pair in pairs]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return nbytes / (time.perf_counter() - begin) / 1e9


def work_times() -> int:
    """Return how many products take some milliseconds on one core."""
    matrix, vector = np.ones((200, 200)), np.ones(200)
    begin, times = time.perf_counter(), 0
    while time.perf_counter() - begin < 0.2:
        np.dot(matrix, vector)
        times += 1
    return max(1, times // 50)


def measure(
    report: common.Report, subject: str, nbytes: int, sizes: Sequence[int], times: int
) -> None:
    """Take one turn of a subject."""
    if subject == COPY:
        report.add(COPY, ONE, copy_gbs(nbytes, 1), "GB/s")
        report.add(COPY, BOTH, copy_gbs(nbytes, 2), "GB/s")
        return
    if subject in (PLAIN, BY_HAND):
        how = ["p2p"] if subject == BY_HAND else []
        for before, after in ((2, 4), (4, 2)):
            found = mpi(4, "plain.py", str(before), str(after), str(nbytes), "3", *how)
            if "absent" in found:
                report.absent[subject] = found["absent"]
                return
            for seconds in found:
                report.add(subject, f"{before} to {after}, data s", seconds, "s")
        return
    if subject == IN_C:
        measure_in_c(report, nbytes)
        return
    if subject == OFTEN:
        measure_often(report, 20 if nbytes == NBYTES[True] else 200)
        return
    words = {**SUBJECTS[subject], "sizes": sizes, "nbytes": nbytes, "times": times}
    found = mpi(2, "job.py", json.dumps(words))
    if "absent" in found:
        report.absent[subject] = found["absent"]
        return
    record(report, subject, found)


def measure_in_c(report: common.Report, nbytes: int) -> None:
    """Take one turn of the library in C, and of messages by hand beside it."""
    mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or "mpiexec"
    with tempfile.TemporaryDirectory() as folder:
        try:
            program = str(compiled("hand", Path(folder)))
        except (OSError, subprocess.CalledProcessError) as error:
            report.absent[IN_C] = f"not compiled: {error}"
            return
        for words in ([str(nbytes), "3"], ["spawn"], ["empty"]):
            found = started([mpiexec, "-n", "2", program, *words])
            if isinstance(found, dict):
                report.absent[IN_C] = found["absent"]
                return
            for case, seconds in (pair for line in found for pair in json.loads(line).items()):
                report.add(IN_C, TITLES.get(case, f"4 to 2, {case} s"), seconds, "s")


def measure_often(report: common.Report, resizes: int) -> None:
    """Take what rank 0 holds after the tenth resize of a job, and after the last."""
    found = mpi(2, "growth.py", str(resizes))
    if "absent" in found:
        report.absent[OFTEN] = found["absent"]
        return
    names = (("descriptors more", ""), ("threads more", ""), ("memory more", "KiB"))
    for (name, unit), tenth, last in zip(names, found[9], found[-1], strict=True):
        report.add(OFTEN, f"{name}, 10 to {resizes} resizes", last - tenth, unit)


def record(report: common.Report, subject: str, found: dict[str, Any]) -> None:
    """Add the figures of one run."""
    by_size: dict[int, list[float]] = {}
    for size, seconds in found["steps"]:
        by_size.setdefault(size, []).append(seconds)
    rows = zip(found["resizes"], found["excess"], found["uses"], strict=False)
    for resize, excess, use in rows:
        if resize["error"]:
            report.absent[subject] = resize["error"]
            return
        pair = f"{resize['before']} to {resize['after']}"
        for case in ("spawn", "data", "total"):
            report.add(subject, f"{pair}, {case} s", resize[f"{case}_s"], "s")
        report.add(subject, f"{pair}, data and first use s", resize["data_s"] + use, "s")
        report.add(subject, f"{pair}, moved", resize["moved_nbytes"] / 1e6, "MB")
        report.add(subject, f"{pair}, memory beyond both shares", excess / 2**20, "MiB")
        if resize["data_steps"] and resize["data_s"]:
            undisturbed = float(np.median(by_size[resize["before"]]))
            done = 100 * resize["data_steps"] * undisturbed / resize["data_s"]
            report.add(subject, f"{pair}, work meanwhile", done, "%")


def claims(report: common.Report, nbytes: int) -> list[common.Claim]:
    """Compare with what was wanted."""
    one, both = report.median(COPY, ONE), report.median(COPY, BOTH)
    plan = plans.plan(plans.even(nbytes // 64, 4), plans.even(nbytes // 64, 2))
    must = 64 * plan.moved()
    found = []
    seconds = report.median("dense messages merge-p2p-sync", "4 to 2, data s")
    rate = common.ratio(must / 1e9, seconds)
    share = None if rate is None else common.ratio(100 * rate, one)
    name = "of one core's copy bandwidth, 4 to 2 into warm pages, messages"
    found.append(common.at_least(name, share, 75, "%"))
    if rate is not None and both is not None:
        report.notes = [f"messages reach {100 * rate / both:.0f} % of what two cores copy, 4 to 2"]
    first = report.median("dense shared merge-p2p-sync", "2 to 4, data s")
    name = "2 to 4 with 1 GB, relabelled, shared (prototype 0.19)"
    found.append(common.at_most(name, first, 0.19 * nbytes / 1e9, "s"))
    plain = report.median("dense messages merge-p2p-sync, rank r stays rank r", "2 to 4, data s")
    name = "2 to 4 with 1 GB, messages, rank r stays rank r (prototype 0.39)"
    found.append(common.at_most(name, plain, 0.39 * nbytes / 1e9, "s"))
    first = report.median("dense messages merge-p2p-sync", "2 to 4, data s")
    name = "2 to 4 with 1 GB, messages, relabelled (prototype 0.19)"
    found.append(common.at_most(name, first, 0.19 * nbytes / 1e9, "s"))
    moved = report.median("dense messages merge-p2p-sync", "4 to 2, moved")
    over = None if moved is None else moved * 1e6 / must
    found.append(common.at_most("bytes moved over the plan's minimum, 4 to 2", over, 1, "x"))
    # Where memory is shared nothing moves, and a step in between is no measure.
    work = report.median("dense messages merge-p2p-nonblocking", "2 to 4, work meanwhile")
    found.append(common.at_least("the sources' work while data moves, 2 to 4", work, 60, "%"))
    for name, before, after in (
        ("Python's messages over messages by hand, 2 to 4", 2, 4),
        ("Python's messages over messages by hand, 4 to 2", 4, 2),
    ):
        case = f"{before} to {after}, data s"
        mine = report.median("dense messages merge-p2p-sync", case)
        by_hand = report.median(BY_HAND, case)
        found.append(common.at_most(name, common.ratio(mine, by_hand), 1.03, "x"))
    in_c = [report.median(IN_C, f"4 to 2, {case} s") for case in ("library", "by hand")]
    name = "a resize in C over messages by hand, 4 to 2"
    found.append(common.at_most(name, common.ratio(*in_c), 1.03, "x"))
    spawned = report.median(IN_C, SPAWNED)
    found.append(common.at_most("16 more ranks of a program in C", spawned, 0.5, "s"))
    over = common.ratio(spawned, report.median(IN_C, SPAWNED_BY_HAND))
    name = "16 more ranks of a program in C over MPI_Comm_spawn of an empty one"
    found.append(common.at_most(name, over, 1.5, "x"))
    found.append(
        common.at_most("CSR over dense, by byte, first use included", of_csr(report), 1.1, "x")
    )
    found.append(common.at_most("overlapped over synchronous, 8 to 1", of_overlap(report), 3, "x"))
    more = [
        float(figure["median"])
        for case, figure in report.figures.get(OFTEN, {}).items()
        if figure["unit"] != "KiB"
    ]
    name = "descriptors and threads more after many resizes of a job"
    found.append(common.at_most(name, max(more, default=None), 0, ""))
    excesses = [
        float(figure["median"])
        for cases in report.figures.values()
        for case, figure in cases.items()
        if case.endswith("beyond both shares")
    ]
    most = max(excesses, default=None)
    found.append(common.at_most("memory beyond old and new share", most, 64, "MiB"))
    return found


def of_csr(report: common.Report) -> float | None:
    """Return what a byte of a CSR matrix costs over one of dense rows, at worst."""
    ratios = []
    for pair in ("2 to 4", "4 to 2"):
        costs = [
            common.ratio(
                report.median(f"{kind} messages merge-p2p-sync", f"{pair}, data and first use s"),
                report.median(f"{kind} messages merge-p2p-sync", f"{pair}, moved"),
            )
            for kind in ("csr", "dense")
        ]
        ratios.append(common.ratio(*costs))
    known = [value for value in ratios if value is not None]
    return max(known) if known else None


def of_overlap(report: common.Report) -> float | None:
    """Return how much longer overlapped methods move rows from 8 to 1, at worst."""
    ratios = [
        common.ratio(
            report.median(subject, "8 to 1, data s"), report.median(sync, "8 to 1, data s")
        )
        for subject in SUBJECTS
        for strategy in ("nonblocking", "thread")
        if "messages" in subject and (sync := subject.replace(strategy, "sync")) != subject
    ]
    known = [value for value in ratios if value is not None]
    return max(known) if known else None


def alphas(report: common.Report) -> None:
    """Add the alpha of overlapped methods: their time over that of the synchronous ones."""
    for subject, cases in list(report.figures.items()):
        for strategy in ("nonblocking", "thread"):
            counterpart = subject.replace(strategy, "sync")
            if counterpart == subject:
                continue
            for case in [name for name in cases if name.endswith("total s")]:
                base = report.median(counterpart, case)
                value = common.ratio(float(cases[case]["median"]), base)
                if value is not None:
                    alpha = case.replace("total s", "alpha")
                    cases.pop(alpha, None)
                    report.add(subject, alpha, value, "x")


def main() -> None:
    """Measure, report and draw."""
    parser = common.parser("redistribution", QUESTION, [*BESIDE, *SUBJECTS])
    parser.add_argument("--short", action="store_true", help="2 to 4 and back only, twice")
    given = parser.parse_args()
    options = common.options("redistribution", given)
    before = common.machine()
    nbytes, sizes = NBYTES[options.quick], SHORT if options.quick or given.short else CHAIN
    times = work_times()
    report = common.Report(QUESTION, {"nbytes": nbytes, "chain": sizes})
    report.go_on(options)
    names = [name for name in SUBJECTS if name.split()[-1] in QUICK and "csr" not in name]
    quick = [*names, "dense messages merge-p2p-sync, rank r stays rank r"]
    quick.append("csr messages merge-p2p-sync")
    asked = options.only or (*BESIDE, *(quick if options.quick else SUBJECTS))

    def take(subject: str) -> None:
        measure(report, subject, nbytes, sizes, times)
        common.save(report, options, before)

    common.interleave(options.rounds, asked, take)
    alphas(report)
    report.claims = claims(report, nbytes)
    panels = [
        plots.Panel(f"{pair}, 1 GB", "s from the start to the last row", report.series(case))
        for pair in ("2 to 4", "4 to 2")
        if report.series(case := f"{pair}, total s")
    ]
    report.pictures = [plots.Dots("Resizing a job", panels, list(report.figures))]
    common.write(report, options, before)


if __name__ == "__main__":
    main()

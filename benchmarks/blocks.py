"""Measure what it costs to put an array, to map it in an executor, and to send it on.

Freestone against multiprocessing.shared_memory, ray and dask.distributed, and against what the
machine gives: the bandwidth of a copy into warm pages, and that of a unix socket between two
processes with the best of several buffer sizes.
"""

from __future__ import annotations

import sys
from pathlib import Path

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots, turns
from benchmarks.holders.arrays import MIB, size_name

QUESTION = "What does it cost to put an array, to map it in an executor, and to send it on?"
SUBJECTS = {
    "freestone": "freestone",
    "shared_memory": "shared_memory",
    "ray": "ray",
    "dask.distributed": "dask",
    "machine": "machine",
}
SIZES = {
    True: [MIB, 64 * MIB, 256 * MIB],
    False: [MIB, 16 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB],
}
REPEATS = {True: 2, False: 4}
NOTES = [
    "map: inside a worker process, from the start of the call's work until the array is in hand",
    "send: a call on the other worker until its answer; the largest size; 'first' into new pages",
    "socket: read into one buffer again and again; 'into memory': into as much as is sent",
    "ray: two nodes on this machine; dask.distributed shares nothing between processes",
]


def record(report: common.Report, subject: str, sizes: list[int], repeats: int) -> None:
    """Take one subject's turn and add its samples."""
    target = f"benchmarks.holders.{SUBJECTS[subject]}:measure"
    found = turns.take(target, sizes=sizes, repeats=repeats)
    if "absent" in found:
        report.absent[subject] = found["absent"]
        return
    for case, (value, unit) in found.pop("cases").items():
        report.add(subject, case, value, unit)
    report.settings[subject] = found


def claims(report: common.Report, sizes: list[int]) -> list[common.Claim]:
    """Compare with what was wanted."""
    maps = [report.median("freestone", f"map {size_name(nbytes)}") for nbytes in sizes]
    known = [value for value in maps if value is not None]
    sent, socket = report.median("freestone", "send"), report.median("machine", "socket")
    into_memory = report.median("machine", "socket into memory")
    slowest = max(known) if len(known) == len(sizes) else None
    return [
        common.at_most("mapping, the slowest size", slowest, 100, "us"),
        common.at_least("a transfer over the socket", common.ratio(sent, socket), 0.7, "x"),
        common.at_least(
            "a transfer over the socket into memory", common.ratio(sent, into_memory), 0.7, "x"
        ),
    ]


def picture(report: common.Report, sizes: list[int]) -> plots.Picture:
    """Return bandwidths, and the time to map the smallest and the largest array."""
    machine = report.figures.get("machine", {})
    limits = {f"the machine's {case}": float(machine[case]["median"]) for case in machine}
    copies = {name: value for name, value in limits.items() if "copy" in name}
    sockets = {name: value for name, value in limits.items() if "socket" in name}
    largest, smallest = size_name(max(sizes)), size_name(min(sizes))
    panels = [
        plots.Panel(f"Put {largest}", "GB/s", report.series("put"), copies),
        plots.Panel("Send to the other worker", "GB/s", report.series("send"), sockets),
        *(
            plots.Panel(f"Map {size}", "µs, lower is better", report.series(f"map {size}"))
            for size in (smallest, largest)
        ),
    ]
    order = [*SUBJECTS, "copy", "socket", "socket into memory"]
    subjects = [name for name in order if name != "machine"]
    return plots.Dots("Blocks between processes", panels, subjects)


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("blocks", QUESTION, list(SUBJECTS))
    before = common.machine()
    sizes, repeats = SIZES[options.quick], REPEATS[options.quick]
    report = common.Report(QUESTION, {"sizes": sizes, "repeats": repeats}, notes=list(NOTES))
    asked = options.only or tuple(SUBJECTS)
    report.absent = {name: "not asked for" for name in SUBJECTS if name not in asked}

    def measure(subject: str) -> None:
        if subject not in report.absent:
            record(report, subject, sizes, repeats)

    common.interleave(options.rounds, asked, measure)
    report.claims = claims(report, sizes)
    report.pictures = [picture(report, sizes)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()

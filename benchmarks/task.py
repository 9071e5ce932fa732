"""Measure what a task costs the manager's process, step by step.

Runs the Rust example `scale` of `freestone-simulate` under `perf`, which asks 499 times in a second
what the manager's thread does: 600 workers of 12 cores, each with a TLS connection of its own, and
tasks of a tenth of a second. Samples since the first submission count, each for the step that its
function belongs to. The processor time is what the example measures by itself.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import common, plots

QUESTION = "What does a task cost the manager's process, step by step?"
SUBJECT = "manager"
ROOTS, WORKERS, SHARE = 10_000, 600, 4
MAX_S = 280
THREAD = "freestone-manag"
MAX_FUNCTIONS = 8
"""So many functions of a step are named."""
FIRST = "::submission::"
"""What stands in the name of a function that runs once tasks come."""

KERNEL = "kernel"
CALLS = {
    "write": "writev|sendmsg|sendto",
    "read": "recvfrom|recvmsg|sys_read|readv",
    "poll": "epoll",
    "wake": "futex",
    "pages": "page_fault|brk|mmap|munmap|madvise",
}
"""Steps of the kernel, by the system call that a sample is in."""

STEPS = {
    "sockets": {
        "TLS": "rustls|ring|freestone_tls|aead|aes|gcm|polyval|gfni",
        "frames": "wire|serde|postcard",
        "connections": "freestone_core::net::(manager|connection|stream|held|poller)|mio|vdso",
    },
    "state machine": {
        "graph": "manager::graph|manager::table|recent|submission",
        "transfers": "manager::transfer",
        "schedule": "manager::schedule|manager::order|manager::shapes",
        "workers": "manager::members|Resources",
        "tables": "hashbrown|btree|BTree|smallvec|SmallVec|VecDeque|sort|iter",
        "events": "manager",
    },
    "memory": {
        "allocate": "malloc|free|realloc|calloc|unlink_chunk|consolidate|drop_in_place|drop_slow",
        "copy": "mem(move|cpy|set|cmp)",
    },
}
"""Steps of the program, by the name of the function that a sample is in."""
REST = ("program", "answers")


def step_of(frames: Sequence[str]) -> tuple[str, str, str]:
    """Return what a sample counts for, and its function; the innermost frame is first."""
    inner = frames[0]
    if any("syscall" in frame or frame.startswith("asm_") for frame in frames):
        matching = (
            step for step, call in CALLS.items() if any(re.search(call, frame) for frame in frames)
        )
        return KERNEL, next(matching, "all else"), inner
    for group, steps in STEPS.items():
        for step, pattern in steps.items():
            if re.search(pattern, inner):
                return group, step, inner
    return *REST, inner


def samples(text: str) -> Iterator[list[str]]:
    """Yield the frames of each sample since the first submission, by what `perf script` prints."""
    is_counted = False
    for sample in text.split("\n\n"):
        lines = [line.split(None, 1) for line in sample.splitlines()[1:]]
        frames = [line[1] for line in lines if len(line) == 2]
        is_counted |= any(FIRST in frame for frame in frames)
        if is_counted and frames:
            yield frames


def short(function: str) -> str:
    """Return a function's name without its path, as a person reads it."""
    bare = re.sub(r"<impl [^>]*>::|<[^<>]*>|\{\{.*?\}\}|::h[0-9a-f]{16}", "", function)
    return "::".join([part for part in bare.split("::") if part][-2:]) or function


def flame(counts: Counter[tuple[str, str, str]], us_per_task: float) -> list[plots.Part]:
    """Return groups, their steps and the dearest functions of each, in microseconds a task."""
    groups: dict[str, dict[str, Counter[str]]] = {}
    for (group, step, function), count in counts.items():
        steps = groups.setdefault(group, {})
        steps.setdefault(step, Counter())[short(function)] += count
    one = us_per_task / counts.total()

    def part(name: str, count: int, inner: list[plots.Part]) -> plots.Part:
        return plots.Part(name, round(count * one, 3), inner)

    def of_step(step: str, functions: Counter[str]) -> plots.Part:
        total = functions.total()
        dearest = [part(name, count, []) for name, count in functions.most_common(MAX_FUNCTIONS)]
        return part(f"{step} {total * one:.1f}", total, dearest)

    def of_group(group: str, steps: dict[str, Counter[str]]) -> plots.Part:
        total = sum(functions.total() for functions in steps.values())
        inner = [of_step(step, functions) for step, functions in steps.items()]
        return part(f"{group} {total * one:.1f}", total, sorted(inner, key=dearness))

    return sorted((of_group(*group) for group in groups.items()), key=dearness)


def dearness(part: plots.Part) -> float:
    """Return what sorts the dearest part first."""
    return -part.value


def build() -> Path:
    """Compile the example; its file."""
    cargo = os.environ.get("CARGO", "cargo")
    words = ["--locked", "--release", "-p", "freestone-simulate", "--example", "scale"]
    command = [cargo, "build", "-q", *words, "--message-format", "json"]
    built = subprocess.run(command, cwd=common.ROOT, check=True, capture_output=True, text=True)
    messages = map(json.loads, built.stdout.splitlines())
    programs = [message["executable"] for message in messages if message.get("executable")]
    return Path(programs[-1])


def measure(report: common.Report, share: int) -> list[plots.Part]:
    """Run once under perf, add the figures, and return the steps."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "perf.data", Path(folder) / "scale.json"
        size = ["--roots", str(ROOTS // share), "--workers", str(WORKERS // share)]
        record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "499", "-g", "-o", str(data)]
        program = [str(build()), "--json", str(out), *size, "--mean", "0.1"]
        quiet = subprocess.DEVNULL
        subprocess.run([*record, *program], check=True, timeout=MAX_S, stdout=quiet)
        script = ["perf", "script", "-i", str(data), "--comm", THREAD, "-F", "comm,ip,sym"]
        text = subprocess.run(script, check=True, capture_output=True, text=True).stdout
        figures = json.loads(out.read_text())
    us_per_task = float(figures["manager_cpu_us_per_task"])
    counts = Counter(map(step_of, samples(text)))
    parts = flame(counts, us_per_task)
    report.add(SUBJECT, "cpu", us_per_task, "us/task", samples=sum(counts.values()))
    writes = float(figures["manager_writes_per_1000_tasks"])
    report.add(SUBJECT, "writes", writes, "for 1,000 tasks")
    for group in parts:
        for step in group.parts:
            case = " ".join([part.name.rsplit(" ", 1)[0] for part in (group, step)])
            report.add(SUBJECT, case, step.value, "us/task")
    return parts


def main() -> None:
    """Measure, report and draw."""
    options = common.parse("task", QUESTION)
    before = common.machine()
    share = SHARE if options.quick else 1
    settings = {"roots": ROOTS // share, "workers": WORKERS // share, "cores_of_a_worker": 12}
    report = common.Report(QUESTION, settings)
    parts: list[plots.Part] = []
    if shutil.which("perf") is None:
        report.absent[SUBJECT] = "perf is not installed"
    else:
        try:
            parts = measure(report, share)
        except (OSError, subprocess.SubprocessError) as error:
            report.absent[SUBJECT] = f"failed: {error}"
    report.claims = [
        common.at_most("processor time", report.median(SUBJECT, "cpu"), 10, "us/task"),
    ]
    label = "µs of the manager's thread for each task, by step and by function"
    report.pictures = [plots.Flame("What a task costs the manager's process", label, parts)]
    common.write(report, options, before)


if __name__ == "__main__":
    main()

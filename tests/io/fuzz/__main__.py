"""Fuzz one reader, or go on: ``python -m tests.io.fuzz parquet --to 1000000 --log runs``.

A process of its own takes seeds in turn, each within a time and a memory limit; what it says of
each few thousand goes into ``runs/parquet.jsonl``, of which a later run reads where to go on. Seeds
that kill the process, take too long, take too much memory, or end in an error that is no refusal
are findings; `--seed` shows one.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import json
import mmap
import random
import resource
import signal
import struct
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from tests.io.fuzz.quick import quicken

CPU_S = 3.0
# A process that waits uses no processor; on a machine that others use, it may also get none.
WALL_S = 300.0
# Files are of a few thousand bytes, and of what they say is read 16 MiB at most.
GROWTH_KIB = 512 << 10
ADDRESSES = 8 << 30
COLLECT = 500


def main(words: list[str] | None = None) -> int:
    """Run, or go on; 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--to", type=int, default=1_000_000, help="seeds up to this one")
    parser.add_argument("--chunk", type=int, default=20_000, help="seeds of one process")
    parser.add_argument(
        "--log", type=Path, default=Path("fuzz-runs"), help="folder of what is said"
    )
    parser.add_argument("--seed", type=int, help="only this one, and what it raises")
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--at", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.seed is not None:
        return show(given.target, given.seed, given.log)
    if given.first is not None:
        return work(given.target, given.first, given.to, given.at)
    return supervise(given.target, given.to, given.chunk, given.log)


def supervise(name: str, to: int, chunk: int, folder: Path) -> int:
    """Start a process for each chunk of seeds, and note what came of it."""
    folder.mkdir(parents=True, exist_ok=True)
    log, at = folder / f"{name}.jsonl", folder / f"{name}.at"
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    first = max((line["next"] for line in lines), default=0)
    found = sum("finding" in line for line in lines)
    while first < to:
        begun = time.monotonic()
        at.write_bytes(struct.pack("<q", first))
        said = _chunk(name, first, min(first + chunk, to), at)
        said["seconds"] = round(time.monotonic() - begun, 1)
        with log.open("a") as file:
            file.write(json.dumps(said) + "\n")
        found += "finding" in said
        first = said["next"]
        print(name, json.dumps(said), flush=True)
    return 1 if found else 0


def _chunk(name: str, first: int, to: int, at: Path) -> dict[str, Any]:
    words = [sys.executable, "-m", "tests.io.fuzz", name, "--first", str(first), "--to", str(to)]
    done = subprocess.run([*words, "--at", str(at)], capture_output=True, text=True)
    if done.returncode == 0:
        return {"first": first, "next": to, **json.loads(done.stdout.splitlines()[-1])}
    (seed,) = struct.unpack("<q", at.read_bytes())
    reason = done.stderr[-2000:]
    if done.returncode < 0:
        reason = f"{signal.Signals(-done.returncode).name} {reason}"
    return {"first": first, "next": seed + 1, "finding": seed, "reason": reason}


def work(name: str, first: int, to: int, at: Path) -> int:
    """Read the files of some seeds; the one in work is always in a file that others map."""
    from tests.io.fuzz.targets import TARGETS

    target = TARGETS[name]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    # They end the process once it is told where it is.
    faulthandler.enable(all_threads=False)
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
        faulthandler.register(number, all_threads=False, chain=True)
    quicken(target.library)
    target.keep(at.with_suffix(".samples"))
    target.prepare()
    # What is there by now is not looked at again and again.
    gc.freeze()
    outcomes = Counter[bool]()
    with at.open("r+b") as file, mmap.mmap(file.fileno(), 8) as shown:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for seed in range(first, to):
            struct.pack_into("<q", shown, 0, seed)
            signal.setitimer(signal.ITIMER_PROF, CPU_S)
            signal.setitimer(signal.ITIMER_REAL, WALL_S)
            outcomes[target.tell(seed)] += 1
            if seed % COLLECT == 0:
                gc.collect()
            now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            if now > peak + GROWTH_KIB:
                raise MemoryError(f"seed {seed} took {now - peak:,} KiB")
            # Cycles wait for the next collection, and are no seed's alone.
            peak = now
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(json.dumps({"read": outcomes[True], "refused": outcomes[False]}))
    return 0


def show(name: str, seed: int, folder: Path) -> int:
    """Print the file of a seed, and what it raises."""
    from tests.io.fuzz.targets import TARGETS

    target = TARGETS[name]
    folder.mkdir(parents=True, exist_ok=True)
    target.keep(folder / f"{name}.samples")
    print(target.file(random.Random(seed)), flush=True)
    try:
        print("read" if target.tell(seed) else "refused")
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The process that tries cases; it ends with a case that takes too long, or too much memory.

The seed in work is in a file that others can read, whatever becomes of this process.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import mmap
import os
import resource
import signal
import struct
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.fuzz.fuzzers import Check, Fuzzer

__all__ = ["NONE_YET", "work"]

NONE_YET = -1
"""The seed in work before the first one."""

# Compilers may have to run first.
OPENING_S = 1800.0
CPU_S = 3.0
# Files are of a few thousand bytes, and of what they say is read 16 MiB at most.
GROWTH_KIB = 512 << 10
ADDRESSES = 8 << 30


def main() -> None:
    """Try the seeds that are given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fuzzer", type=Fuzzer.from_json)
    parser.add_argument("folder", type=Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("--range", nargs=2, type=int)
    given = parser.parse_args()
    seeds = given.seeds or range(*given.range)
    work(given.fuzzer, seeds, given.seconds, given.folder)


def work(fuzzer: Fuzzer, seeds: Iterable[int], seconds: float, folder: Path) -> None:
    """Try seeds until the time is over, and note what is wrong with them."""
    _limit(fuzzer)
    signal.setitimer(signal.ITIMER_REAL, OPENING_S)
    cases = 0
    with fuzzer.open() as check, _shown(folder / "seed") as shown:
        end = time.monotonic() + seconds
        for seed in seeds:
            if cases and time.monotonic() > end:
                break
            struct.pack_into("<q", shown, 0, seed)
            _forget_output()
            with _timed(fuzzer):
                wrong = _wrong(check, seed)
            cases += 1
            if wrong is not None:
                _note(folder, {"seed": seed, "text": wrong})
        signal.setitimer(signal.ITIMER_REAL, OPENING_S)
    _note(folder, {"cases": cases})


def _wrong(check: Check, seed: int) -> str | None:
    try:
        return check(seed)
    except Exception as error:
        return f"{type(error).__name__}: {error}\n{traceback.format_exc()}"


def _limit(fuzzer: Fuzzer) -> None:
    """Let signals end this process, once it is shown where it is."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable(all_threads=False)
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
        faulthandler.register(number, all_threads=False, chain=True)
    if fuzzer.is_bounded:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))


@contextlib.contextmanager
def _timed(fuzzer: Fuzzer) -> Iterator[None]:
    signal.setitimer(signal.ITIMER_REAL, fuzzer.limit_s)
    if not fuzzer.is_bounded:
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    before = _peak_kib()
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    if _peak_kib() > before + GROWTH_KIB:
        raise MemoryError(f"it took {_peak_kib() - before:,} KiB")


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@contextlib.contextmanager
def _shown(path: Path) -> Iterator[mmap.mmap]:
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 8) as shown:
        yield shown


def _forget_output() -> None:
    """Begin the file that all is printed into anew: what is in it at the end is one case's."""
    sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.ftruncate(1, 0)


def _note(folder: Path, reported: dict[str, object]) -> None:
    with (folder / "report").open("a") as file:
        file.write(json.dumps(reported) + "\n")


if __name__ == "__main__":
    main()

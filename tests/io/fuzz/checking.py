"""The check of a reader: damaged files are read or refused."""

from __future__ import annotations

import contextlib
import gc
import random
import traceback
import zlib
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.fuzzers import Check
from tests.io.fuzz import seeds
from tests.io.fuzz.quick import quicken
from tests.io.fuzz.targets import TARGETS

__all__ = ["checking"]

# Some libraries write random names into files, so that a seed needs its samples to be the same.
KEPT = Path(__file__).resolve().parents[3] / "target" / "fuzz"
COLLECT = 500


@contextlib.contextmanager
def checking(name: str) -> Iterator[Check]:
    """Open the check of a target; all else in this process is put out of the way."""
    target = TARGETS[name]
    quicken(target.library)
    KEPT.mkdir(parents=True, exist_ok=True)
    source = zlib.crc32(Path(seeds.__file__).read_bytes())
    target.keep(KEPT / f"{name}-{source:x}.samples")
    target.prepare()
    # What is there by now is not looked at again and again.
    gc.freeze()

    def check(seed: int) -> str | None:
        if seed % COLLECT == 0:
            gc.collect()
        try:
            target.tell(seed)
        except Exception as error:
            file = target.file(random.Random(seed))
            return f"{type(error).__name__}: {error}\n{traceback.format_exc()}\n{file!r}"
        return None

    yield check

"""A check with faults that are planted, to see that each is found."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator

from tests.fuzz.fuzzers import Check, Fuzzer

__all__ = ["PLANTED"]

FAULTY = 3


@contextlib.contextmanager
def checking(fault: str) -> Iterator[Check]:
    """Open a check that goes wrong at one seed."""
    if fault == "no start":
        raise RuntimeError("there is no start")

    def check(seed: int) -> str | None:
        print(f"seed {seed} is tried", flush=True)
        return FAULTS[fault]() if seed == FAULTY else None

    yield check


def _spin() -> None:
    while True:
        pass


def _hang() -> None:
    time.sleep(3600)


def _grow() -> None:
    bytearray(b"x") * (600 << 20)


def _fail() -> None:
    _ = 1 // 0


FAULTS: dict[str, Callable[[], str | None]] = {
    "differ": lambda: "one is not two\nand this is why",
    "fail": _fail,
    "crash": os.abort,
    "hang": _hang,
    "spin": _spin,
    "grow": _grow,
}
PLANTED = {
    fault: Fuzzer(
        fault,
        "nothing with nothing",
        "tests.fuzz.planted",
        (fault,),
        limit_s=5.0 if fault == "hang" else 300.0,
        is_bounded=fault in {"spin", "grow"},
    )
    for fault in (*FAULTS, "no start")
}

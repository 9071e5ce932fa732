"""From which size on threads pay on the processor that runs: measured once, and kept.

Results have the same digits with and without. What was measured is kept for each model of
processors in the user's cache folder (``$XDG_CACHE_HOME/freestone``, or ``~/.cache/freestone``).

See docs/decisions/118-where-threads-pay-is-measured-once-per-processor.md
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from freestone.replacing import replaced

__all__ = [
    "MAX_ALONE_NBYTES",
    "MIN_ALONE_NBYTES",
    "Calibration",
    "calibrated",
    "is_busy",
    "keep",
    "kept",
    "kept_in",
    "measured",
    "processor",
]

MAX_ALONE_NBYTES = 5 << 20
"""What one thread may read and write at most before a plan's threads pay, wherever that is."""
MIN_ALONE_NBYTES = 1 << 20
"""The least of it: less takes as long as a plan does before its first element."""
PLAN_S = 15e-6
"""What a plan takes that is not the loop itself."""
SHAPE = (500, 400)
TURNS = 15
VERSION = 1


@dataclass(frozen=True, slots=True)
class Calibration:
    """Where threads pay, and the seconds that tell so.

    Attributes
    ----------
    alone_nbytes : int
        What a value's operations read and write together at most for one thread to be faster than a
        plan with several.
    is_measured : bool
        Whether this is of a measurement.
    figures : dict
        Seconds, by what took them.
    """

    alone_nbytes: int = MAX_ALONE_NBYTES
    is_measured: bool = False
    figures: dict[str, float] | None = None


def processor() -> str:
    """Return the model of the processors, and how many this process may use."""
    model = "unknown"
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
        model = names[0] if names else model
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def kept_in() -> Path:
    """Return the file that calibrations are kept in."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    # The specification has relative paths ignored.
    root = Path(folder if folder.startswith("/") else os.path.expanduser("~/.cache"))
    # Who has no home keeps nothing: there is nothing below this.
    return (root if root.is_absolute() else Path(os.devnull)) / "freestone" / "calibration.json"


def kept() -> Calibration | None:
    """Return what is kept for this processor; None if nothing is, or nothing that makes sense."""
    found = _all_kept().get(processor())
    if not isinstance(found, dict):
        return None
    nbytes, figures = found.get("alone_nbytes"), found.get("figures")
    if not isinstance(nbytes, int) or not MIN_ALONE_NBYTES <= nbytes <= MAX_ALONE_NBYTES:
        return None
    return Calibration(nbytes, True, figures if isinstance(figures, dict) else None)


def _all_kept() -> dict[str, Any]:
    try:
        found = json.loads(kept_in().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    fits = isinstance(found, dict) and found.get("version") == VERSION
    processors = found.get("processors") if fits else None
    return processors if isinstance(processors, dict) else {}


def keep(calibration: Calibration) -> bool:
    """Keep a calibration for this processor; tell whether the folder can be written."""
    path = kept_in()
    own = {key: value for key, value in asdict(calibration).items() if key != "is_measured"}
    content = {"version": VERSION, "processors": {**_all_kept(), processor(): own}}
    try:
        with replaced(path) as part:
            part.write_text(json.dumps(content, indent=1), encoding="utf-8")
    except OSError:
        return False
    return True


def is_busy() -> bool:
    """Tell whether others use so much of the processors that a measurement would be of them."""
    return os.getloadavg()[0] > len(os.sched_getaffinity(0)) / 2


@cache
def calibrated() -> Calibration:
    """Return what is kept; if nothing is, measure and keep it.

    On a busy machine nothing is measured: what holds everywhere is chosen.

    Notes
    -----
    The first call in a process reads a file; a measurement takes at most 0.1 s.
    """
    found = kept()
    if found is None:
        if is_busy():
            return Calibration()
        found = measured()
        keep(found)
    return found


def measured() -> Calibration:
    """Measure a sum of two matrices by one thread and by all."""
    import numpy as np

    from freestone._native.vector import run_pipeline
    from freestone.lang.front.types.types import CODES
    from freestone.lang.settings import Settings

    code = CODES["f64"]
    one, other, out = (np.ones(SHAPE) for _ in range(3))
    given = [(code, "full", side, 0.0, 0) for side in (one, other)]
    add, store = [("binary", "add", code, [0, 1])], [("store", "", 2, out)]

    def planned() -> None:
        run_pipeline(SHAPE, given, None, add, store, Settings())

    alone_s, all_s = _least(lambda: np.add(one, other, out), planned)
    nbytes = 3 * one.nbytes
    saved_s = (alone_s - all_s) / nbytes
    # As much as that of many threads has to be saved, or there are none.
    nearly = all_s > 0.8 * alone_s
    alone_nbytes = MAX_ALONE_NBYTES if nearly else int(PLAN_S / saved_s)
    return Calibration(
        min(max(alone_nbytes, MIN_ALONE_NBYTES), MAX_ALONE_NBYTES),
        is_measured=True,
        figures={"one_thread_s": alone_s, "all_threads_s": all_s},
    )


def _least(*ways: Callable[[], object]) -> list[float]:
    """Return the least seconds of each way, taken in turn."""
    least = [float("inf")] * len(ways)
    for _ in range(TURNS):
        for at, way in enumerate(ways):
            begin = time.perf_counter()
            way()
            least[at] = min(least[at], time.perf_counter() - begin)
    return least

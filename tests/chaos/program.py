"""A program of a served cluster that may be killed, and run again.

``python -m tests.chaos.program JOB FOLDER`` prints "right", or what is wrong with its results.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import freestone as fs
from tests.fuzz.load import JOBS

__all__ = ["NAMES"]

RECONNECT_S = 120
SEED = 11


def _dv3(run: Callable[[Any, fs.Cluster], Any], folder: Path) -> str | None:
    from examples.dv3 import __main__ as dv3
    from examples.dv3.samples import make_samples
    from tests.examples.test_hep import real, same

    samples = make_samples(real("pfnano.root"), folder, files=16, events=5)
    found = run(samples, fs.connect("lab", reconnect_s=RECONNECT_S))
    if wrong := dv3.mistakes(samples, found):
        return "\n".join(wrong)
    return None if same(found, dv3.by_dask(samples, "synchronous")) else "other bins than Dask's"


def _by_dask(samples: Any, cluster: fs.Cluster) -> Any:
    from examples.dv3.__main__ import by_dask

    return by_dask(samples, cluster.get)


def _by_calls(samples: Any, cluster: fs.Cluster) -> Any:
    from examples.dv3.__main__ import by_calls

    return by_calls(samples, cluster)


def _of_load(job: str) -> Callable[[Path], str | None]:
    return lambda _: JOBS[job](fs.connect("lab", reconnect_s=RECONNECT_S), SEED)


_PROGRAMS: dict[str, Callable[[Path], str | None]] = {
    "dv3-by-dask": lambda folder: _dv3(_by_dask, folder),
    "dv3-by-calls": lambda folder: _dv3(_by_calls, folder),
    **{job: _of_load(job) for job in ("graphs", "actors", "streams", "nested calls")},
}
NAMES = list(_PROGRAMS)
"""What the programs do."""

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    job, where = sys.argv[1:]
    print(_PROGRAMS[job](Path(where)) or "right")

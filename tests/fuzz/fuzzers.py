"""All fuzzers: what each compares, and where its check is.

A check is a function of a seed: it draws a case, and returns what is wrong with it, or None. The
first line of that text says it in short. Equal seeds draw equal cases.
"""

from __future__ import annotations

import importlib
import json
import tomllib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["FUZZERS", "Check", "Fuzzer"]

Check = Callable[[int], str | None]
CASES = Path(__file__).with_name("cases.toml")


@dataclass(frozen=True)
class Fuzzer:
    """A way to draw cases, and to see whether they are right.

    Attributes
    ----------
    name : str
        What it is called by.
    compares : str
        What with what.
    module : str
        Whose `checking` opens the check.
    words : tuple of str
        What `checking` is given.
    fixed : int
        The seeds below this one are tests.
    share : float
        Of the time, compared with the others.
    limit_s : float
        A case that takes longer is a finding; a processor that others use as well is slow.
    is_bounded : bool
        Whether a case that takes seconds of processor time, or much memory, is a finding, too.
    """

    name: str
    compares: str
    module: str
    words: tuple[str, ...] = ()
    fixed: int = 0
    share: float = 1.0
    limit_s: float = 300.0
    is_bounded: bool = False

    def open(self) -> AbstractContextManager[Check]:
        """Open its check, with what that needs."""
        opened: AbstractContextManager[Check]
        opened = importlib.import_module(self.module).checking(*self.words)
        return opened

    def as_json(self) -> str:
        """Return it for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Fuzzer:
        """Return the fuzzer of a text as `as_json` makes it."""
        return cls(**json.loads(text))

    def known(self, state: str) -> list[int]:
        """Return the seeds of former findings: those that are "mended", or those "open"."""
        table = tomllib.loads(CASES.read_text("utf-8"))
        return list(table.get(self.name, {}).get(state, []))


def _reader(name: str, fixed: int) -> Fuzzer:
    return Fuzzer(
        f"read-{name}",
        f"damaged files of {name} are read, or refused by a FormatError",
        "tests.io.fuzz.checking",
        (name,),
        fixed,
        share=0.25,
        is_bounded=True,
    )


OUR_READERS = ["csv", "csv-triples", "dbdf", "mtx", "npy", "meta", "layout", "layout-text"]
OUR_READERS += ["netcdf3", "netcdf3-times", "netcdf3-texts"]
READERS_OF_LIBRARIES = ["parquet", "arrow", "avro", "tdms", "root", "rntuple", "zarr"]
_ALL = [
    Fuzzer(
        "arrays", "expressions of arrays: blocks with NumPy", "tests.collections.fuzz", (), 1500
    ),
    Fuzzer(
        "arrays-on-cluster",
        "expressions of arrays: blocks on a cluster with NumPy",
        "tests.collections.fuzz",
        ("cluster",),
        80,
    ),
    Fuzzer(
        "scripts", "scripts in every mode of the engine with plain runs", "tests.lang.fuzz", (), 53
    ),
    Fuzzer(
        "mixed-scripts",
        "scripts of mixed types, overloads and early returns in every mode with plain runs",
        "tests.lang.fuzz",
        ("mixed",),
        53,
    ),
    Fuzzer(
        "scripts-on-cluster",
        "scripts on a cluster with plain runs",
        "tests.lang.fuzz",
        ("cluster",),
        12,
    ),
    Fuzzer("graphs", "Dask graphs: Cluster.get with dask.get", "tests.outside.fuzz_graphs", (), 45),
    Fuzzer(
        "bindings",
        "calls of the native module: a value or an exception",
        "tests.bindings.fuzz",
        (),
        3,
    ),
    Fuzzer(
        "resizes",
        "malleable data in one process with a job of one rank",
        "tests.malleable.fuzz",
        (),
        200,
    ),
    Fuzzer(
        "resizes-by-mpi", "malleable jobs of MPI with one rank", "tests.malleable.fuzz", ("real",)
    ),
    Fuzzer(
        "read-states",
        "damaged states of malleable jobs are read, or refused by a SavedStateError",
        "tests.malleable.fuzz",
        ("states",),
        1000,
    ),
    Fuzzer(
        "manager",
        "histories of the manager end well",
        "tests.fuzz.rust",
        ("manager_histories", "every_history_ends_well"),
    ),
    Fuzzer(
        "events",
        "histories of events keep the rules and end",
        "tests.fuzz.rust",
        ("histories", "random_histories"),
    ),
    Fuzzer("decoders", "damaged frames are refused in bounds", "tests.fuzz.rust", ("decoders", "")),
    Fuzzer(
        "parsers", "damaged texts are read or refused", "tests.fuzz.rust", ("readers", "mutated")
    ),
    *(_reader(name, 1500) for name in OUR_READERS),
    *(_reader(name, 150) for name in READERS_OF_LIBRARIES),
]
FUZZERS = {fuzzer.name: fuzzer for fuzzer in _ALL}

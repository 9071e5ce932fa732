"""The kit for built-in functions of DaphneDSL."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from freestone.cluster import Cluster
from freestone.lang.front.builtins import find
from freestone.lang.front.parse.source import Source
from freestone.lang.run.distributed.running import DistributedRun
from freestone.lang.run.local import Run
from freestone.lang.script import compile_source
from freestone.lang.settings import Settings
from freestone.testing.expecting import expect, expecting_no_error

__all__ = ["check_builtin"]

TOLERANCE = 1e-9


def check_builtin(name: str, cases: Iterable[tuple[Sequence[Any], Any]]) -> None:
    """Check a built-in function: what it makes in every way in which scripts run.

    Parameters
    ----------
    name
        Its name in scripts: one of freestone's, or an entry point in ``freestone.builtins`` of a
        package that is installed.
    cases
        Arguments, which are matrices of two dimensions or numbers, and the matrix or number that
        the function makes of them.

    Raises
    ------
    AssertionError
        If the function is not there, fails, or makes something else in any of the ways; it names
        the case, the way and both values.

    Notes
    -----
    Each case runs operation by operation, in fused pipelines, and with matrices in the blocks of a
    cluster, which is opened for the check.
    """
    function = find(name)
    expect(function is not None, f"there is no built-in function {name!r}")
    cases = list(cases)
    expect(cases, f"there are no cases to check {name!r} with; give one at least")
    with tempfile.TemporaryDirectory() as folder, Cluster(workers=2, executors=1) as cluster:
        ways = {
            "operation by operation": Settings(),
            "in pipelines": Settings(vec=True, num_threads=2),
            "in a cluster": Settings(distributed=True, vec=True, distributed_bytes=0),
        }
        for number, (arguments, wanted) in enumerate(cases):
            for way, settings in ways.items():
                what = f"case {number} of {name}, {way}"
                with expecting_no_error(what):
                    found = _made(name, arguments, settings, cluster, folder)
                _compare(found, np.asarray(wanted), what)


def _made(
    name: str, arguments: Sequence[Any], settings: Settings, cluster: Cluster, folder: str
) -> Any:
    """Run a script that calls the function, and return what it writes."""
    words = []
    for number, argument in enumerate(arguments):
        if np.ndim(argument) == 0:
            words.append(str(argument))
            continue
        path = os.path.join(folder, f"argument-{number}.npy")
        np.save(path, argument)
        words.append(f'readMatrix("{path}")')
    path = os.path.join(folder, "result.npy")
    text = f'writeMatrix(as.matrix({name}({", ".join(words)})), "{path}");'
    program = compile_source(Source(text, "check"), {}, settings)
    out = io.StringIO()
    run = (
        DistributedRun(settings, cluster.client, out)
        if settings.distributed
        else Run(settings, out)
    )
    run.program(program)
    return np.load(path)


def _compare(found: Any, wanted: Any, what: str) -> None:
    wanted = wanted.reshape(1, 1) if wanted.ndim == 0 else wanted
    expect(found.shape == wanted.shape, f"{what}: shape {found.shape}, wanted {wanted.shape}")
    is_close = np.allclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    expect(is_close, f"{what}: {found!r}, and {wanted!r} was wanted")

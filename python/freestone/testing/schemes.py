"""What schemes of loops have to do."""

from __future__ import annotations

import io
from itertools import product

from freestone.lang.schemes import cut_by
from freestone.lang.script import run_text
from freestone.lang.settings import Settings
from freestone.testing.expecting import expect, expecting_no_error

__all__ = ["check_scheme"]

ROWS = (1, 2, 7, 64, 1000, 100_003)
WORKERS = (1, 2, 3, 16)


def check_scheme(name: str) -> None:
    """Check a scheme: every row is in one task, each time in the same, and scripts run with it.

    Parameters
    ----------
    name
        What ``partitioning`` calls it: one of freestone's, or an entry point in
        ``freestone.schemes`` of a package that is installed.

    Raises
    ------
    AssertionError
        If a size differs when asked for again, does not add up to the rows, or a script's result
        differs; it names the call.

    Notes
    -----
    Sizes are asked for from 1 to 100,003 rows and 1 to 16 workers. Then a script runs with one,
    two and three threads, with one queue and with one for each thread.
    """
    with expecting_no_error(f"the scheme {name}"):
        cut = cut_by(name)
    if callable(cut):
        for rows, workers in product(ROWS, WORKERS):
            call = f"sizes({rows}, {workers}) of {name}"
            with expecting_no_error(call):
                first, second = cut(rows, workers), cut(rows, workers)
            expect(first == second, f"{call} are not the same when asked for again")
    _check_script(name)


def _check_script(name: str) -> None:
    # Whole numbers: their sum is exact in any order.
    text = "X = seq(0.0, 4999.0, 1.0); print(sum(X * X));"
    wanted = _printed(text, Settings())
    for threads, layout, shared in product((1, 2, 3), ("CENTRALIZED", "PERCPU"), (False, True)):
        settings = Settings(
            vec=True,
            partitioning=name,
            num_threads=threads,
            queue_layout=layout,
            pre_partition=shared,
        )
        what = f"a script with {name}, {threads} threads, {layout}"
        with expecting_no_error(what):
            found = _printed(text, settings)
        expect(found == wanted, f"{what}: {found!r}, wanted {wanted!r}")


def _printed(text: str, settings: Settings) -> str:
    out = io.StringIO()
    run_text(text, (), settings, out)
    return out.getvalue()

"""Random scripts: every mode of the engine, and a cluster, against a plain run."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Iterator
from typing import Any

from freestone import Cluster
from freestone.lang.compile import fusion
from freestone.lang.settings import LAYOUTS, SCHEMES, VICTIMS
from tests.fuzz.fuzzers import Check
from tests.lang.mixed_programs import MixedWriter
from tests.lang.random_programs import Writer
from tests.lang.scripts import outcome, outcome_on

MODES = 5
"""In how many modes a script runs."""


def modes(seed: int) -> Iterator[dict[str, Any]]:
    """Yield modes to run a script in: settings, and "small" if single operations are fused."""
    draw = random.Random(seed)
    csr = draw.random() < 0.3
    for _ in range(MODES):
        mode: dict[str, Any] = {"vec": draw.random() < 0.85, "select_matrix_repr": csr}
        mode["num_threads"] = draw.randint(1, 3)
        if draw.random() < 0.5:
            mode["partitioning"] = draw.choice(list(SCHEMES))
            mode["queue_layout"] = draw.choice(list(LAYOUTS))
            mode["victim_selection"] = draw.choice(list(VICTIMS))
            mode["grain_size"] = draw.randint(1, 5)
            mode["batch_bytes"] = draw.choice([0, 64, 1024])
        for name, share in (("restricted", 0.1), ("pre_partition", 0.1), ("small", 0.3)):
            mode[name] = draw.random() < share
        for name in ("physical", "propagate", "forget"):
            mode[name] = draw.random() < 0.9
        if draw.random() < 0.3:
            mode["memory_bytes"] = draw.choice([500, 2000, 8000, 30_000])
        yield mode


def run(text: str, mode: dict[str, Any], cluster: Any = None) -> str:
    """Return what a script prints in a mode, and its error."""
    options = dict(mode)
    before = fusion.MANY_CELLS
    if options.pop("small", False):
        fusion.MANY_CELLS = 1
    try:
        if cluster is not None:
            return outcome_on(cluster, text, **options)
        return outcome(text, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        fusion.MANY_CELLS = before


def agree(one: str, other: str) -> bool:
    """Tell whether two outputs are the same, up to the last digits of sums."""
    if one == other:
        return True
    if "this needs" in other and "of memory at" in other:
        return True
    lines, others = one.splitlines(), other.splitlines()
    return len(lines) == len(others) and all(map(_alike, lines, others))


def _alike(line: str, other: str) -> bool:
    words, others = line.split(), other.split()
    return len(words) == len(others) and all(map(_close, words, others))


def _close(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        x, y = float(one), float(other)
    except ValueError:
        return False
    return (math.isnan(x) and math.isnan(y)) or math.isclose(x, y, rel_tol=1e-4, abs_tol=1e-3)


def findings(
    text: str, seed: int, cluster: Any = None
) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield each mode in which a script gives something else: the mode, plain's output, its own."""
    if cluster is not None:
        plain, found = run(text, {}), run(text, {}, cluster)
        if not agree(plain, found):
            yield {"distributed": True}, plain, found
        return
    for mode in modes(seed):
        plain = run(text, _same_forms(mode))
        found = run(text, mode)
        if not agree(plain, found):
            yield mode, plain, found


def _same_forms(mode: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a plain run whose results are CSR where those of a mode are.

    Of CSR, ``t(A) @ A`` is CSR as two operations, and dense as the one that stands for both.
    """
    if not mode.get("select_matrix_repr", False):
        return {}
    return {"select_matrix_repr": True, "physical": mode["physical"]}


def shrunk(text: str, mode: dict[str, Any], cluster: Any = None) -> str:
    """Return a script of fewer lines that still gives something else in a mode."""

    def differs(lines: list[str]) -> bool:
        script = "\n".join(lines)
        plain = run(script, _same_forms(mode))
        there = {} if "distributed" in mode else mode
        return not agree(plain, run(script, there, cluster if "distributed" in mode else None))

    lines, at = text.splitlines(), 0
    while at < len(lines):
        fewer = lines[:at] + lines[at + 1 :]
        if fewer and differs(fewer):
            lines, at = fewer, 0
        else:
            at += 1
    return "\n".join(lines)


@contextlib.contextmanager
def checking(where: str = "") -> Iterator[Check]:
    """Open the check of scripts, or of "mixed" ones, in every mode; or on a "cluster"."""
    writer = MixedWriter if where == "mixed" else Writer
    with Cluster(workers=2) if where == "cluster" else contextlib.nullcontext() as cluster:

        def check(seed: int) -> str | None:
            text = writer(seed).script()
            for mode, plain, found in findings(text, seed, cluster):
                shown = f"{shrunk(text, mode, cluster)}\n-- plain:\n{plain}\n-- here:\n{found}"
                return f"another output in mode {mode}\n{shown}"
            return None

        yield check

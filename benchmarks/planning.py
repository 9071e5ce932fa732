"""Measure `split` of 100,000 blocks on 100 simulated workers, without sockets.

What the manager takes to say where the blocks are (the Rust example `locate` of `freestone-core`,
which drives its state machine), and what it takes to plan and gather the partitions.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

# As a script, too: python benchmarks/NAME.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import common, plots
from freestone.partitions import Holders
from freestone.partitions.planning import place, plan
from freestone.partitions.splitting import gathered

QUESTION = "How long does it take to split 100,000 blocks on 100 workers?"
BLOCKS, WORKERS, SLOTS = 100_000, 100, 8
REPLICAS = (1, 2, 3)
MAX_S, MAX_MS = 900, 50


def locate() -> list[float]:
    """Return the milliseconds of some questions where all blocks are."""
    words = ["run", "--locked", "-q", "--release", "-p", "freestone-core", "--example", "locate"]
    command = [os.environ.get("CARGO", "cargo"), *words]
    done = subprocess.run(
        command, cwd=common.ROOT, check=True, timeout=MAX_S, capture_output=True, text=True
    )
    return [float(line) for line in done.stdout.split()]


def plan_ms(most_replicas: int) -> float:
    """Return the milliseconds of processor time to plan and gather blocks.

    Each has up to so many replicas, on workers drawn at random: the least favourable placement.
    """
    random = np.random.default_rng(0)
    counts = random.integers(1, most_replicas + 1, BLOCKS)
    starts = np.concatenate(([0], np.cumsum(counts)))
    holders = Holders(starts, random.integers(0, WORKERS, starts[-1]))
    nbytes = random.integers(1, 1 << 20, BLOCKS)
    offsets, blocks = np.arange(BLOCKS + 1), [object()] * BLOCKS
    slots = dict.fromkeys(range(WORKERS), SLOTS)
    start = time.process_time()
    workers, total = place([(holders, nbytes)], slots, balance=False)
    found = list(gathered(plan(workers, total, slots, "core"), [blocks], offsets))
    seconds = time.process_time() - start
    if sum(len(one.indexes) for one, _, _ in found) != BLOCKS:
        raise ValueError("some blocks are in no partition")
    return seconds * 1e3


def claims(report: common.Report) -> list[common.Claim]:
    """Compare with what was wanted."""
    asked = report.median("manager", "locate")
    found = []
    for replicas in REPLICAS:
        planned = report.median("split", f"plan, up to {replicas} replicas")
        whole = None if asked is None or planned is None else asked + planned
        name = f"split of {BLOCKS:,} blocks, up to {replicas} replicas"
        found.append(common.at_most(name, whole, MAX_MS, "ms"))
    return found


def main() -> None:
    """Measure and report."""
    options = common.parse("planning", QUESTION)
    before = common.machine()
    settings = {"blocks": BLOCKS, "workers": WORKERS, "slots": SLOTS}
    report = common.Report(QUESTION, settings)
    for _ in range(options.rounds):
        for sample in locate():
            report.add("manager", "locate", sample, "ms")
        for replicas in REPLICAS:
            report.add("split", f"plan, up to {replicas} replicas", plan_ms(replicas), "ms")
    report.claims = claims(report)
    values = {
        f"up to {count} replicas": claim.value
        for count, claim in zip(REPLICAS, report.claims, strict=True)
        if claim.value is not None
    }
    panel = plots.Panel(
        "Split of 100,000 blocks", "ms, lower is better", values, {"wanted": MAX_MS}
    )
    report.pictures = [plots.Dots(QUESTION, [panel], list(values))]
    common.write(report, options, before)


if __name__ == "__main__":
    main()

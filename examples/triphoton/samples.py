"""Events to skim: photons of a real NanoAOD file, dealt out anew with a seed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import awkward as ak
import numpy as np
import uproot

__all__ = ["TRIGGER", "Sample", "make_samples"]

TRIGGER = "HLT_DoublePhoton60"
_MOST_PHOTONS = 5


@dataclass(frozen=True)
class Sample:
    """A file, and how many of its events pass the skim."""

    path: str
    events: int


def make_samples(
    source: Path, folder: Path, *, files: int, events: int = 500, seed: int = 1
) -> list[Sample]:
    """Write files of resampled events.

    Parameters
    ----------
    source
        A NanoAOD file with photons and the trigger.
    folder
        Where the files go.
    files, events
        How many files, and how many events in each.
    seed
        Decides which photons, identifications and trigger bits.

    Notes
    -----
    The source's ten events have six photons and no three in one event: photons are drawn from all
    of them, with all their columns. Identification and trigger are drawn anew.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with uproot.open(source) as file:
        tree = file["Events"]
        # NanoEvents has the charge of every photon be zero, and warns where a file says so too.
        columns = [name for name in tree.keys(filter_name="Photon_*") if name != "Photon_charge"]
        drawn = tree.arrays(columns)
        pool = {name.removeprefix("Photon_"): ak.flatten(drawn[name]) for name in columns}
    return [
        _write(pool, folder, index, events, np.random.default_rng([seed, index]))
        for index in range(files)
    ]


def _write(
    pool: dict[str, ak.Array], folder: Path, index: int, events: int, rng: np.random.Generator
) -> Sample:
    counts = rng.integers(0, _MOST_PHOTONS + 1, events)
    total = int(counts.sum())
    chosen = rng.integers(0, len(pool["pt"]), total)
    columns = {name: np.asarray(values)[chosen] for name, values in pool.items()}
    # So that no two photons are the same: directions all over the detector, energies smeared.
    columns["phi"] = rng.uniform(-np.pi, np.pi, total).astype(np.float32)
    columns["pt"] = (columns["pt"] * rng.uniform(0.8, 1.2, total)).astype(np.float32)
    columns["cutBased"] = rng.integers(0, 4, total).astype(np.int32)
    photons = ak.unflatten(ak.zip(columns), counts)
    trigger = rng.random(events) < 0.8
    numbers = ("run", "luminosityBlock", "event")
    path = folder / f"nano-{index:05}.root"
    with uproot.recreate(path) as file:
        kinds = {"Photon": photons.type.content, TRIGGER: np.dtype(bool)}
        tree = file.mktree("Events", kinds | dict.fromkeys(numbers, np.dtype(np.uint32)))
        tree.extend(
            {
                "Photon": photons,
                TRIGGER: trigger,
                "run": np.ones(events, dtype=np.uint32),
                "luminosityBlock": np.full(events, index, dtype=np.uint32),
                "event": np.arange(events, dtype=np.uint32),
            }
        )
    of_event = np.repeat(np.arange(events), counts)
    good = np.bincount(of_event, weights=columns["cutBased"] >= 1, minlength=events)
    return Sample(str(path), int(((good >= 3) & trigger).sum()))

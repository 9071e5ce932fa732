"""Events to analyse: real ones of a PFNano file, drawn again and again with a seed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot

__all__ = ["Sample", "make_samples"]

DATASETS = ("hgg", "hbb", "qcd")
_JET = ("pt", "eta", "phi", "mass", "msoftdrop")
_CANDIDATE = ("pt", "eta", "phi", "mass", "charge", "puppiWeight")


@dataclass(frozen=True)
class Sample:
    """A file, and what an analysis of it must find.

    Attributes
    ----------
    path : str
        Where it is.
    dataset : str
        To which dataset it belongs.
    jets : int
        How many fat jets pass the selection.
    weight : float
        The sum of their weights, exact: weights are powers of two.
    """

    path: str
    dataset: str
    jets: int
    weight: float


def make_samples(
    source: Path, folder: Path, *, files: int, events: int = 20, seed: int = 1
) -> list[Sample]:
    """Write files of resampled events.

    Parameters
    ----------
    source
        A PFNano file.
    folder
        Where the files go; those that are there are replaced.
    files
        How many files, dealt out to the datasets in turn.
    events
        How many events in each.
    seed
        Decides which events, which masses and which weights.

    Notes
    -----
    Groomed masses are drawn anew, since few of the source's ten events have one in the window;
    everything else of a jet, and all its constituents, are as they were measured.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pool = _read(source)
    return [
        _write(pool, folder, index, events, np.random.default_rng([seed, index]))
        for index in range(files)
    ]


def _read(source: Path) -> dict[str, Any]:
    names = {
        "FatJet": [f"FatJet_{name}" for name in _JET],
        "PFCands": [f"PFCands_{name}" for name in _CANDIDATE],
        "FatJetPFCands": ["FatJetPFCands_jetIdx", "FatJetPFCands_pFCandsIdx"],
    }
    with uproot.open(source) as file:
        tree = file["Events"]
        pool = {}
        for group, branches in names.items():
            arrays = tree.arrays(branches)
            short = [branch.partition("_")[2] for branch in branches]
            columns = zip(short, branches, strict=True)
            pool[group] = ak.zip({name: arrays[branch] for name, branch in columns})
    links = pool["FatJetPFCands"]
    # Only what is in a jet, numbered anew in the order of the links.
    pool["PFCands"] = pool["PFCands"][links.pFCandsIdx]
    pool["FatJetPFCands"] = ak.with_field(links, ak.local_index(links.jetIdx), "pFCandsIdx")
    return pool


def _write(
    pool: dict[str, Any], folder: Path, index: int, events: int, rng: np.random.Generator
) -> Sample:
    chosen = rng.integers(0, len(pool["FatJet"]), events)
    drawn = {name: array[chosen] for name, array in pool.items()}
    counts = ak.num(drawn["FatJet"])
    masses = rng.uniform(80, 170, int(ak.sum(counts))).astype(np.float32)
    jets = ak.with_field(drawn["FatJet"], ak.unflatten(masses, counts), "msoftdrop")
    weight = (2.0 ** rng.integers(-2, 3, events)).astype(np.float32)
    links = ak.values_astype(drawn["FatJetPFCands"], np.int32)
    path = folder / f"pfnano-{index:05}.root"
    with uproot.recreate(path) as file:
        tree = file.mktree(
            "Events",
            {
                "FatJet": jets.type.content,
                "PFCands": drawn["PFCands"].type.content,
                "FatJetPFCands": links.type.content,
                "genWeight": np.dtype(np.float32),
                **dict.fromkeys(("run", "luminosityBlock", "event"), np.dtype(np.uint32)),
            },
        )
        tree.extend(
            {
                "FatJet": jets,
                "PFCands": drawn["PFCands"],
                "FatJetPFCands": links,
                "genWeight": weight,
                "run": np.ones(events, dtype=np.uint32),
                "luminosityBlock": np.full(events, index, dtype=np.uint32),
                "event": np.arange(events, dtype=np.uint32),
            }
        )
    passing = _passing(jets)
    per_event = passing.sum(axis=1) if isinstance(passing, np.ndarray) else ak.sum(passing, axis=1)
    dataset = DATASETS[index % len(DATASETS)]
    total = float(np.sum(np.asarray(per_event) * weight.astype(float)))
    return Sample(str(path), dataset, int(ak.sum(per_event)), total)


def _passing(jets: Any) -> Any:
    return (jets.pt > 300) & (abs(jets.eta) < 2.5) & (jets.msoftdrop > 110) & (jets.msoftdrop < 140)

"""What is measured: masses of pairs and triples of photons, in the events that have three."""

from __future__ import annotations

from typing import Any

import awkward as ak
import dask
import hist
import numpy as np
from coffea.nanoevents import NanoAODSchema, NanoEventsFactory

__all__ = ["lazy_results", "masses", "masses_of", "skim", "write"]


def skim(path: str) -> ak.Array:
    """Read a file and keep, with all columns, the events that the trigger and three photons pass.

    Returns
    -------
    awkward.Array
        The events, without the methods of NanoEvents: plain columns, ready for Parquet.
    """
    NanoAODSchema.warn_missing_crossrefs = False
    events = NanoEventsFactory.from_root(
        {path: "Events"}, mode="eager", schemaclass=NanoAODSchema
    ).events()
    good = ak.sum(events.Photon.cutBased >= 1, axis=1)
    kept = events[(good >= 3) & events.HLT.DoublePhoton60]
    columns = {
        name: ak.Array(ak.without_parameters(kept[name]).layout, behavior={})
        for name in kept.fields
    }
    return ak.zip(columns, depth_limit=1)


def write(events: ak.Array, path: str) -> str:
    """Write events to a Parquet file; its path."""
    ak.to_parquet(events, path)
    return path


def masses_of(events: ak.Array, count: int) -> ak.Array:
    """Give the mass, in GeV, of every `count` good photons of each event."""
    photons = events.Photon[events.Photon.cutBased >= 1]
    cartesian = {
        "px": photons.pt * np.cos(photons.phi),
        "py": photons.pt * np.sin(photons.phi),
        "pz": photons.pt * np.sinh(photons.eta),
        "energy": photons.pt * np.cosh(photons.eta),
    }
    sums = {
        name: sum(ak.unzip(ak.combinations(values, count))) for name, values in cartesian.items()
    }
    squared = sums["energy"] ** 2 - sums["px"] ** 2 - sums["py"] ** 2 - sums["pz"] ** 2
    return np.sqrt(np.maximum(squared, 0))


def masses(events: ak.Array) -> dict[str, Any]:
    """Fill the masses of all pairs and triples of good photons."""
    results: dict[str, Any] = {"events": len(events)}
    for name, count in (("pairs", 2), ("triples", 3)):
        axis = hist.axis.Regular(50, 0, 500, name="mass", label="mass in GeV")
        filled = hist.Hist(axis, storage="int64")
        filled.fill(ak.to_numpy(ak.flatten(masses_of(events, count))))
        results[name] = filled
    return results


def lazy_results(paths: list[str], merged: str | None = None) -> dict[str, Any]:
    """Describe skim, merge and masses for Dask.

    Parameters
    ----------
    paths
        The files.
    merged
        Where all that is kept is written as one Parquet file; nowhere by default.

    Returns
    -------
    dict
        ``events``, ``pairs``, ``triples`` and perhaps ``path``, lazy: pass it to `dask.compute`.

    Notes
    -----
    One task merges all parts, as in the paper: whole events of every file on one worker at once,
    unless the scheduler makes a tree of it.
    """
    parts = [dask.delayed(skim)(path) for path in paths]
    whole = dask.delayed(ak.concatenate)(parts)
    results = {"measured": dask.delayed(masses)(whole)}
    if merged is not None:
        results["path"] = dask.delayed(write)(whole, merged)
    return results

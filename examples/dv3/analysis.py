"""What is measured: substructure of fat jets whose groomed mass is near the Higgs boson's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import awkward as ak
import dask_awkward as dak
import fastjet
import hist
import hist.dask as hda
import numpy as np
from coffea.nanoevents import NanoEventsFactory, PFNanoAODSchema

__all__ = ["lazy_results", "results_of_file"]

AXES = {"d2": "$D_2$", "d3": "$D_3$"}
RADIUS = 0.8


def selected(events: Any) -> Any:
    """Tell which fat jets pass: pt > 300 GeV, |eta| < 2.5, groomed mass in (110, 140) GeV."""
    jets = events.FatJet
    in_window = (jets.msoftdrop > 110) & (jets.msoftdrop < 140)
    return (jets.pt > 300) & (abs(jets.eta) < 2.5) & in_window


def constituents(events: Any, library: Any) -> Any:
    """Give the candidates of each selected jet, weighted against pileup, one list per jet."""
    links = events.FatJetPFCands
    candidates = events.PFCands[links.pFCandsIdx]
    jets = library.local_index(events.FatJet.pt, axis=1)
    belongs = links.jetIdx[:, np.newaxis, :] == jets[:, :, np.newaxis]
    fields = {
        "pt": candidates.pt * candidates.puppiWeight,
        "eta": candidates.eta,
        "phi": candidates.phi,
        "mass": candidates.mass,
    }
    of_jets = library.zip(
        {
            name: library.broadcast_arrays(field[:, np.newaxis, :], belongs)[0][belongs]
            for name, field in fields.items()
        },
        depth_limit=3,
    )
    chosen = of_jets[selected(events)]
    return library.flatten(chosen[chosen.pt > 0], axis=1)


def weights(events: Any, library: Any) -> Any:
    """Give each selected jet the weight of its event."""
    passing = selected(events)
    weight = library.broadcast_arrays(events.genWeight, passing)[0]
    return library.flatten(weight[passing], axis=1)


def substructure(jets: Any) -> Any:
    """Cluster each jet again (Cambridge/Aachen), groom it, and measure D2 and D3.

    Ratios of energy correlators: D2 = e3 / e2^3, and of D3 the first term, e4 e2^3 / e3^3.

    Parameters
    ----------
    jets
        Lists of candidates with pt, eta, phi and mass, one list per jet.

    Returns
    -------
    awkward.Array
        Records of ``d2`` and ``d3``, one per jet.
    """
    if ak.backend(jets) == "typetracer":
        ak.typetracer.touch_data(jets)
        empty = ak.Array({"d2": np.empty(0), "d3": np.empty(0)})
        return ak.Array(empty.layout.to_typetracer(forget_length=True))
    if len(jets) == 0:
        return ak.Array({"d2": np.empty(0), "d3": np.empty(0)})
    definition = fastjet.JetDefinition(fastjet.cambridge_algorithm, RADIUS)
    px, py = jets.pt * np.cos(jets.phi), jets.pt * np.sin(jets.phi)
    pz = jets.pt * np.sinh(jets.eta)
    energy = np.sqrt(px**2 + py**2 + pz**2 + jets.mass**2)
    particles = ak.zip({"px": px, "py": py, "pz": pz, "E": energy}, with_name="Momentum4D")
    whole = fastjet.ClusterSequence(particles, definition)
    groomed = whole.exclusive_jets_softdrop_grooming()
    again = fastjet.ClusterSequence(groomed.constituents, definition)
    e2, e3, e4 = (
        np.asarray(again.exclusive_jets_energy_correlator(func="generic", npoint=points))
        for points in (2, 3, 4)
    )
    return ak.Array({"d2": ratio(e3, e2**3), "d3": ratio(e4 * e2**3, e3**3)})


def ratio(above: Any, below: Any) -> Any:
    """Divide; zero where a jet has too few candidates for the correlator below."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def histogram(name: str, library: Any) -> Any:
    """Make an empty weighted histogram of 40 bins in [0, 3]."""
    return library.Hist(hist.axis.Regular(40, 0, 3, name=name, label=AXES[name]), storage="weight")


def lazy_results(files: Mapping[str, list[str]]) -> dict[str, dict[str, Any]]:
    """Describe the analysis for Dask; nothing is read but the form of the first files.

    Parameters
    ----------
    files
        For each dataset its files.

    Returns
    -------
    dict
        For each dataset ``entries``, ``d2`` and ``d3``, all lazy: pass it to `dask.compute`.
    """
    results = {}
    for dataset, paths in files.items():
        events = open_events(dict.fromkeys(paths, "Events"), "dask", dataset)
        jets = constituents(events, dak)
        measured = dak.map_partitions(substructure, jets, label="substructure")
        weight = weights(events, dak)
        results[dataset] = {"entries": dak.num(weight, axis=0)} | {
            name: histogram(name, hda).fill(measured[name], weight=weight) for name in AXES
        }
    return results


def results_of_file(path: str, dataset: str) -> dict[str, dict[str, Any]]:
    """Analyse one file at once; the same as `lazy_results` has it for a whole dataset."""
    events = open_events({path: "Events"}, "eager", dataset)
    measured = substructure(constituents(events, ak))
    weight = weights(events, ak)
    filled = {name: histogram(name, hist) for name in AXES}
    for name, empty in filled.items():
        empty.fill(measured[name], weight=weight)
    return {dataset: {"entries": len(weight), **filled}}


def open_events(files: Mapping[str, str], mode: str, dataset: str) -> Any:
    """Open files as coffea's NanoEvents."""
    PFNanoAODSchema.warn_missing_crossrefs = False
    factory = NanoEventsFactory.from_root(
        dict(files), mode=mode, schemaclass=PFNanoAODSchema, metadata={"dataset": dataset}
    )
    return factory.events()

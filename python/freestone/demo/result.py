"""What the main job found, and what it cost."""

from dataclasses import dataclass
from typing import Any

from freestone.demo.fit import Z_MASS_GEV, PeakFit
from freestone.demo.physics import Binning, Ints

TOLERANCE_GEV = 1.0
"""How far from 91.2 GeV the fitted mass may be."""


@dataclass(frozen=True)
class Sample:
    """Measured or simulated pairs, and their peak.

    Attributes
    ----------
    title : str
        What they are, for people.
    simulated : bool
        Whether they come from a simulation.
    counts : ndarray of int64, shape (bins,)
        Selected pairs in bins of their mass.
    binning : Binning
        The bins.
    fit : PeakFit
        The fitted peak.
    """

    title: str
    simulated: bool
    counts: Ints
    binning: Binning
    fit: PeakFit

    @property
    def pairs(self) -> int:
        """How many pairs were selected."""
        return int(self.counts.sum())

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists."""
        return {
            "title": self.title,
            "simulated": self.simulated,
            "pairs": self.pairs,
            "edges_gev": self.binning.edges.tolist(),
            "counts": self.counts.tolist(),
            "fit": self.fit.to_dict(),
        }


@dataclass(frozen=True)
class Run:
    """One run of the analysis over all files.

    Attributes
    ----------
    label : str
        Which one, for people.
    softer_pt_gev : float
        The selection that it was run with.
    calls : int
        Calls that ran.
    answered : int
        Calls whose outputs were known, so that they did not run.
    moved_nbytes : int
        Bytes sent from one worker to another.
    seconds : float
        From the first call to the histogram.
    events : int
        Events analysed.
    counts : ndarray of int64, shape (bins,)
        The histogram.
    mass_gev : float
        The position of its peak.
    """

    label: str
    softer_pt_gev: float
    calls: int
    answered: int
    moved_nbytes: int
    seconds: float
    events: int
    counts: Ints
    mass_gev: float

    @property
    def events_per_s(self) -> float:
        """Events analysed in a second."""
        return self.events / self.seconds

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers."""
        return {
            "label": self.label,
            "softer_pt_gev": self.softer_pt_gev,
            "calls": self.calls,
            "answered": self.answered,
            "moved_nbytes": self.moved_nbytes,
            "seconds": self.seconds,
            "events": self.events,
            "events_per_s": self.events_per_s,
            "pairs": int(self.counts.sum()),
            "mass_gev": self.mass_gev,
        }


@dataclass(frozen=True)
class Making:
    """How the large input was made.

    Attributes
    ----------
    files, events, seed : int
        How many files, of how many events each, drawn with which seed.
    nbytes : int
        Their size together.
    seconds : float
        How long it took.
    folder : str or None
        Where they are, if they were kept.
    """

    files: int
    events: int
    seed: int
    nbytes: int
    seconds: float
    folder: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by their names."""
        return dict(vars(self))


@dataclass(frozen=True)
class DemoResult:
    """All of it.

    Attributes
    ----------
    samples : tuple of Sample
        The collisions first; their peak is the result.
    making : Making
        The large input.
    runs : tuple of Run
        The first run, the one with another selection, the first one again.
    picture, trace : str
        Files that were written.
    """

    samples: tuple[Sample, ...]
    making: Making
    runs: tuple[Run, ...]
    picture: str
    trace: str

    @property
    def mass_gev(self) -> float:
        """The mass of the Z, fitted to the measured events."""
        return self.samples[0].fit.mass_gev

    @property
    def mass_is_right(self) -> bool:
        """Whether the mass is within 1 GeV of 91.2."""
        return abs(self.mass_gev - round(Z_MASS_GEV, 1)) <= TOLERANCE_GEV

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings, lists and dicts, fit for JSON."""
        return {
            "mass_gev": self.mass_gev,
            "mass_error_gev": self.samples[0].fit.mass_error_gev,
            "mass_is_right": self.mass_is_right,
            "samples": [sample.to_dict() for sample in self.samples],
            "making": self.making.to_dict(),
            "runs": [run.to_dict() for run in self.runs],
            "picture": self.picture,
            "trace": self.trace,
        }

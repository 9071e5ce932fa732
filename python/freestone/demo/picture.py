"""The figure of the peak."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from freestone.demo.fit import FIT_RANGE_GEV, Z_MASS_GEV, PeakFit
from freestone.demo.result import Sample

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK = "#1f2430"
_CURVE = "#c8452d"
_BACKGROUND = "#6b84a3"
_FAINT = "#b9c0c9"


def draw_peak(sample: Sample, path: str | Path) -> None:
    """Draw the histogram with error bars, the fit, and how far they are apart.

    Parameters
    ----------
    sample : Sample
        What to draw.
    path : path
        The file, of a kind that Matplotlib writes (by its suffix). One of that name is
        replaced.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"font.size": 11, "axes.linewidth": 0.8, "axes.edgecolor": _INK}):
        figure = Figure(figsize=(7.0, 5.4), layout="constrained")
        figure.get_layout_engine().set(h_pad=0.02, hspace=0.0)  # type: ignore[union-attr,call-arg]
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3.8, 1])
        _draw_counts(upper, sample)
        _draw_fit(upper, sample)
        _write_figures(upper, sample)
        _draw_pulls(lower, sample)
        for axes in (upper, lower):
            axes.tick_params(direction="in", top=True, right=True)
        figure.savefig(path, dpi=160)


def _draw_counts(axes: "Axes", sample: Sample) -> None:
    counted = sample.counts > 0
    masses, counts = sample.binning.centers[counted], sample.counts[counted]
    axes.errorbar(
        masses,
        counts,
        yerr=np.sqrt(counts),
        fmt="o",
        markersize=4,
        linewidth=1,
        color=_INK,
        label=sample.title,
        zorder=3,
    )
    axes.set_xlim(sample.binning.low, sample.binning.high)
    axes.set_ylim(0, 1.25 * sample.counts.max())
    axes.set_ylabel(f"Muon pairs / {sample.binning.width:g} GeV")


def _draw_fit(axes: "Axes", sample: Sample) -> None:
    masses = np.linspace(*FIT_RANGE_GEV, 801)
    fit = sample.fit
    axes.plot(
        masses,
        fit.expected(masses, sample.binning.width),
        color=_CURVE,
        linewidth=1.8,
        label="Breit-Wigner $\\otimes$ Gaussian + line",
        zorder=2,
    )
    axes.plot(
        FIT_RANGE_GEV,
        [fit.background_low, fit.background_high],
        color=_BACKGROUND,
        linewidth=1.4,
        linestyle="--",
        label="Background",
        zorder=1,
    )
    axes.axvline(Z_MASS_GEV, color=_FAINT, linewidth=1, linestyle=":", zorder=0)
    axes.legend(loc="upper left", frameon=False)


def _write_figures(axes: "Axes", sample: Sample) -> None:
    axes.text(
        0.97,
        0.95,
        "\n".join(figures_of(sample.fit)),
        transform=axes.transAxes,
        ha="right",
        va="top",
        linespacing=1.6,
    )


def figures_of(fit: PeakFit) -> list[str]:
    """Write the figures of a fit as lines, in Matplotlib's mathematics."""
    return [
        f"$m_Z$ = {fit.mass_gev:.2f} ± {fit.mass_error_gev:.2f} GeV",
        f"resolution = {fit.resolution_gev:.2f} ± {fit.resolution_error_gev:.2f} GeV",
        f"$\\chi^2$ / dof = {fit.chi2:.1f} / {fit.degrees_of_freedom}",
        f"dotted: {Z_MASS_GEV:.2f} GeV (PDG)",
    ]


def _draw_pulls(axes: "Axes", sample: Sample) -> None:
    masses = sample.binning.centers
    inside = (masses > FIT_RANGE_GEV[0]) & (masses < FIT_RANGE_GEV[1])
    expected = sample.fit.expected(masses[inside], sample.binning.width)
    pulls = (sample.counts[inside] - expected) / np.sqrt(expected)
    axes.axhspan(-1, 1, color=_FAINT, alpha=0.35, linewidth=0)
    axes.axhline(0, color=_CURVE, linewidth=1)
    axes.plot(masses[inside], pulls, "o", markersize=3.5, color=_INK)
    largest = max(3.5, 1.15 * float(np.abs(pulls).max()))
    axes.set_ylim(-largest, largest)
    axes.set_ylabel("Pull")
    axes.set_xlabel("Mass of the muon pair (GeV)")

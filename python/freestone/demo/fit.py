"""The fit of the Z peak: a resonance seen by a detector, over a straight background.

A Breit-Wigner of the Z's known width, convolved with a Gaussian for the resolution of the
muons' momenta (the convolution of the two is the Voigt profile), plus a linear background.
"""

from dataclasses import asdict, dataclass

import numpy as np

from freestone.demo.physics import Binning, Floats, Ints

Z_MASS_GEV = 91.1876
"""The mass of the Z (Particle Data Group 2022)."""

Z_WIDTH_GEV = 2.4952
"""The natural width of the Z (Particle Data Group 2022); fixed in the fit."""

FIT_RANGE_GEV = (70.0, 110.0)
"""Bins whose middles lie in here are fitted."""

_SAMPLES_PER_BIN = 5
_MAX_ROUNDS = 50
_MIN_PAIRS = 50


@dataclass(frozen=True)
class PeakFit:
    """The fitted peak.

    Attributes
    ----------
    mass_gev, mass_error_gev : float
        Position of the peak and its statistical uncertainty.
    resolution_gev, resolution_error_gev : float
        Standard deviation of the Gaussian part.
    signal : float
        Pairs in the peak.
    background_low, background_high : float
        Background in pairs per bin at the two ends of the fitted range.
    chi2 : float
        Pearson's, over the fitted bins.
    degrees_of_freedom : int
        Fitted bins less parameters.
    """

    mass_gev: float
    mass_error_gev: float
    resolution_gev: float
    resolution_error_gev: float
    signal: float
    background_low: float
    background_high: float
    chi2: float
    degrees_of_freedom: int

    def expected(self, masses: Floats, width: float) -> Floats:
        """Compute how many pairs are expected in bins around `masses`.

        Parameters
        ----------
        masses : ndarray, shape (n,)
            The middles of the bins in GeV.
        width : float
            The width of the bins in GeV for which the background was fitted.
        """
        return peak_model(
            masses,
            self.signal,
            self.mass_gev,
            self.resolution_gev,
            self.background_low,
            self.background_high,
            width=width,
        )

    def to_dict(self) -> dict[str, float]:
        """Return the figures by their names."""
        return asdict(self)


def peak_model(
    masses: Floats,
    signal: float,
    mass: float,
    resolution: float,
    background_low: float,
    background_high: float,
    *,
    width: float,
) -> Floats:
    """Compute the pairs expected in bins of the given width around `masses`.

    The peak is averaged over five places in each bin, since it is not much wider than one.
    The parameters are those of `PeakFit`; masses in GeV.
    """
    from scipy.special import voigt_profile

    steps = (np.arange(_SAMPLES_PER_BIN) + 0.5) / _SAMPLES_PER_BIN - 0.5
    places = masses[:, np.newaxis] + steps * width
    density = voigt_profile(places - mass, resolution, Z_WIDTH_GEV / 2).mean(axis=1)
    low, high = FIT_RANGE_GEV
    across = (masses - low) / (high - low)
    background = background_low + (background_high - background_low) * across
    return np.asarray(signal * width * density + background, dtype=np.float64)


def fit_peak(counts: Ints, binning: Binning) -> PeakFit:
    """Fit the Z peak of a histogram.

    Parameters
    ----------
    counts : ndarray of int, shape (bins,)
        Pairs in each bin.
    binning : Binning
        The bins.

    Returns
    -------
    PeakFit

    Raises
    ------
    ValueError
        If there are fewer than 50 pairs in the fitted range.

    Notes
    -----
    A least-squares fit whose variances are those of the fit before, until the mass stands
    still: the fixed point solves the equations of the Poisson likelihood, so that bins with
    few or no pairs count for what they say. The background is kept from going below 0 at
    either end of the range.
    """
    masses = binning.centers
    inside = (masses > FIT_RANGE_GEV[0]) & (masses < FIT_RANGE_GEV[1])
    masses, observed = masses[inside], counts[inside].astype(np.float64)
    total = float(observed.sum())
    if total < _MIN_PAIRS:
        raise ValueError(
            f"{total:.0f} pairs between {FIT_RANGE_GEV[0]:.0f} and {FIT_RANGE_GEV[1]:.0f} GeV "
            f"are too few for a fit; it takes {_MIN_PAIRS}. Loosen the selection or give "
            "it more events."
        )
    values, covariance = _iterate(masses, observed, binning.width)
    expected = peak_model(masses, *values, width=binning.width)
    errors = np.sqrt(np.diag(covariance))
    return PeakFit(
        mass_gev=float(values[1]),
        mass_error_gev=float(errors[1]),
        resolution_gev=float(values[2]),
        resolution_error_gev=float(errors[2]),
        signal=float(values[0]),
        background_low=float(values[3]),
        background_high=float(values[4]),
        chi2=float((np.square(observed - expected) / expected).sum()),
        degrees_of_freedom=len(masses) - len(values),
    )


def _iterate(masses: Floats, observed: Floats, width: float) -> tuple[Floats, Floats]:
    """Return the parameters of the model and their covariance."""
    from scipy.optimize import curve_fit

    total, bins = float(observed.sum()), len(masses)
    flat = 0.05 * total / bins
    values = np.array([0.9 * total, masses[observed.argmax()], 1.5, flat, flat])
    lowest = np.array([0.0, masses[0], 0.05, 0.0, 0.0])
    highest = np.array([np.inf, masses[-1], 10.0, np.inf, np.inf])
    variances = np.maximum(observed, 1.0)
    covariance = np.full((5, 5), np.nan)
    for _ in range(_MAX_ROUNDS):
        before = values[1]
        values, covariance = curve_fit(
            lambda x, *parameters: peak_model(x, *parameters, width=width),
            masses,
            observed,
            p0=np.clip(values, lowest, highest),
            sigma=np.sqrt(variances),
            absolute_sigma=True,
            bounds=(lowest, highest),
            x_scale="jac",
        )
        variances = np.maximum(peak_model(masses, *values, width=width), 0.1)
        if abs(values[1] - before) < 1e-5:
            break
    return values, covariance

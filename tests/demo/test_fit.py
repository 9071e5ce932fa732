import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freestone.demo import samples
from freestone.demo.fit import FIT_RANGE_GEV, Z_MASS_GEV, fit_peak, peak_model
from freestone.demo.physics import Z_WINDOW, Binning, count_masses, dimuons


def test_measured_events_give_the_mass_of_the_z(sample):
    assert sample.fit.mass_gev == pytest.approx(Z_MASS_GEV, abs=1.0)
    assert 0.05 < sample.fit.mass_error_gev < 0.3
    assert sample.fit.chi2 < 2 * sample.fit.degrees_of_freedom


def test_simulated_events_give_the_mass_of_the_z():
    pytest.importorskip("awkward")
    pytest.importorskip("skhep_testdata")
    pairs = samples.read_hzz(samples.sample_path(samples.HZZ_FILE), 0, 2421)
    assert len(pairs) == 1464
    fit = fit_peak(count_masses(dimuons(pairs), 20.0), Z_WINDOW)
    assert fit.mass_gev == pytest.approx(Z_MASS_GEV, abs=1.0)


@pytest.mark.parametrize("bins", [30, 120])
def test_the_mass_hardly_depends_on_the_bins(collisions, sample, bins):
    window = Binning(60.0, 120.0, bins)
    fit = fit_peak(count_masses(dimuons(collisions), 20.0, window), window)
    assert fit.mass_gev == pytest.approx(sample.fit.mass_gev, abs=sample.fit.mass_error_gev / 2)


@settings(max_examples=20)
@given(st.floats(88.0, 94.0), st.floats(0.8, 3.0), st.floats(500, 50_000), st.floats(0.1, 20))
def test_parameters_of_an_exact_peak_are_found(mass, resolution, signal, background):
    expected = peak_model(
        Z_WINDOW.centers, signal, mass, resolution, background, background / 2, width=1.0
    )
    counts = np.round(expected * 1000).astype(np.int64)
    fit = fit_peak(counts, Z_WINDOW)
    assert fit.mass_gev == pytest.approx(mass, abs=0.01)
    assert fit.resolution_gev == pytest.approx(resolution, abs=0.02)
    assert fit.signal == pytest.approx(1000 * signal, rel=0.01)


def test_the_uncertainty_covers_the_truth_as_often_as_it_says():
    random = np.random.default_rng(5)
    expected = peak_model(Z_WINDOW.centers, 450, 91.0, 1.5, 2.0, 1.0, width=1.0)
    fits = [fit_peak(random.poisson(expected), Z_WINDOW) for _ in range(60)]
    pulls = np.array([(fit.mass_gev - 91.0) / fit.mass_error_gev for fit in fits])
    assert abs(pulls.mean()) < 0.5
    assert 0.7 < pulls.std() < 1.4


def test_the_peak_is_normalised():
    bins = Binning(-9000.0, 9180.0, 18_180)
    counts = peak_model(bins.centers, 100.0, 90.0, 1.5, 0.0, 0.0, width=1.0)
    assert counts.sum() == pytest.approx(100.0, rel=1e-3)


def test_background_is_given_at_the_ends_of_the_range():
    ends = np.array(FIT_RANGE_GEV)
    assert peak_model(ends, 0.0, 91.0, 1.5, 3.0, 1.0, width=1.0) == pytest.approx([3.0, 1.0])


def test_too_few_pairs_are_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"49 pairs between 70 and 110 GeV.*Loosen"):
        fit_peak(np.where(Z_WINDOW.centers == 90.5, 49, 0), Z_WINDOW)

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from freestone.demo import physics, samples
from freestone.demo.physics import (
    MUON_MASS_GEV,
    Binning,
    Dimuons,
    count_masses,
    dimuons,
    invariant_mass,
    opposite_sign_pairs,
    scale_momenta,
    transverse_momentum,
)

momenta = hnp.arrays(np.float64, (7, 2, 3), elements=st.floats(-200, 200, width=32))
betas = st.tuples(st.floats(0.0, 0.9), st.floats(0, np.pi), st.floats(0, 2 * np.pi))


def with_energy(momentum):
    energy = np.sqrt(np.square(momentum).sum(axis=-1) + MUON_MASS_GEV**2)
    return np.concatenate([energy[..., np.newaxis], momentum], axis=-1)


def boost(vectors, beta, theta, phi):
    """Boost four-vectors along a direction."""
    n = np.array([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
    gamma = 1 / np.sqrt(1 - beta**2)
    along = vectors[..., 1:] @ n
    energy = gamma * (vectors[..., 0] - beta * along)
    change = (gamma - 1) * along - gamma * beta * vectors[..., 0]
    return np.concatenate(
        [energy[..., np.newaxis], vectors[..., 1:] + change[..., np.newaxis] * n], axis=-1
    )


def test_examples_in_docstrings_hold():
    assert doctest.testmod(physics).failed == 0
    assert doctest.testmod(samples).failed == 0


def test_mass_is_the_files_own_column():
    uproot = pytest.importorskip("uproot")
    pytest.importorskip("skhep_testdata")
    with uproot.open(samples.sample_path(samples.ZMUMU_FILE)) as opened:
        columns = opened["events"].arrays(library="np")
    four = [[columns[f"{c}{i}"] for c in ("E", "px", "py", "pz")] for i in (1, 2)]
    mass = invariant_mass(np.array(four, dtype=np.float64).transpose(2, 0, 1))
    np.testing.assert_allclose(mass, columns["M"], rtol=2e-8)


@given(momenta, betas)
def test_mass_does_not_change_under_a_boost(momentum, direction):
    pairs = with_energy(momentum)
    boosted = boost(pairs, *direction)
    # The rounding of E^2 - p^2 is that of the larger frame's energies.
    scale = np.maximum(pairs[..., 0].sum(axis=1), boosted[..., 0].sum(axis=1)) ** 2
    difference = invariant_mass(boosted) ** 2 - invariant_mass(pairs) ** 2
    assert (np.abs(difference) <= 1e-12 * scale).all()


@given(momenta)
def test_mass_is_at_least_that_of_two_muons_and_symmetric(momentum):
    pairs = with_energy(momentum)
    mass = invariant_mass(pairs)
    slack = 1e-12 * pairs[..., 0].sum(axis=1) ** 2
    assert (mass**2 >= (2 * MUON_MASS_GEV) ** 2 - slack).all()
    np.testing.assert_array_equal(mass, invariant_mass(pairs[:, ::-1]))


def test_mass_of_single_precision_is_computed_in_double():
    pairs = with_energy(np.array([[[30.0, 1.0, 400.0], [29.0, -1.0, 380.0]]]))
    single = pairs.astype(np.float32)
    np.testing.assert_array_equal(invariant_mass(single), invariant_mass(single.astype(float)))


def test_no_pairs_have_no_mass():
    found = dimuons(np.empty((0, 2, 4)))
    assert found.mass.shape == found.softer_pt.shape == (0,)
    assert count_masses(found, 20.0).sum() == 0


def test_transverse_momentum_leaves_out_the_beam_direction():
    assert transverse_momentum(np.array([[5.1, 3.0, 4.0, 99.0]])) == pytest.approx([5.0])


def test_the_softer_muon_decides():
    found = dimuons(with_energy(np.array([[[30.0, 0, 0], [-40.0, 0, 0]]])))
    assert found.softer_pt == pytest.approx([30.0])


def test_counts_are_integers_inside_of_the_window_only():
    found = Dimuons(np.array([59.9, 60.0, 91.5, 91.5, 120.1]), np.full(5, 25.0))
    counts = count_masses(found, 20.0)
    assert counts.dtype == np.int64
    assert counts.sum() == 3
    assert counts[31] == 2


def test_the_selection_includes_its_limit():
    found = Dimuons(np.array([91.0, 91.0]), np.array([20.0, 19.999]))
    assert count_masses(found, 20.0).sum() == 1


def test_bins():
    bins = Binning(60.0, 120.0, 60)
    assert bins.width == 1.0
    np.testing.assert_array_equal(bins.centers, np.arange(60.5, 120.5))


@given(st.lists(st.lists(st.sampled_from([-1, 1]), max_size=5), max_size=12))
def test_pairs_of_events_are_those_of_two_nested_loops(events):
    expected, start = [], 0
    for event in events:
        places = range(start, start + len(event))
        expected += [
            (a, b) for a in places for b in places if a < b and event[a - start] != event[b - start]
        ]
        start += len(event)
    charges = np.array([charge for event in events for charge in event], dtype=np.int64)
    counts = np.array([len(event) for event in events], dtype=np.int64)
    first, second = opposite_sign_pairs(counts, charges)
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == expected


def test_charges_without_an_event_are_refused():
    with pytest.raises(ValueError, match="3 charges for 2 muons"):
        opposite_sign_pairs(np.array([2]), np.array([1, -1, 1]))


@given(momenta, st.floats(0.5, 2.0))
def test_scaling_keeps_direction_and_the_muons_mass(momentum, factor):
    muons = with_energy(momentum)
    scaled = scale_momenta(muons, np.full(muons.shape[:-1], factor))
    np.testing.assert_allclose(scaled[..., 1:], momentum * factor)
    np.testing.assert_allclose(scaled, with_energy(momentum * factor), rtol=1e-12)

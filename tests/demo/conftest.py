"""The measured events."""

import hypothesis
import numpy as np
import pytest

from freestone.demo import samples
from freestone.demo.fit import fit_peak
from freestone.demo.physics import Z_WINDOW, count_masses, dimuons
from freestone.demo.result import Sample

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


@pytest.fixture(scope="session")
def collisions() -> np.ndarray:
    """Return the measured pairs, shape (508, 2, 4)."""
    pytest.importorskip("skhep_testdata")
    return samples.read_zmumu(samples.sample_path(samples.ZMUMU_FILE), 0, 2304)


@pytest.fixture(scope="session")
def sample(collisions: np.ndarray) -> Sample:
    """Return the measured pairs as the demo shows them."""
    counts = count_masses(dimuons(collisions), 20.0)
    return Sample("CMS collisions", False, counts, Z_WINDOW, fit_peak(counts, Z_WINDOW))

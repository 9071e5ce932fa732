"""The measured events, and a runtime where there is none."""

import sys
from pathlib import Path

import hypothesis
import numpy as np
import pytest

import freestone

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

if not hasattr(freestone, "Cluster"):
    sys.path.insert(0, str(Path(__file__).parent))
    import fake

    for name in ("Cluster", "file", "reduce", "task"):
        setattr(freestone, name, getattr(fake, name))

# The demo takes its decorator from the runtime when it is imported.
from freestone.demo import samples  # noqa: E402
from freestone.demo.fit import fit_peak  # noqa: E402
from freestone.demo.physics import Z_WINDOW, count_masses, dimuons  # noqa: E402
from freestone.demo.result import Sample  # noqa: E402


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

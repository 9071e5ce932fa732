"""The two analyses of the paper, on real data resampled: known answers, equal to Dask's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs

for package in ("coffea", "dask_awkward", "fastjet", "hist.dask"):
    pytest.importorskip(package, reason="the extra 'hep' is not installed")

# coffea and its friends warn about each other's and NumPy's future.
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

DATA = Path(os.environ.get("FREESTONE__TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))


def real(name: str) -> Path:
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"{path} is not there: name its folder in FREESTONE__TEST_DATA")
    return path


def same(one: Any, other: Any) -> bool:
    """Compare results to the last bin."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if hasattr(one, "axes"):
        return np.array_equal(one.view(flow=True), other.view(flow=True))
    return bool(one == other)


def test_dv3(cluster: fs.Cluster, tmp_path: Path) -> None:
    from examples.dv3.__main__ import by_calls, by_dask, mistakes
    from examples.dv3.samples import make_samples

    samples = make_samples(real("pfnano.root"), tmp_path, files=7, events=6)
    assert sum(sample.jets for sample in samples) > 20
    expected = by_dask(samples, "synchronous")
    assert not mistakes(samples, expected)
    assert same(by_dask(samples, cluster.get), expected)
    assert same(by_calls(samples, cluster), expected)


def test_triphoton(cluster: fs.Cluster, tmp_path: Path) -> None:
    import awkward as ak

    from examples.triphoton.__main__ import by_calls, by_dask
    from examples.triphoton.samples import make_samples

    samples = make_samples(real("nano_tree.root"), tmp_path, files=20, events=60)
    merged = str(tmp_path / "skim.parquet")
    expected = by_dask(samples, "synchronous")
    assert expected["events"] == sum(sample.events for sample in samples) > 100
    assert same(by_dask(samples, cluster.get, merged), expected)
    assert same(by_calls(samples, cluster), expected)
    skimmed = ak.from_parquet(merged)
    assert len(skimmed) == expected["events"]
    assert {"pt", "r9", "cutBased"} <= set(skimmed.Photon.fields)
    assert ak.to_list(skimmed.luminosityBlock) == sorted(ak.to_list(skimmed.luminosityBlock))


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    from examples.dv3.samples import make_samples

    source = real("pfnano.root")
    first = make_samples(source, tmp_path / "a", files=2, events=5, seed=3)
    again = make_samples(source, tmp_path / "b", files=2, events=5, seed=3)
    other = make_samples(source, tmp_path / "c", files=2, events=5, seed=4)
    answers = [[(one.jets, one.weight) for one in made] for made in (first, again, other)]
    assert answers[0] == answers[1] != answers[2]

import numpy as np
import pytest

from freestone.demo.physics import dimuons, invariant_mass
from freestone.demo.resample import COLUMNS, read_pairs, resample, write_pairs


def test_same_seed_and_index_give_the_same_events(collisions):
    first, again = (resample(collisions, 1000, seed=3, index=7) for _ in range(2))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])


@pytest.mark.parametrize("other", [{"seed": 4, "index": 7}, {"seed": 3, "index": 8}])
def test_another_seed_or_index_gives_other_events(collisions, other):
    drawn, _ = resample(collisions, 1000, seed=3, index=7)
    assert not (drawn == resample(collisions, 1000, **other)[0]).all()


def test_without_smearing_events_are_copies(collisions):
    drawn, origin = resample(collisions, 1000, seed=1, index=0, smearing=0.0)
    np.testing.assert_array_equal(drawn, collisions[origin])


def test_every_measured_pair_is_drawn_about_as_often(collisions):
    _, origin = resample(collisions, 200 * len(collisions), seed=1, index=0)
    often = np.bincount(origin, minlength=len(collisions))
    assert abs(often - 200).max() < 6 * np.sqrt(200)


def test_smearing_widens_the_mass_by_what_the_documentation_says(collisions):
    drawn, origin = resample(collisions, 50_000, seed=1, index=0)
    ratio = invariant_mass(drawn) / invariant_mass(collisions)[origin]
    assert ratio.mean() == pytest.approx(1.0, abs=2e-4)
    assert ratio.std() * 91 == pytest.approx(0.64, abs=0.03)


def test_nothing_to_draw_from_is_refused():
    with pytest.raises(ValueError, match="no measured pairs"):
        resample(np.empty((0, 2, 4)), 10, seed=1, index=0)


def test_a_file_gives_back_its_pairs_in_single_precision(collisions, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "events.parquet"
    write_pairs(path, collisions, np.arange(len(collisions), dtype=np.int32))
    np.testing.assert_array_equal(read_pairs(path), collisions.astype(np.float32))
    assert pq.read_schema(path).names == [*COLUMNS, "origin"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["events.parquet"]


def test_single_precision_is_enough_for_the_mass(collisions, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "events.parquet"
    write_pairs(path, collisions, np.zeros(len(collisions), np.int32))
    stored, measured = dimuons(read_pairs(path)), dimuons(collisions)
    near = measured.mass > 60
    np.testing.assert_allclose(stored.mass[near], measured.mass[near], atol=1e-3)


def test_the_same_events_are_the_same_file(collisions, tmp_path):
    pytest.importorskip("pyarrow")
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path in paths:
        write_pairs(path, *resample(collisions, 500, seed=1, index=2))
    assert paths[0].read_bytes() == paths[1].read_bytes()

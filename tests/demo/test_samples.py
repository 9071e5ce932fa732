import builtins
import importlib.resources

import numpy as np
import pytest

from freestone.demo import samples
from freestone.errors import PackagesMissingError, SamplesMissingError


def test_only_one_reconstruction_of_each_pair_is_read(collisions):
    assert collisions.shape == (508, 2, 4)
    assert len(np.unique(collisions.reshape(508, 8), axis=0)) == 508


def test_blocks_of_a_file_are_the_whole_file(collisions):
    path = samples.sample_path(samples.ZMUMU_FILE)
    blocks = [samples.read_zmumu(path, *rows) for rows in samples.row_ranges(2304, 5)]
    np.testing.assert_array_equal(np.concatenate(blocks), collisions)


def test_blocks_of_the_jagged_file_are_the_whole_file():
    pytest.importorskip("awkward")
    pytest.importorskip("skhep_testdata")
    path = samples.sample_path(samples.HZZ_FILE)
    assert samples.count_rows(path) == 2421
    blocks = [samples.read_hzz(path, *rows) for rows in samples.row_ranges(2421, 5)]
    np.testing.assert_array_equal(np.concatenate(blocks), samples.read_hzz(path, 0, 2421))


@pytest.mark.parametrize(("rows", "blocks"), [(0, 3), (2, 3), (10, 1), (2304, 7)])
def test_ranges_cover_the_rows_once_and_evenly(rows, blocks):
    ranges = samples.row_ranges(rows, blocks)
    assert [row for start, stop in ranges for row in range(start, stop)] == list(range(rows))
    lengths = [stop - start for start, stop in ranges]
    assert max(lengths) - min(lengths) <= 1


def test_a_missing_package_is_named_with_the_command(monkeypatch):
    def missing(package):
        raise ModuleNotFoundError(package)

    monkeypatch.setattr(importlib.resources, "files", missing)
    with pytest.raises(SamplesMissingError) as caught:
        samples.sample_path("uproot-Zmumu.root")
    assert "is not installed" in str(caught.value)
    assert "pip install 'scikit-hep-testdata==0.3.12'" in str(caught.value)
    assert isinstance(caught.value, builtins.FileNotFoundError)


def test_a_version_without_the_file_is_distinguished():
    pytest.importorskip("skhep_testdata")
    with pytest.raises(SamplesMissingError, match=r"has no nothing\.root in its wheel"):
        samples.sample_path("nothing.root")


def test_missing_packages_are_named_with_the_command(monkeypatch):
    monkeypatch.setattr(samples, "_PACKAGES", ("numpy", "no_such_package", "nor_this"))
    with pytest.raises(PackagesMissingError) as caught:
        samples.require_packages()
    assert "no_such_package, nor_this" in str(caught.value)
    assert "pip install 'freestone[demo]'" in str(caught.value)

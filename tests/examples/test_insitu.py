"""The in-situ pipelines against a sequential computation, and what they write."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from examples.insitu import analytics, bespoke, sequential
from examples.insitu.items import merge, pack, partials, summary, unpack
from examples.insitu.model import block, schedule, terrain
from examples.insitu.settings import FIELDS, Settings
from examples.insitu.writer import DIAGNOSTICS, Writer, read

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("count", "models", "workers"), [(1, 1, 1), (3, 1, 1), (3, 2, 1), (2, 3, 3)]
)
def test_events_find_what_a_sequential_computation_does(count, models, workers, tmp_path):
    settings = Settings(analytics=count, models=models, steps=7, interval=2, folder=tmp_path)
    outcome = analytics.run(settings, threads=True, workers=workers)
    assert sequential.agree(outcome.results, settings)
    assert len(outcome.latencies_s) == 7 * len(FIELDS)


def test_processes_do_as_well():
    settings = Settings(analytics=2, steps=5)
    assert sequential.agree(analytics.run(settings).results, settings)


@pytest.mark.parametrize("flavour", ["monc", "tuned"])
def test_the_hand_written_pipeline_finds_the_same(flavour):
    settings = Settings(analytics=2, models=2, steps=5, last={1: 3})
    outcome = bespoke.run(settings, flavour)
    assert sequential.agree(outcome.results, settings)
    assert len(outcome.latencies_s) == 5 * len(FIELDS)


def test_ranks_come_late_and_leave_early():
    late = {"first": {1: 2, 3: 6}, "last": {0: 4, 2: 0}}
    settings = Settings(analytics=2, models=2, steps=6, **late)
    outcome = analytics.run(settings, threads=True)
    assert sequential.agree(outcome.results, settings)


def test_a_step_that_nobody_sends_has_no_mean():
    settings = Settings(analytics=1, steps=3, last={0: 2})
    outcome = analytics.run(settings, threads=True)
    assert np.isnan(outcome.results[2, 0]).all()
    assert sequential.agree(outcome.results, settings)


def test_other_results_do_not_agree():
    settings = Settings(analytics=1, steps=2)
    found = sequential.expected(settings)
    assert sequential.agree(found, settings)
    mean, *rest = found[1, 3]
    assert not sequential.agree({**found, (1, 3): (mean + 0.01, *rest)}, settings)
    del found[0, 0]
    assert not sequential.agree(found, settings)


@pytest.mark.parametrize(
    ("way", "kind"), [("events", "netcdf"), ("monc", "netcdf"), ("events", "zarr")]
)
def test_files_hold_all_fields_and_diagnostics(tmp_path, way, kind):
    if kind == "zarr":
        pytest.importorskip("zarr")
    settings = Settings(analytics=2, models=2, steps=7, interval=3, folder=tmp_path, format=kind)
    if way == "events":
        outcome = analytics.run(settings, threads=True)
    else:
        outcome = bespoke.run(settings, way)
    seen = 0
    for variables in read(tmp_path, "raw"):
        steps, members = variables["step"].tolist(), variables["member"].tolist()
        for place, field, index in np.ndindex(variables["raw"].shape[:3]):
            wanted = block(settings, members[index], steps[place], field)
            assert np.array_equal(variables["raw"][place, field, index], wanted)
            seen += 1
    assert seen == settings.items
    results = {}
    for variables in read(tmp_path, "diagnostics"):
        values = np.stack([variables[name] for name in DIAGNOSTICS], axis=-1)
        for place, step in enumerate(variables["step"].tolist()):
            for field in np.flatnonzero(~np.isnan(values[place, :, 0])).tolist():
                results[step, field] = tuple(values[place, field].tolist())
    assert results == outcome.results


def test_what_is_not_complete_is_written_at_the_end(tmp_path):
    settings = Settings(analytics=1, steps=4, interval=4, folder=tmp_path)
    writer = Writer(settings, 0)
    item = pack(1, 2, 0, block(settings, 0, 1, 2))
    writer.add_items(unpack([item], settings.points))
    assert not list(tmp_path.iterdir())
    writer.close()
    (variables,) = read(tmp_path, "raw")
    assert np.count_nonzero(~np.isnan(variables["raw"])) == settings.points


def test_partial_results_add_up():
    values = np.random.default_rng(1).normal(5, 2, (6, 10))
    mean, variance, least, greatest = summary(merge(partials(values).T.tolist()))
    wanted = [values.mean(), values.var(), values.min(), values.max()]
    assert np.allclose([mean, variance, least, greatest], wanted)


def test_the_terrain_is_real_and_moves():
    assert terrain().shape == (344, 403)
    settings = Settings(points=9)
    assert not np.array_equal(block(settings, 0, 0, 3), block(settings, 0, 1, 3))
    assert set(schedule(settings, 0)) == {(s, f) for s in range(20) for f in range(8)}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"format": "hdf5"}, "format='hdf5': must be one of netcdf, zarr"),
        ({"steps": 0}, "steps=0: must be at least 1"),
        ({"last": {1: 21}}, "rank 1 sends"),
    ],
)
def test_impossible_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Settings(**wrong)


def test_a_process_that_fails_ends_the_run():
    settings = Settings(analytics=2, steps=3, folder=Path("/nowhere"), interval=1)
    with pytest.raises(FileNotFoundError):
        bespoke.run(settings, "tuned")
    with pytest.raises(FileNotFoundError):
        analytics.run(settings, threads=True)


@pytest.mark.parametrize("way", ["events", "tuned"])
def test_it_runs_as_a_script(way, tmp_path):
    words = ["--way", way, "--steps", "12", "--interval", "5", "--folder", str(tmp_path)]
    command = [sys.executable, "examples/insitu/main.py", *words]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "as a sequential computation has it: True" in ran.stdout
    assert len(list(tmp_path.iterdir())) == 2 * 2 * 3

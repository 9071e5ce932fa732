import json
from dataclasses import replace

import numpy as np
import pytest

from freestone.demo import analysis, main, run
from freestone.demo.physics import count_masses, dimuons
from freestone.demo.resample import resample, write_pairs
from freestone.errors import ConfigurationError, IrreproducibleError

for module in ("uproot", "awkward", "pyarrow", "scipy", "matplotlib", "skhep_testdata"):
    pytest.importorskip(module)


def test_the_main_job_finds_the_z_and_answers_what_is_known(tmp_path):
    result = main(files=3, events=2_000, workers=2, out=tmp_path / "demo", output="quiet")
    assert result.mass_is_right
    first, changed, again = result.runs
    np.testing.assert_array_equal(first.counts, again.counts)
    assert changed.counts.sum() < first.counts.sum() <= 6_000
    assert first.calls >= 6
    assert first.answered == 0
    assert changed.answered == 3
    assert 3 <= changed.calls < first.calls
    assert again.answered >= 6
    assert again.calls < changed.calls


def test_counts_are_those_of_the_files_read_here(tmp_path):
    result = main(
        files=2, events=1_000, workers=2, out=tmp_path, seed=9, output="quiet", keep_files=True
    )
    paths = sorted(tmp_path.glob("events-*/*.parquet"))
    expected = sum(count_masses(analysis.dimuons_of_file(path), 20.0) for path in paths)
    np.testing.assert_array_equal(result.runs[0].counts, expected)
    assert result.making.nbytes == sum(path.stat().st_size for path in paths)
    assert result.making.folder == str(paths[0].parent)


def test_parquet_files_are_gone_at_the_end_and_results_stay(tmp_path):
    result = main(files=1, events=500, workers=2, out=tmp_path, output="quiet")
    assert not list(tmp_path.glob("events-*"))
    assert (tmp_path / "zmumu.png").stat().st_size > 10_000
    assert result.making.folder is None


def test_parquet_files_are_gone_after_a_failure(tmp_path, monkeypatch):
    def broken(*_):
        raise RuntimeError("no figure today")

    monkeypatch.setattr(run, "draw_peak", broken)
    with pytest.raises(RuntimeError, match="no figure today"):
        main(files=1, events=500, workers=2, out=tmp_path, output="quiet")
    assert not list(tmp_path.glob("events-*"))


def test_json_is_one_document(tmp_path, capsys):
    main(files=1, events=500, workers=2, out=tmp_path, output="json")
    assert json.loads(capsys.readouterr().out)["mass_gev"] == pytest.approx(91.2, abs=1.0)


def test_tables_are_printed_as_they_are_ready(tmp_path, capsys):
    main(files=1, events=500, workers=2, out=tmp_path, output="table")
    text = capsys.readouterr().out
    assert text.index("CMS collisions") < text.index("Making 1") < text.index("first again")


@pytest.mark.parametrize(
    ("files", "events", "problem"),
    [(0, 500, "files is 0 .* at least 1"), (1, 199, "events is 199 .* at least 200")],
)
def test_no_files_or_too_few_events_are_refused(files, events, problem, tmp_path):
    with pytest.raises(ConfigurationError, match=problem):
        main(files=files, events=events, out=tmp_path)


def test_tasks_are_plain_functions_with_no_cluster(collisions, tmp_path):
    path = tmp_path / "events.parquet"
    write_pairs(path, *resample(collisions, 1_000, seed=1, index=0))
    counts = analysis.histogram_task(20.0)(analysis.dimuons_of_file(path))
    assert counts.sum() > 900
    np.testing.assert_array_equal(
        analysis.dimuons_of_pairs(collisions).mass, dimuons(collisions).mass
    )


def test_another_histogram_the_third_time_is_an_error(tmp_path, monkeypatch):
    measure, calls = run._measure, []

    def drifting(*arguments):
        calls.append(measure(*arguments))
        return replace(calls[-1], counts=calls[-1].counts + len(calls))

    monkeypatch.setattr(run, "_measure", drifting)
    with pytest.raises(IrreproducibleError, match=r"in 60 bins.*keep_files"):
        main(files=1, events=500, workers=2, out=tmp_path, output="quiet")

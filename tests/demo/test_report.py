import io
import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from freestone.demo import report
from freestone.demo.fit import PeakFit
from freestone.demo.physics import Z_WINDOW, Binning
from freestone.demo.picture import draw_peak, figures_of
from freestone.demo.result import DemoResult, Making, Run, Sample
from freestone.demo.terminal import can_draw_blocks, plot_lines

FIT = PeakFit(90.71, 0.14, 1.52, 0.17, 447.0, 2.1, 0.1, 36.4, 35)


@pytest.fixture
def result():
    counts = np.round(FIT.expected(Z_WINDOW.centers, 1.0)).clip(0).astype(np.int64)
    samples = (
        Sample("Measured", False, counts, Z_WINDOW, FIT),
        Sample("Simulated", True, counts, Z_WINDOW, FIT),
    )
    runs = tuple(
        Run(label, cut, calls, answered, nbytes, 0.5, 10_000, counts, 90.7)
        for label, cut, calls, answered, nbytes in [
            ("first", 20, 9, 0, 1536),
            ("first again", 25, 40_000, 5, 1000),
        ]
    )
    making = Making(2, 5_000, 1, 3 << 20, 0.25, None)
    return DemoResult(samples, making, runs, "demo/zmumu.png", "demo/run.parquet")


def test_bars_reach_as_high_as_their_counts():
    sample = Sample("", False, np.array([0, 4, 8]), Binning(60, 63, 3), FIT)
    assert plot_lines(sample, width=11, height=4)[:4] == [
        "     8 ┤  █",
        "       │  █",
        "     4 ┤ ██",
        "       │ ██",
    ]


def test_a_plot_has_both_axes_and_the_curve(result):
    lines = plot_lines(result.samples[0], width=80, height=14)
    assert len(lines) == 17
    assert max(map(len, lines)) <= 80
    assert lines[-2].split() == ["60", "70", "80", "90", "100", "110", "120"]
    assert "(GeV)" in lines[-1]
    assert sum(line.count("•") for line in lines) == 40


def test_a_wide_terminal_gets_wide_bars(result):
    assert len(plot_lines(result.samples[0], width=140)[-3]) == 8 + 121


def test_plain_plots_are_ascii(result):
    text = "\n".join(plot_lines(result.samples[0], blocks=False))
    assert text.isascii()
    assert "*" in text
    assert "#" in text


@pytest.mark.parametrize(("encoding", "can"), [("utf-8", True), ("ascii", False), ("x", False)])
def test_characters_are_chosen_by_encoding(encoding, can):
    stream = type("Stream", (), {"encoding": encoding})()
    assert can_draw_blocks(stream) is can


def test_an_empty_histogram_can_be_drawn():
    sample = Sample("", False, np.zeros(60, np.int64), Z_WINDOW, FIT)
    assert len(plot_lines(sample)) == 17


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("rich", [True, False])
def test_everything_is_printed_whatever_the_terminal(result, monkeypatch, encoding, rich):
    if rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    report.render(result)
    sys.stdout.flush()
    text = written.getvalue().decode(encoding)
    for part in ("90.71", "within 1 GeV of 91.2", "calls run", "1.5 KiB", "0.02 M", "zmumu.png"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text


@pytest.mark.parametrize(
    ("rate", "text"), [(2e4, "0.02 M"), (59e6, "59.0 M"), (1.2873e9, "1,287 M")]
)
def test_rates_have_three_digits(result, rate, text):
    run = replace(result.runs[0], seconds=10_000 / rate)
    assert text in report._row(run)


def test_a_row_is_one_line_of_a_narrow_terminal(result, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    report.render_runs(result, report.make_console())
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "first again" in line]
    assert row.split()[:5] == ["first", "again", "25", "GeV", "40,000"]


def test_a_wrong_mass_is_reported(result, capsys):
    fit = PeakFit(**{**FIT.to_dict(), "mass_gev": 90.1})
    sample = Sample("Measured", False, result.samples[0].counts, Z_WINDOW, fit)
    wrong = DemoResult((sample,), result.making, result.runs, "", "")
    report.render(wrong, report.PlainConsole())
    assert not wrong.mass_is_right
    assert "NOT within 1 GeV" in capsys.readouterr().out


def test_a_result_is_plain_json(result):
    found = json.loads(json.dumps(result.to_dict()))
    assert found["mass_gev"] == 90.71
    assert found["runs"][1]["answered"] == 5
    assert found["runs"][0]["events_per_s"] == 20_000
    assert len(found["samples"][0]["edges_gev"]) == 61


def test_the_picture_is_written(sample, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    path = tmp_path / "zmumu.png"
    draw_peak(sample, path)
    height, width, _ = image.imread(path).shape
    assert (width, height) == (1120, 864)


def test_the_picture_says_mass_and_uncertainty():
    assert figures_of(FIT)[0] == "$m_Z$ = 90.71 ± 0.14 GeV"

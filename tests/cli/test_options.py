"""Every option of scripts: known to the reference and to the command, and with an effect."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from freestone.cli import main, script
from freestone.lang.settings import Settings

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "daphnedsl.md"
ELSEWHERE = {"json", "set"}
"""Options of ``freestone run`` that the reference mentions, and that are not for scripts alone."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(text: str, *options: str) -> int:
    Path("s.daph").write_text(text)
    return main(["run", *options, "s.daph"])


def settings(*options: str) -> Settings:
    """Return the settings that options make."""
    parser = argparse.ArgumentParser()
    script.configure(parser)
    given = parser.parse_args(options)
    return script.settings_of(script.options_of(given, script.defaults_of(given)))


def changed(*options: str) -> dict[str, Any]:
    """Return the settings that options change."""
    plain, made = settings(), settings(*options)
    return {
        each.name: getattr(made, each.name)
        for each in fields(Settings)
        if getattr(made, each.name) != getattr(plain, each.name)
    }


def test_the_reference_lists_the_options_that_there_are() -> None:
    parser = argparse.ArgumentParser()
    script.configure(parser)
    known = {
        word.removeprefix("--"): action.help != argparse.SUPPRESS
        for action in parser._actions
        for word in action.option_strings
        if word.startswith("--")
    }
    text = REFERENCE.read_text()
    (table,) = re.findall(r"\| option \| effect \|\n\| --- \| --- \|\n((?:\|.*\n)+)", text)
    reported = set(re.findall(r"--([\w-]+)", table))
    assert reported <= {*known, *ELSEWHERE}
    shown = {word for word, visible in known.items() if visible and "hdfs" not in word}
    assert shown - {"help"} <= reported


EFFECTS: dict[str, dict[str, Any]] = {
    "--vec": {"vec": True},
    "--vec-restricted": {"vec": True, "restricted": True},
    "--partitioning=TSS": {"partitioning": "TSS"},
    "--FAC2": {"partitioning": "FAC2"},
    "--queue_layout=PERGROUP": {"queue_layout": "PERGROUP"},
    "--victim_selection=RANDOM": {"victim_selection": "RANDOM"},
    "--num-threads=3": {"num_threads": 3},
    "--hyperthreading": {"hyperthreading": True},
    "--pin-workers": {"pin_workers": True},
    "--grain-size=9": {"grain_size": 9},
    "--phy-batch-size=64KiB": {"batch_bytes": 65536},
    "--pre-partition": {"pre_partition": True},
    "--numa=interleave": {"numa": "interleave"},
    "--select-matrix-repr": {"select_matrix_repr": True},
    "--memory=2GiB": {"memory_bytes": 2 << 30},
    "--memory=4096": {"memory_bytes": 4096},
    "--distributed": {"vec": True, "distributed": True},
    "--max-distr-chunk-size=5000": {"block_bytes": 5000},
    "--min-distr-size=1MB": {"distributed_bytes": 1000000},
    "--explain=fusion,memory": {"explain": ("fusion", "memory")},
    "--explain=parsing,vectorized": {"explain": ("built", "fusion")},
    "--no-phy-op-selection": {"physical": False},
    "--no-ipa-const-propa": {"propagate": False},
    "--no-obj-ref-mgnt": {"forget": False},
    "--enable-property-recording=f": {"record": "f"},
    "--enable-property-insert=f": {"insert": "f"},
    "--columnar": {},
    "--debug-mt": {"tell_pipelines": True},
    "--libdir=.": {},
    "--enable-profiling": {"profiling": True},
    "--statistics": {"statistics": True},
    "--timing": {"timing": True},
}


@pytest.mark.parametrize("option", EFFECTS)
def test_an_option_changes_its_setting(option: str) -> None:
    assert changed(option) == EFFECTS[option]


@pytest.mark.parametrize("option", ["memory", "phy-batch-size", "min-distr-size"])
@pytest.mark.parametrize("value", ["much", "-1", "1.5.2GB", ""])
def test_amounts_of_bytes_are_checked(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("print(1);", f"--{option}={value}") == 2
    assert f"--{option}={value}: not an amount of bytes" in capsys.readouterr().err


LARGE = "X = rand(4000, 50, 0.0, 1.0, 1.0, 7);\n"


def test_a_limit_of_memory_holds(capsys: pytest.CaptureFixture[str]) -> None:
    text = LARGE + "print(round(sum(X * 2.0)));"
    assert run(text) == 0
    expected = capsys.readouterr().out
    assert run(text, "--memory=600KB", "--explain=strips") == 0
    out, err = capsys.readouterr()
    assert out == expected
    assert "strips of" in err
    assert run(LARGE + "Y = X @ t(X);\nprint(Y[0, 0]);", "--memory=600KB") == 2
    out = capsys.readouterr().out
    assert "[error]: While compiling: this needs" in out
    assert "at matmul" in out
    assert "s.daph:2:" in out


def test_statistics_are_a_table_of_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    text = LARGE + "for (i in 1:3) {\n    print(sum(exp(X)) > as.f64(i));\n}"
    assert run(text, "--statistics") == 0
    head, *rows = capsys.readouterr().err.splitlines()
    assert head.split() == ["operation", "seconds", "count", "average", "place"]
    cells = [re.split(r"\s{2,}", row.strip()) for row in rows if row.strip("─- ")]
    seconds = [float(row[1]) for row in cells]
    assert seconds == sorted(seconds, reverse=True)
    found = {row[0]: (int(row[2]), row[4]) for row in cells}
    assert found["rand"] == (1, "s.daph:1:5")
    assert found["print"] == (3, "s.daph:3:5")


def test_times_are_those_of_the_stages(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(LARGE + "print(1);", "--timing") == 0
    (line,) = capsys.readouterr().err.splitlines()
    found = json.loads(line)
    names = ["startup", "parsing", "compilation", "execution", "total"]
    assert list(found) == [f"{name}_seconds" for name in names]
    assert all(seconds >= 0 for seconds in found.values())
    *parts, total = found.values()
    assert sum(parts) == pytest.approx(total, abs=1e-5)


def test_times_are_those_of_long_expressions_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("print(" + "1 + " * 3000 + "1);", "--timing") == 0
    out, err = capsys.readouterr()
    assert out == "3001\n"
    assert json.loads(err)["parsing_seconds"] > 0


def test_pipelines_tell_how_they_ran(capsys: pytest.CaptureFixture[str]) -> None:
    text = LARGE + "print(sum(X * 2.0) > 0.0);\nY = fill(1, 0, 3); print(sum(Y * 2 + 1));"
    assert run(text, "--vec", "--debug-mt", "--num-threads=2", "--GSS") == 0
    out, err = capsys.readouterr()
    assert out == "1\n0\n"
    first, second = err.splitlines()
    place = "pipeline s.daph:2:7: binary mul, agg_all sum; "
    how = "4000x50 cells, 2 workers, GSS CENTRALIZED SEQ: fused in "
    assert re.fullmatch(re.escape(place + how) + r"[\d.]+ s", first)
    assert re.search(r"^pipeline s.daph:3:.* 0x3 cells, .*: one by one in [\d.]+ s$", second)


def test_kernels_are_found_in_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    Path("more").mkdir()
    Path("more/k.py").write_text("def twice(x):\n    return float(2 * x.sum())\n")
    text = "print(sum::twice([1.5, 2.0]));"
    assert run(text, "--libdir=more", "--kernel-ext=k.py:3") == 0
    assert capsys.readouterr().out == "7\n"
    assert run(text, "--kernel-ext=k.py") == 2
    assert "there is no file 'k.py'" in capsys.readouterr().err
    assert run(text, "--libdir=none") == 2
    assert "--libdir=none: there is no such folder" in capsys.readouterr().err


def test_all_stages_can_be_shown() -> None:
    from freestone.lang.compile import PASSES

    assert ("built", *(name for name, _ in PASSES), "cost") == script.STAGES


@pytest.mark.parametrize("stage", [stage for stage in script.STAGES if stage != "cost"])
def test_each_stage_is_shown(stage: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        LARGE + "def f(A) { return sum(A @ t(A)); }\nif (f(X) > 0.0) { print(sum(X * 2.0 + X)); }"
    )
    assert run(text, "--vec", f"--explain={stage}") == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1
    head, *rows = err.splitlines()
    assert head == f"-- {stage}"
    assert any(row.strip().startswith("def f") for row in rows)
    assert ("pipeline" in err) == (script.STAGES.index(stage) >= script.STAGES.index("fusion"))
    # Every name that is read was given or made in a line above.
    known: set[str] = set()
    for row in rows:
        made, sign, read = row.rpartition(" = ")
        names = re.findall(r"%\d+", read)
        if sign or "(" not in read or not read.strip().startswith(("def", "do", "test")):
            assert set(names) <= known
        known |= set(re.findall(r"%\d+", made)) | set(names)


def test_daphnes_own_files_of_defaults_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    data = {
        "matmul_vec_size_bits": 0,
        "matmul_tile": False,
        "matmul_use_fixed_tile_sizes": True,
        "matmul_fixed_tile_sizes": [4, 4, 4, 4, 4],
        "matmul_unroll_factor": 1,
        "use_cuda": False,
        "use_mlir_codegen": False,
        "use_columnar": False,
        "vectorized_single_queue": False,
        "explain_mlir_codegen": False,
        "force_cuda": False,
        "use_vectorized_exec": True,
        "use_obj_ref_mgnt": False,
        "use_phy_op_selection": True,
        "explain_vectorized": True,
        "explain_llvm": False,
        "taskPartitioningScheme": "GSS",
        "numberOfThreads": -1,
        "minimumTaskSize": 4,
        "libdir": "{exedir}/../lib",
        "daphnedsl_import_paths": {},
        "logging": [{"log-level-limit": "ERROR"}],
        "sparsity_threshold": 0.5,
    }
    Path("UserConfig.json").write_text(json.dumps(data))
    assert changed("--config=UserConfig.json") == {
        "vec": True,
        "forget": False,
        "explain": ("fusion",),
        "partitioning": "GSS",
        "grain_size": 4,
        "sparsity_threshold": 0.5,
    }
    # Options are over what the file says.
    both = changed("--config=UserConfig.json", "--partitioning=SS", "--num-threads=2")
    assert (both["partitioning"], both["num_threads"]) == ("SS", 2)
    assert run("print(1);", "--config=UserConfig.json") == 0
    assert capsys.readouterr().err.startswith("-- fusion")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"vek": True}, "has the key 'vek', which is no option; did you mean 'vec'?"),
        ({"config": "other.json"}, "has the key 'config', which is no option"),
        ({"vec": "no"}, 'vec has to be true or false, not "no"'),
        ({"memory": [1]}, "memory has to be text or a number, not [1]"),
        ({"numThreads": None}, "has the key 'numThreads', which is no option"),
        ({"num_threads": None}, "num_threads has to be text or a number, not null"),
        ({"numberOfThreads": -2}, "--num-threads=-2 has to be a number"),
        ({"sparsity_threshold": "a"}, 'sparsity_threshold has to be a number, not "a"'),
        ({"daphnedsl_import_paths": 1}, "has to be an object of lists of folders"),
        ({"daphnedsl_import_paths": {"default_dirs": 1}}, "an object of lists of folders"),
        ({"daphnedsl_import_paths": {"lib": []}}, "the library 'lib' of daphnedsl_import_paths"),
        ({"use_obj_ref_mgnt": 1}, "use_obj_ref_mgnt has to be true or false, not 1"),
        ({"use_cuda": True}, "--cuda is not there"),
        ({"matmul_unroll_factor": "a"}, "--matmul-unroll-factor=a has to be numbers"),
        ({"num_threads": "many"}, "--num-threads=many has to be a number"),
        ([1], "holds no object"),
    ],
)
def test_wrong_defaults_are_reported(
    data: Any, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("c.json").write_text(json.dumps(data))
    assert run("print(1);", "--config=c.json") == 1
    out, err = capsys.readouterr()
    assert problem in err
    assert out == ""


def test_defaults_are_refused_where_an_option_is(capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.json").write_text('{"cluster": "here"}')
    assert run("print(1);", "--config=c.json") == 2
    problem = "--cluster is for scripts on a cluster; add --distributed"
    assert problem in capsys.readouterr().err


def test_defaults_have_arguments_of_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.json").write_text(json.dumps({"args": "a=1,b=2"}))
    assert run("print($a + $b);", "--config=c.json") == 0
    assert run("print($a + $b);", "--config=c.json", "--args=a=5,b=6") == 0
    assert capsys.readouterr().out == "3\n11\n"


def test_costs_are_shown_before_a_run_and_measured_after_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = """X = rand(200, 100, 0.0, 1.0, 1.0, 1);
for (i in 1:3) { X = exp(X) - X; }
Y = X[[X[, 0] > 1.5, ]];
print(sum(Y)); print(sum(t(X) @ X) > 0.0);
def unused(A) { return sum(A); }
print(unused(X) > 0.0);
"""
    assert run(text, "--vec", "--explain=cost") == 0
    before, after = capsys.readouterr().err.split("-- cost, measured\n")
    assert before.startswith("-- cost\n")
    heads = before.splitlines()[1]
    assert heads.split() == ["step", "kernel", "place", "bytes", "seconds", "line"]
    (exp,) = [line for line in after.splitlines() if "unary exp, binary sub" in line]
    # The rows are 200 x 100 x 8 bytes, read and written; the loop went round three times.
    assert re.search(r"^  unary exp, binary sub +fused +here +312 KiB .* 312 KiB .* 3  s.daph", exp)
    assert "filter_rows" in before
    (kept,) = [line for line in after.splitlines() if line.startswith("filter_rows")]
    assert re.search(r"\? +\? +[\d.]+ [KM]iB +[\d.]+ +1 ", kept)
    assert run("print(1 / 0 + ncell([1.0]));", "--explain=cost") == 3
    assert "-- cost, measured" in capsys.readouterr().err


def test_a_folder_is_no_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", ".."]) == 2
    assert ".. is a folder; name a script" in capsys.readouterr().err

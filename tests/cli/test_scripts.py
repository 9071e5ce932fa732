"""``freestone run`` for scripts in DaphneDSL: options, messages, exit statuses."""

import argparse
import json
import os
from pathlib import Path

import numpy as np
import pytest

from freestone.cli import main, script
from freestone.lang.settings import Settings


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(text: str, *words: str, options: tuple[str, ...] = ()) -> int:
    Path("s.daph").write_text(text)
    return main(["run", *options, "s.daph", *words])


def test_a_script_prints_and_takes_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert run('print("hello " + $x);', "x=1") == 0
    assert capsys.readouterr().out == "hello 1\n"
    assert run("print($a + $b);", options=("--args", "a=1,b=2")) == 0
    assert capsys.readouterr().out == "3\n"
    words = 'a="x,\\"y",b=2,c="",'
    assert run("print($a); print($b); print($c);", options=("--args", words)) == 0
    assert capsys.readouterr().out == 'x,"y\n2\n\n'


@pytest.mark.parametrize("words", [("--args", "n=3"), ("n=3", "--vec"), ("--args=n=3",), ("-v",)])
def test_options_behind_a_script_are_refused_with_where_they_stand(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("print($n);", *words) == 1
    assert "is no argument; options stand before the script, as in" in capsys.readouterr().out
    assert run("print($n);", "n") == 1
    assert "'n' is no argument; write name=value" in capsys.readouterr().out


def test_what_a_script_prints_comes_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    text = """
    print(1 + 2); print("ä"); print(true); print(0.0 / 0.0); print(-1.0 / 0.0);
    print(seq(1, 3)); print([0.5, 1.0 / 0.0]); print(createFrame([1, 2], [0.5, 1.5], "a", "b"));
    print(createList([1], [2])); print("aside", true, true);
    X = rand(100, 2, 0.0, 1.0, 1.0, 1); print(X);
    """
    assert run(text, options=("--json",)) == 0
    out, err = capsys.readouterr()
    assert err == "aside\n"
    found = json.loads(out)
    assert (found["script"], found["status"]) == ("s.daph", 0)
    *small, large = found["printed"]
    assert small == [
        *(3, "ä", True, "nan", "-inf", [[1], [2], [3]], [[0.5], ["inf"]]),
        *({"a": [1, 2], "b": [0.5, 1.5]}, [[[1]], [[2]]]),
    ]
    assert np.shape(large) == (100, 2)
    assert run(text, options=("--json", "--vec", "--memory=500")) == 0
    assert json.loads(capsys.readouterr().out)["printed"] == found["printed"]


def test_a_failure_comes_as_json_with_what_was_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run('print(1); stop("done");', options=("--json",)) == 3
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["status"], found["printed"]) == (3, [1])
    assert found["error"].startswith("[error]: While running: system stopped: done\ns.daph:1:11")
    assert err == found["error"] + "\n"


@pytest.mark.parametrize(
    ("text", "status", "reported"),
    [
        ("print(1;", 1, "[error]: While parsing: expected ')' after the arguments of print"),
        ("x = [1] @ [1, 2](2, 1);", 2, "[error]: While compiling: @ of a 1x1 and a 2x1 matrix"),
        ("i = 7; x = [1]; print(as.scalar([1]) / 0);", 3, "[error]: While running: integers are"),
        ('stop("done");', 3, "[error]: While running: system stopped: done"),
    ],
)
def test_an_error_is_reported_with_its_line(
    text: str, status: int, reported: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(text) == status
    out, err = capsys.readouterr()
    assert out.startswith(reported)
    assert "\ns.daph:1:" in out
    assert out.splitlines()[-2] == text
    assert err == ""


def test_options_have_their_effects(capsys: pytest.CaptureFixture[str]) -> None:
    text = "x = fill(2.0, 100, 3); print(sum(x * x + 1.0)); print(sum(x, 1));"
    assert run(text) == 0
    plain = capsys.readouterr().out
    for scheme in ("STATIC", "SS", "GSS", "AUTO"):
        for layout in ("CENTRALIZED", "PERGROUP", "PERCPU"):
            words = ("--vec", f"--partitioning={scheme}", f"--queue_layout={layout}")
            more = ("--num-threads=3", "--victim_selection=RANDOMPRI", "--pre-partition")
            assert run(text, options=(*words, *more)) == 0
            assert capsys.readouterr().out == plain
    assert run(text, options=("--timing", "--statistics", "--explain=fusion", "--vec")) == 0
    out, err = capsys.readouterr()
    assert out == plain
    assert "-- fusion" in err
    assert "pipeline" in err
    assert json.loads(err.splitlines()[-1])["total_seconds"] > 0
    text = "print(rand(2, 2, 1.0, 1.0, 0.0, 1));"
    assert run(text, options=("--select-matrix-repr",)) == 0
    assert capsys.readouterr().out == "CSRMatrix(2x2, double)\n0 0\n0 0\n"


def test_a_file_has_defaults_of_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    Path("lib").mkdir()
    Path("lib/a.daphne").write_text("x = 5;")
    data = {"explain": "built", "daphnedsl_import_paths": {"default_dirs": ["lib"]}}
    Path("c.json").write_text(json.dumps(data))
    assert run('import "a.daphne"; print(a.x);', options=("--config=c.json",)) == 0
    out, err = capsys.readouterr()
    assert out == "5\n"
    assert err.startswith("-- built")


ABSENT = "cuda fpgaopencl"
WITH_VALUES = "libdir=x matmul-unroll-factor=four partitioning=FAST num-threads=-1 explain=all"


@pytest.mark.parametrize("option", [f"--{word}" for word in f"{ABSENT} {WITH_VALUES}".split()])
def test_what_is_not_there_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("print(1);", options=(option,)) == 2
    assert "configuration" in capsys.readouterr().err


def test_the_flags_of_hdfs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HDFS_ADDRESS", "HADOOP_USER_NAME"):
        monkeypatch.setenv(name, "")
    assert run("print(1);", options=("--enable-hdfs",)) == 2
    assert "--enable-hdfs knows no server" in capsys.readouterr().err
    assert run("print(1);", options=("--hdfs-ip=there", "--hdfs-username=she")) == 0
    assert (os.environ["HDFS_ADDRESS"], os.environ["HADOOP_USER_NAME"]) == ("there:9000", "she")
    assert run("print(1);", options=("--hdfs-address=here:7",)) == 0
    assert os.environ["HDFS_ADDRESS"] == "here:7"
    assert run("print(1);", options=("--hdfs-ip=hdfs://here:8/",)) == 0
    assert os.environ["HDFS_ADDRESS"] == "here:8"
    service = "<property><name>dfs.ha.namenodes.ours</name><value>a,b</value></property>"
    Path("hdfs-site.xml").write_text(f"<configuration>{service}</configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", os.getcwd())
    assert run("print(1);", options=("--hdfs-ip=ours",)) == 0
    assert os.environ["HDFS_ADDRESS"] == "ours"
    defaults = {"use_hdfs": False, "hdfs_Address": "h:8020", "hdfs_username": "he"}
    Path("defaults.json").write_text(json.dumps(defaults))
    assert run("print(1);", options=("--config=defaults.json",)) == 0
    assert (os.environ["HDFS_ADDRESS"], os.environ["HADOOP_USER_NAME"]) == ("h:8020", "he")
    Path("p.py").write_text("import os; print(os.environ['HDFS_ADDRESS'])")
    capsys.readouterr()
    assert main(["run", "--hdfs-ip", "other:1", "p.py"]) == 0
    assert capsys.readouterr().out.startswith("other:1\n")


def test_regions_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    text = 'startProfiling(); print(sum(fill(1.0, 100, 100))); stopProfiling("sum");'
    assert run(text) == 0
    out, err = capsys.readouterr()
    assert out == "10000\n"
    found = json.loads(err)
    assert found["region"] == "sum"
    assert found["seconds"] > 0
    assert found["peak_memory_bytes"] > 0
    assert run(text, options=("--enable-profiling",)) == 0
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["region"] for line in lines] == ["sum", "script"]
    assert lines[1]["seconds"] >= lines[0]["seconds"]
    assert run('stopProfiling("x");') == 3
    assert "without startProfiling()" in capsys.readouterr().out


def test_memory_is_placed_by_a_policy(capsys: pytest.CaptureFixture[str]) -> None:
    text = "x = fill(2.0, 3000, 300); print(sum(x * x + x)); print(typeOf(exp(x * x) + x));"
    assert run(text, options=("--vec",)) == 0
    plain = capsys.readouterr().out
    for policy in ("default", "interleave", "preferred=0", "local"):
        assert run(text, options=("--vec", f"--numa={policy}")) == 0
        assert capsys.readouterr().out == plain
    for bad in ("nearest", "preferred", "preferred=99", "local=1"):
        assert run(text, options=("--vec", f"--numa={bad}")) != 0
        assert "--numa" in capsys.readouterr().err


def settings(*options: str) -> Settings:
    """Return the settings that options make."""
    parser = argparse.ArgumentParser()
    script.configure(parser)
    given = parser.parse_args(options)
    return script.settings_of(script.options_of(given, script.defaults_of(given)))


def test_options_of_daphnes_compiler_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    words = "codegen optimistic-splitting columnar matmul-tile matmul-use-fixed-tile-sizes"
    words += " matmul-invert-loops matmul-vec-size-bits=256 matmul-fixed-tile-sizes=4,4"
    words += " matmul-unroll-factor=2 matmul-unroll-jam-factor=4 matmul-num-vec-registers=16"
    options = [f"--{word}" for word in words.split()]
    assert run("x = [1.5, 2.5]; print(sum(x * 2 + 1)); print(t(x) @ x);", options=options) == 0
    assert capsys.readouterr().out == "10\nDenseMatrix(1x1, double)\n8.5\n"
    assert settings(*options).vec
    assert not settings(*options[1:]).vec


def test_schemes_are_options_of_their_own() -> None:
    assert settings("--vec", "--GSS").partitioning == "GSS"
    assert settings("--vec", "--MSTATIC").partitioning == "MSTATIC"


def test_a_job_of_slurm_has_no_more_threads_than_it_was_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLURM_CPUS_ON_NODE", "1")
    assert settings("--vec").num_threads == 1
    assert settings("--vec", "--num-threads=7").num_threads == 1
    monkeypatch.delenv("SLURM_CPUS_ON_NODE")
    assert settings("--vec").num_threads == 0
    assert settings("--vec", "--num-threads=7").num_threads == 7

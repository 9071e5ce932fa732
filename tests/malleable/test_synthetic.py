"""The synthetic application: what it reads, one run of it, and statistics over many."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from freestone.cli import main
from freestone.errors import ConfigurationError, FileMissingError
from freestone.malleable import METHODS
from freestone.malleable.synthetic import analysis, read
from tests.malleable.jobs import HERE

pytest.importorskip("mpi4py")
CONFIGS = HERE.parents[1] / "examples" / "configs"

SMALL = """
constant = "160kB"
variable = "16kB"
[[stages]]
kind = "matvec"
seconds = 0.002
granularity = 50
[[stages]]
kind = "pi"
seconds = 0.001
granularity = 100
capped = true
[[stages]]
kind = "allgatherv"
nbytes = "10kB"
[[stages]]
kind = "p2p"
seconds = 0.0001
[[stages]]
kind = "bcast"
nbytes = 8
[[stages]]
kind = "reduce"
nbytes = 8
[[groups]]
processes = 2
iterations = 4
[[groups]]
processes = 3
iterations = 5
method = "merge-collective-sync"
"""

INI = """[general]
Total_Resizes=1
Total_Stages=2
Granularity=600
SDR=134228039.136
ADR=3813655464.864
Rigid=0
;end [general]
[stage0]
Stage_Type=1
Stage_Bytes=0
Stage_Time=0.6085314
[stage1]
Stage_Type=4
Stage_Bytes=33176880
Stage_Time=0
[resize0]
Iters=500
Procs=160
FactorS=0.01661
Dist=compact
Redistribution_Method=0
Redistribution_Strategy=1
Spawn_Method=0
Spawn_Strategy=1
[resize1]
Iters=500
Procs=40,80
FactorS=0.05852,0.0304
Dist=compact
Redistribution_Method=0,1
Redistribution_Strategy=2
Spawn_Method=1
Spawn_Strategy=1
"""

JSON = {
    "general": {"Total_Resizes": 1, "Total_Phases": 2, "SDR": 50, "ADR": 100, "Datasize": 8},
    "phases": [
        {"Total_Iters": 3, "Total_Stages": 1, "stages": [{"Stage_Type": 8, "Stage_Bytes": 8}]},
        {
            "Total_Iters": 7,
            "Total_Stages": 1,
            "stages": [{"Stage_Type": 0, "Stage_Time": 1.0, "Granularity": 10}],
        },
    ],
    "groups": [
        {"Iters": 5, "Procs": 2, "Spawn_Method": 0, "Redistribution_Strategy": [0]},
        {"Iters": 5, "Procs": 4, "Spawn_Method": 1, "Redistribution_Strategy": [2]},
    ],
}


# What one file of the authors' tool of today says by colons: six configurations but for those
# that resize to as many processes as there are.
VARIANTS = """[general]
Total_Resizes=1
Total_Phases=1
SDR=1000
ADR=25:50
Datasize=4
[phase0]
Total_Iters=12
Total_Stages=1
[phase0.stage0]
Stage_Type=8
Stage_Bytes=8
Stage_Time=0
[resize0]
Iters=4
Procs=4
FactorS=1
Spawn_Method=0
Redistribution_Method=0
Redistribution_Strategy=0
[resize1]
Iters=8
Procs=2:3
FactorS=0.3:0.5
Spawn_Method=1
Redistribution_Method=1
Redistribution_Strategy=0:1,3
"""

STAGES = {
    "general": {"Total_Resizes": 1, "Total_Phases": 1, "SDR": 800, "ADR": 0, "Datasize": 1},
    "phases": [
        {
            "Total_Iters": 8,
            "Total_Stages": 11,
            "stages": [
                {"Stage_Type": 0, "Stage_Time": 0.001, "Granularity": 10},
                {"Stage_Type": 1, "Stage_Time": 0.001, "Granularity": 10},
                {"Stage_Type": 2, "Stage_Time": 0.0001, "Stage_Time_Capped": 1},
                {"Stage_Type": 3, "Stage_Time": 0.0001, "Stage_Identifier": 7},
                {"Stage_Type": 5, "Stage_Bytes": 100},
                {"Stage_Type": 4, "Identifier": 7},
                {"Stage_Type": 6, "Stage_Bytes": 100},
                {"Stage_Type": 7, "Stage_Bytes": 100},
                {"Stage_Type": 8, "Stage_Bytes": 100},
                {"Stage_Type": 9, "Stage_Bytes": 1000, "Stage_Involved_Procs": 1},
                {"Stage_Type": 10, "Stage_Time": 0.0001, "Involved_Procs": 0},
            ],
        }
    ],
    "groups": [
        {"Iters": 4, "Procs": 2, "Dist": "compact"},
        {"Iters": 4, "Procs": 3, "Spawn_Method": 1, "Redistribution_Strategy": [0]},
    ],
}


def test_every_kind_of_stage_of_the_authors_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text(json.dumps(STAGES))
    assert main(["malleable", "run", "a.json", "-o", "out.json"]) == 0
    (run,) = json.loads(Path("out.json").read_text())
    assert [len(group["iterations"]) for group in run["groups"]] == [4, 4]
    assert {len(row) for group in run["groups"] for row in group["iterations"]} == {11}
    assert run["is_intact"]
    # Files of stages are gone.
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "out.json"}


def test_colons_give_all_combinations_and_percentages(tmp_path: Path) -> None:
    (tmp_path / "a.ini").write_text(VARIANTS)
    found = read(tmp_path / "a.ini")
    targets = [
        (s.constant_nbytes, s.variable_nbytes, *(getattr(s.groups[1], k) for k in KEYS))
        for s in found
    ]
    assert [(*first, str(method)) for *first, method in targets] == [
        (constant, 4000 - constant, size, factor, f"merge-p2p-{strategy}")
        for constant in (1000, 2000)
        for size, factor in ((2, 0.3), (3, 0.5))
        for strategy in ("sync", "thread")
    ]
    assert {s.iterations for s in found} == {12}
    # One of them resizes to as many as there are.
    (tmp_path / "a.ini").write_text(VARIANTS.replace("2:3", "4:3"))
    assert {s.groups[1].processes for s in read(tmp_path / "a.ini")} == {3}
    table = json.loads(json.dumps(JSON).replace('"Procs": 4', '"Procs": "4:3"'))
    (tmp_path / "a.json").write_text(json.dumps(table).replace('"ADR": 100', '"ADR": 10'))
    sizes = [(s.groups[1].processes, s.constant_nbytes) for s in read(tmp_path / "a.json")]
    assert sizes == [(4, 40), (3, 40)]


KEYS = ("processes", "factor", "method")


def test_the_keys_of_the_authors_first_versions(tmp_path: Path) -> None:
    old = (
        INI.replace("Redistribution_Method=0,1\n", "").replace("40,80", "40").replace(",0.0304", "")
    )
    old = old.replace("Redistribution_Strategy=2", "Asynch_Redistribution_Type=3")
    (tmp_path / "a.ini").write_text(old)
    (settings,) = read(tmp_path / "a.ini")
    assert str(settings.groups[1].method) == "merge-collective-thread"
    with_identifiers = INI.replace("Stage_Time=0\n", "Stage_Time=0\nStage_Identifier=1\n")
    (tmp_path / "a.ini").write_text(with_identifiers.replace("Stage_Type=4", "Stage_Type=8"))
    kinds = [stage.kind for stage in read(tmp_path / "a.ini")[0].phases[0].stages]
    assert kinds == ["matvec", "allreduce"]


def test_the_papers_configuration() -> None:
    (settings,) = read(CONFIGS / "cg.toml")
    assert settings.iterations == 1000
    nbytes = settings.constant_nbytes + settings.variable_nbytes
    assert round(100 * settings.constant_nbytes / nbytes, 1) == 96.6
    assert [stage.kind for stage in settings.phases[0].stages] == [
        "matvec",
        "allreduce",
        "allreduce",
        "allgatherv",
    ]
    assert round(1e3 * 0.6085314 * settings.factor_for(40), 1) == 35.6


def test_lists_of_the_authors_give_all_combinations(tmp_path: Path) -> None:
    (tmp_path / "a.ini").write_text(INI)
    found = read(tmp_path / "a.ini")
    targets = [(s.groups[1].processes, s.groups[1].factor, str(s.groups[1].method)) for s in found]
    assert targets == [
        (40, 0.05852, "merge-collective-thread"),
        (40, 0.05852, "merge-p2p-thread"),
        (80, 0.0304, "merge-collective-thread"),
        (80, 0.0304, "merge-p2p-thread"),
    ]
    assert {s.constant_nbytes for s in found} == {3_813_655_465}
    assert not any(s.relabel or s.share for s in found)


def test_todays_format_of_the_authors(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(JSON))
    (settings,) = read(tmp_path / "a.json")
    assert (settings.constant_nbytes, settings.variable_nbytes) == (800, 400)
    assert [settings.stages_of(step)[0].kind for step in (0, 2, 3, 9)] == [
        "allreduce",
        "allreduce",
        "pi",
        "pi",
    ]
    assert str(settings.groups[1].method) == "merge-collective-nonblocking"


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.toml", "constnt = 5", "did you mean 'constant'"),
        ("a.toml", "constant = -1", "can't be read"),
        ("a.toml", SMALL.replace("processes = 3", "processes = 0"), "processes is 0 and must be"),
        ("a.toml", SMALL.replace('"pi"', '"pie"'), "kind is 'pie' and must be one of pi"),
        ("a.toml", SMALL.replace("seconds = 0.002", "seconds = 0"), "above 0 in a stage of"),
        ("a.toml", SMALL.replace("merge-", "merge "), "is not of the form 'merge-p2p-sync'"),
        ("a.toml", "x = [", "can't be read"),
        ("a.toml", "share = 'no'\n" + SMALL, "share is 'no' and must be true or false"),
        ("a.ini", INI.replace("Total_Stages=2", "Total_Stages=3"), "there is no section .stage2"),
        ("a.ini", INI.replace("Rigid", "Rigit"), "did you mean 'Rigid'"),
        ("a.ini", INI.replace("Stage_Type=4", "Stage_Type=9"), "Stage_Type is 9"),
        ("a.ini", VARIANTS.replace("0.3:0.5", "0.3:0.5:1"), "one value, or one for each of"),
        ("a.ini", VARIANTS.replace("25:50", "25:101"), "ADR is '101' and must be a percentage"),
        ("a.ini", VARIANTS.replace("2:3", "2:"), "Procs is '2:' and must be values with ':'"),
        ("a.ini", VARIANTS.replace("2:3", "4:4"), "another number in each group than in the one"),
        ("a.json", json.dumps(STAGES).replace('"Identifier": 7', '"Identifier": 8'), "ip2p stage"),
        ("a.json", "{}", "KeyError"),
    ],
)
def test_what_is_no_configuration(tmp_path: Path, name: str, text: str, problem: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigurationError, match=problem):
        read(tmp_path / name)


def test_there_is_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(FileMissingError):
        read(tmp_path / "none.toml")


def test_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    out = tmp_path / "out.json"
    assert main(["malleable", "run", str(tmp_path / "small.toml"), "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "all data as it was: True" in printed
    assert "2 to 3  merge-collective-sync" in printed
    (run,) = json.loads(out.read_text())
    assert [(g["processes"], len(g["iterations"])) for g in run["groups"]] == [(2, 4), (3, 5)]
    assert {len(row) for group in run["groups"] for row in group["iterations"]} == {6}
    # Constant data is shared on this host, so only a third of the variable's 2,000 rows moves.
    assert run["resizes"][0]["moved_nbytes"] == 8 * 667


def test_a_resize_that_is_not_over_in_time_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late = SMALL.replace("merge-collective-sync", "merge-p2p-nonblocking")
    (tmp_path / "late.toml").write_text(late.replace("iterations = 5", "iterations = 1"))
    assert main(["malleable", "run", str(tmp_path / "late.toml")]) == 0
    assert "iterations were over before 1 more resizes were" in capsys.readouterr().out


# It runs five jobs and draws figures.
@pytest.mark.timeout(600)
def test_what_the_guide_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guide = (CONFIGS.parents[1] / "docs" / "howto" / "resize.md").read_text()
    config, folder = tmp_path / "my.toml", tmp_path / "sweep"
    config.write_text(guide.split("```toml\n")[1].split("```")[0])
    assert main(["malleable", "run", str(config)]) == 0
    assert "2 to 4  merge-p2p-nonblocking" in capsys.readouterr().out
    options = ["--sizes", "1,2", "--methods", "merge-p2p-sync,baseline-collective-sync"]
    sweep = ["malleable", "sweep", str(config), *options, "--times", "1", "-o", str(folder)]
    assert main(sweep) == 0
    # What is there is not run again.
    assert main(sweep) == 0
    assert "4 runs in" in capsys.readouterr().out
    assert main(["malleable", "analyse", str(folder)]) == 0
    content = json.loads((folder / "preferred.json").read_text())
    assert content["hosts"] == {"host": 1}
    preferred = content["preferred"]["host"]
    assert [(cell["before"], cell["after"]) for cell in preferred] == [(1, 2), (2, 1)]


def test_statistics_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(3)
    with open(tmp_path / "runs.jsonl", "w") as file:
        for network in ("slow", "fast"):
            for pair in ((2, 4), (4, 2), (4, 8)):
                for number, method in enumerate(METHODS):
                    for repeat in range(12):
                        seconds = (1 + number) * random.lognormal(0, 0.05)
                        resize = {"total_s": seconds, "error": ""}
                        run = {
                            "network": network,
                            "before": pair[0],
                            "after": pair[1],
                            "method": str(method),
                            "repeat": repeat,
                            "total_s": 10 + seconds,
                            "is_intact": True,
                            "resizes": [resize],
                        }
                        file.write(json.dumps(run) + "\n")
    assert main(["malleable", "analyse", str(tmp_path)]) == 0
    assert "preferred (slow)" in capsys.readouterr().out
    found = json.loads((tmp_path / "preferred.json").read_text())["preferred"]
    assert {(cell["method"], cell["ties"]) for cell in found["slow"]} == {(str(METHODS[0]), 1)}
    assert all((tmp_path / f"figure{number}.svg").is_file() for number in range(2, 10))


def test_five_runs_can_not_tell_ten_percent_apart() -> None:
    random = np.random.default_rng(1)
    means = [0.9] + [1.0] * 11
    times = {
        str(method): (mean * random.lognormal(0, 0.05, 5)).tolist()
        for method, mean in zip(METHODS, means, strict=False)
    }
    assert len(analysis.compare(times)["ties"]) > 1


def test_without_runs_there_is_nothing_to_analyse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["malleable", "analyse", str(tmp_path)]) == 2
    assert "file-missing" in capsys.readouterr().err


def test_a_launcher_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["malleable", "run", "run.toml", "--mpiexec", "/nowhere/mpiexec -v"]) == 2
    assert "no program is '/nowhere/mpiexec -v'" in capsys.readouterr().err

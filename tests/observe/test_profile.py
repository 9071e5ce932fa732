"""Where calls spend their time: what is sampled, whose it is, and how it is shown."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import freestone as fs
from freestone import _native
from freestone.cli import main
from freestone.config import Config
from freestone.errors import ConfigurationError, UsageError
from freestone.node import sampler as sampling
from freestone.node.sampler import Sampler
from freestone.observe import columns, trace
from freestone.observe import samples as kept
from freestone.observe.profile import Frame, Profile
from freestone.observe.samples import Samples
from tests.observe.sampled import Turns

# Of https://www.speedscope.app/file-format-schema.json, what a file of samples has.
SPEEDSCOPE = {
    "type": "object",
    "required": ["$schema", "shared", "profiles"],
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "name": {"type": "string"},
        "exporter": {"type": "string"},
        "shared": {
            "type": "object",
            "required": ["frames"],
            "properties": {
                "frames": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "additionalProperties": False,
                        "properties": {
                            "name": {"type": "string"},
                            "file": {"type": "string"},
                            "line": {"type": "number"},
                            "col": {"type": "number"},
                        },
                    },
                }
            },
        },
        "profiles": {
            "type": "array",
            "items": {
                "type": "object",
                "required": [
                    "type",
                    "name",
                    "unit",
                    "startValue",
                    "endValue",
                    "samples",
                    "weights",
                ],
                "additionalProperties": False,
                "properties": {
                    "type": {"const": "sampled"},
                    "name": {"type": "string"},
                    "unit": {"enum": ["none", "nanoseconds", "microseconds", "seconds", "bytes"]},
                    "startValue": {"type": "number"},
                    "endValue": {"type": "number"},
                    "samples": {
                        "type": "array",
                        "items": {"type": "array", "items": {"type": "number"}},
                    },
                    "weights": {"type": "array", "items": {"type": "number"}},
                },
            },
        },
    },
}


def inner(number: int) -> int:
    return sum(value * value for value in range(number))


def spin(flag: str) -> str:
    while not Path(flag).exists():
        inner(1000)
    return "seen"


def spin_for(seconds: float) -> str:
    turns = Turns(seconds)
    while not turns.are_over():
        inner(1000)
    return "seen"


def wait_sampled(cluster: fs.Cluster, future: Any) -> None:
    """Return once there are samples of a task that runs, and of what it calls."""
    while "inner" not in {one.function for one in cluster.profile(future).functions()}:
        time.sleep(0.01)


@pytest.fixture(scope="module")
def profiled() -> Iterator[fs.Cluster]:
    with fs.Cluster(executors=3, profile=0.005, dashboard=False) as cluster:
        yield cluster


def test_calls_are_sampled_while_they_run_in_any_isolation(
    profiled: fs.Cluster, tmp_path: Path
) -> None:
    flag = tmp_path / "flag"
    isolations: tuple[Any, ...] = ("shared", "fork")
    futures = [
        profiled.submit(spin, str(flag), isolation=isolation, pure=False)
        for isolation in isolations
    ]
    # Of a new interpreter all comes at the end.
    apart = profiled.submit(spin_for, 0.5, isolation="process", name="spin")
    for future in futures:
        wait_sampled(profiled, future)
    flag.touch()
    futures.append(apart)
    assert profiled.gather(futures) == ["seen"] * 3
    for future, function in zip(futures, ("spin", "spin", "spin_for"), strict=True):
        found = profiled.profile(future)
        assert found.title == f"task {future.label}"
        outermost = {stack[0].function for stack in found.stacks}
        assert outermost <= {function, "(not sampled)"}
        assert function in outermost
        assert found.samples >= 1
        assert found.seconds > 0
        assert profiled.profile(future) == found, "nothing comes after the task's end"
    of_function = profiled.profile(spin)
    assert of_function.samples == sum(profiled.profile(future).samples for future in futures)
    assert of_function.stacks.keys() <= profiled.profile().stacks.keys()
    assert profiled.profile("spin") == of_function


def test_calls_of_native_code_are_counted_as_such(profiled: fs.Cluster) -> None:
    future = profiled.submit(time.sleep, 0.3)
    future.result()
    found = profiled.profile(future)
    assert {stack for stack in found.stacks} <= {
        (Frame("(native code)", "", 0),),
        (Frame("(not sampled)", "", 0),),
    }
    assert found.samples >= 1


def test_forks_in_a_call_go_on_beside_the_sampler(profiled: fs.Cluster) -> None:
    assert profiled.submit(fork).result() == [0] * 5


def fork() -> list[int]:

    warnings.simplefilter("error")
    found = []
    for _ in range(5):
        child = os.fork()
        if child == 0:
            os._exit(0)
        found.append(os.waitpid(child, 0)[1])
    return found


def test_programs_see_the_profiles_of_their_own_tasks(profiled: fs.Cluster) -> None:
    with fs.connect(profiled.access) as other:
        theirs = other.submit(spin_for, 0.3, pure=False)
        ours = profiled.submit(spin_for, 0.3, pure=False)
        assert profiled.gather([ours]) == [theirs.result()]
        found = other.profile(theirs)
        assert found.samples >= 1
        assert other.profile() == Profile("all tasks", found.stacks)
        assert profiled.profile(theirs) == found, "the cluster's own program sees all"
        assert profiled.profile(spin_for).samples == found.samples + profiled.profile(ours).samples


def test_a_report_has_what_was_sampled_in_its_block(profiled: fs.Cluster, tmp_path: Path) -> None:
    profiled.submit(time.sleep, 0.1, pure=False).result()
    with fs.performance_report(tmp_path / "run.html", cluster=profiled):
        profiled.submit(spin_for, 0.3, pure=False).result()
    text = (tmp_path / "run.html").read_text("utf-8")
    titles = [attributes.get("title") or "" for _, attributes in Tags(text).found]
    assert any(title.startswith("spin_for (test_profile.py:") for title in titles)
    assert not any(title.startswith("(native code)") for title in titles), "that was before"


def test_a_profile_is_asked_of_what_has_one(profiled: fs.Cluster) -> None:
    named = fs.task(name="another name")(inner)
    named(1000).result()
    assert profiled.profile(named).title == "another name"
    assert str(profiled.profile("unknown")).startswith("unknown: no samples")
    with pytest.raises(TypeError, match="a future, a function or its name, not float"):
        profiled.profile(0.5)  # type: ignore[arg-type]


def test_nothing_is_sampled_by_default(cluster: fs.Cluster) -> None:
    names = cluster.submit(lambda: [thread.name for thread in threading.enumerate()]).result()
    assert "freestone-sampler" not in names
    with pytest.raises(UsageError, match="open the cluster with profile=True"):
        cluster.profile()


@pytest.mark.parametrize(
    ("given", "seconds"), [(True, 0.02), ("on", 0.02), (False, 0.0), (0, 0.0), ("0.05", 0.05)]
)
def test_the_interval_is_a_setting(given: Any, seconds: float) -> None:
    assert Config.load({"profile": given}, {}).profile == seconds


@pytest.mark.parametrize("wrong", ["often", -1, 0.0001])
def test_wrong_intervals_are_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"true, false, or a number of seconds"):
        Config.load({"profile": wrong}, {})


# -- what an executor samples ---------------------------------------------------------------------


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(
        _native.executor, "report_profile", lambda samples: found.append(json.loads(samples))
    )
    # No thread samples: the test does.
    monkeypatch.setattr(Sampler, "_start", lambda self: None)
    monkeypatch.setattr(sampling.os, "register_at_fork", lambda **hooks: None)
    return found


def below(function: Callable[[], None]) -> None:
    function()


def deep(function: Callable[[], None], depth: int) -> None:
    return deep(function, depth - 1) if depth else function()


def sampler_below(code: Any) -> Sampler:
    # An hour: whatever a test takes, no rest counts as not sampled.
    return Sampler(3600.0, code)


def test_frames_of_the_call_are_reported_at_its_end(reports: list[dict[str, Any]]) -> None:
    sampler = sampler_below(test_frames_of_the_call_are_reported_at_its_end.__code__)
    sampler.begin()
    for _ in range(2):
        below(sampler._sample)
    assert reports == []
    sampler.end()
    (report,) = reports
    names = [function for function, _, _ in report["frames"]]
    assert names[0] == "below"
    assert [samples for _, _, samples in report["stacks"]] == [2]
    assert report["frames"][0][1:] == [__file__, below.__code__.co_firstlineno + 1]
    assert not sampler._sample(), "no call runs"
    sampler.begin()
    sampler.end()
    assert len(reports) == 1, "a call without samples has nothing to report"


def test_a_generator_that_yields_during_the_walk_is_walked_again(
    reports: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = test_a_generator_that_yields_during_the_walk_is_walked_again.__code__
    sampler = sampler_below(code)
    sampler.begin()
    current = sys._current_frames
    suspended = (number for number in range(3))
    # The frame of a generator that does not run has no caller.
    walks = iter([{threading.get_ident(): suspended.gi_frame}])
    monkeypatch.setattr(sampling.sys, "_current_frames", lambda: next(walks, None) or current())
    below(sampler._sample)
    sampler.end()
    (stack,) = reports[0]["stacks"]
    assert reports[0]["frames"][stack[0][0]][0] == "below"


def test_the_sampler_is_no_part_of_a_call(
    reports: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = sampler_below(test_the_sampler_is_no_part_of_a_call.__code__)
    # As the thread does when it comes between the beginning and the function.
    monkeypatch.setattr(Sampler, "_start", Sampler._sample)
    sampler.begin()
    sampler.end()
    assert reports == []


def test_deep_stacks_are_cut_and_many_are_reported_early(
    reports: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long the test takes, no report is due by time.
    monkeypatch.setattr(sampling, "_REPORT_INTERVAL_S", 3600.0)
    sampler = sampler_below(test_deep_stacks_are_cut_and_many_are_reported_early.__code__)
    sampler.begin()
    deep(sampler._sample, 500)
    sampler.end()
    (stack,) = reports[0]["stacks"]
    named = [reports[0]["frames"][index][0] for index in stack[0]]
    assert named == ["deep"] * sampling.MAX_DEPTH + ["(deeper)"]
    sampler.begin()
    for depth in range(sampling._MAX_STACKS // 4):
        deep(sampler._sample, depth % 60)
    # Stacks that differ: a lambda of its own for each.
    for number in range(sampling._MAX_STACKS):
        eval(compile("\n" * number + "f()", "many", "eval"), {"f": sampler._sample})
    assert len(reports) == 2
    sampler.end()
    counted = sum(
        samples for _, _, samples in (stack for r in reports[1:] for stack in r["stacks"])
    )
    assert counted == sampling._MAX_STACKS // 4 + sampling._MAX_STACKS


def test_native_code_until_the_end_is_counted(
    reports: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = Sampler(0.01, below.__code__)
    sampler.begin()
    start_ns = sampler._sampled_ns
    monkeypatch.setattr(sampling.time, "monotonic_ns", lambda: start_ns + 10**9)
    sampler.end()
    assert reports == [{"frames": [["(not sampled)", "", 0]], "stacks": [[[0], 10**9, 1]]}]


# -- what a program keeps -------------------------------------------------------------------------


def report(*stacks: tuple[list[tuple[str, str, int]], int, int]) -> bytes:
    frames = list(dict.fromkeys(frame for stack, _, _ in stacks for frame in stack))
    encoded = [
        [[frames.index(frame) for frame in stack], nanoseconds, samples]
        for stack, nanoseconds, samples in stacks
    ]
    return json.dumps({"frames": frames, "stacks": encoded}).encode()


F, G, H = ("f", "/a/m.py", 3), ("g", "/a/m.py", 7), ("g", "/a/m.py", 8)


def test_samples_are_summed_by_function_and_by_task() -> None:
    samples = Samples()
    samples.add("01", "f", True, report(([F, G], 3_000_000, 3), ([F], 1_000_000, 1)))
    samples.add("02", "f", True, report(([F, G], 2_000_000, 2)))
    samples.add(None, "other", False, report(([F, H], 4_000_000, 4)))
    assert samples.task("01", "t").stacks == {
        (Frame(*F), Frame(*G)): (3_000_000, 3),
        (Frame(*F),): (1_000_000, 1),
    }
    assert samples.function("f").stacks[Frame(*F), Frame(*G)] == (5_000_000, 5)
    assert samples.all("all").samples == 6
    assert samples.all("all", of_others=True).samples == 10
    assert samples.labels() == ["f", "other"]
    assert samples.task("03", "t").stacks == {}


@pytest.mark.parametrize(
    "wrong",
    [b"", b"\xff", b"[]", b'{"frames": [], "stacks": [[[0], 1, 1]]}', b'{"frames": [[1, 2, 3]]}'],
)
def test_what_is_no_report_is_no_sample(wrong: bytes) -> None:
    samples = Samples()
    samples.add("01", "f", True, wrong)
    assert samples.all("all").stacks == {}


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"MAX_STACKS": 10, "TASK_STACKS": 4, "TASKS_STACKS": 8}.items():
        monkeypatch.setattr(kept, name, value)
    samples = Samples()
    for number in range(30):
        stacks = [([("f", "m.py", 100 * number + line)], 1000, 1) for line in range(3)]
        samples.add(f"{number}", "f", True, report(*stacks))
    found = samples.function("f")
    assert (found.samples, len(found.stacks)) == (90, 11)
    assert found.stacks[(Frame("(other stacks)", "", 0),)] == (80_000, 80)
    assert [number for number in range(30) if samples.task(f"{number}", "").stacks] == [28, 29]
    samples.add("many", "f", True, report(*[([("f", "m.py", line)], 1, 1) for line in range(9)]))
    assert len(samples.task("many", "").stacks) == 5
    assert samples.task("many", "").samples == 9


# -- how it is shown ------------------------------------------------------------------------------


def profile() -> Profile:
    samples = Samples()
    samples.add("01", "f", True, report(([F, G], 30_000_000, 3), ([F, H, F], 60_000_000, 6)))
    samples.add("01", "f", True, report(([F], 10_000_000, 1)))
    return samples.task("01", "task f")


def test_functions_by_self_and_total_time() -> None:
    found = [(one.function, one.line, one.self_s, one.total_s) for one in profile().functions()]
    assert found == [("f", 3, 0.07, 0.1), ("g", 8, 0.03, 0.09)]
    lines = str(profile()).splitlines()
    assert lines[0] == "task f: 10 samples in 100 ms of calls"
    assert lines[2].split() == ["70", "ms", "70.0%", "100", "ms", "100.0%", "f", "(m.py:3)"]
    assert lines[3].split() == ["30", "ms", "30.0%", "90", "ms", "90.0%", "g", "(m.py:8)"]


def test_what_is_new_becomes_records_of_a_trace() -> None:
    samples = Samples()
    samples.add("01", "f", True, report(([F], 10_000_000, 1)))
    assert samples.take_new() == [], "nobody took it"
    samples.keep_new(True)
    samples.add("01", "f", True, report(([F], 5_000_000, 2), ([F, G], 7_000_000, 3)))
    samples.add("02", "f", False, report(([F], 5_000_000, 2)))
    rows = samples.take_new()
    assert samples.take_new() == []
    found = Profile.of_records("f", columns.records(len(rows), columns.encoded(rows)))
    wanted = {(Frame(*F),): (10_000_000, 4), (Frame(*F), Frame(*G)): (7_000_000, 3)}
    assert found == Profile("f", wanted)


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_the_report_of_a_trace_has_a_flame_graph(tmp_path: Path, ending: str) -> None:
    path, out = tmp_path / f"run.{ending}", tmp_path / "run.html"
    options = {"memory": "64MiB", "disk": "1GiB", "dashboard": False}
    with fs.Cluster(executors=1, profile=0.005, trace=str(path), **options) as cluster:
        cluster.submit(spin_for, 0.3).result()
        samples = cluster.profile().samples
    records = [one for one in trace.read(path) if one["kind"] == "profile"]
    assert sum(one["samples"] for one in records) == samples > 0
    assert {one["label"] for one in records} == {"spin_for"}
    assert main(["report", str(path), "-o", str(out)]) == 0
    titles = [attributes.get("title") or "" for _, attributes in Tags(out.read_text()).found]
    assert any(title.startswith("spin_for (test_profile.py:") for title in titles)
    assert main(["trace", str(path), "--perfetto", str(tmp_path / "run.json")]) == 0


def test_speedscope_takes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f.speedscope.json"
    profile().to_speedscope(path)
    found = json.loads(path.read_text())
    jsonschema.validate(found, SPEEDSCOPE)
    (sampled,) = found["profiles"]
    frames = found["shared"]["frames"]
    stacks = [[frames[index]["name"] for index in stack] for stack in sampled["samples"]]
    assert dict(zip(map(tuple, stacks), sampled["weights"], strict=True)) == {
        ("f", "g"): 30_000_000,
        ("f", "g", "f"): 60_000_000,
        ("f",): 10_000_000,
    }
    assert sampled["endValue"] == 100_000_000
    assert frames[0] == {"name": "f", "file": "/a/m.py", "line": 3}
    with pytest.raises(UsageError, match="no samples"):
        Profile("nothing").to_speedscope(path)


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_flame_graphs_load_nothing_and_run_nothing(tmp_path: Path) -> None:
    evil = '"><script>alert(1)</script>'
    samples = Samples()
    stack = [(evil, f"/{evil}.py", 1), ("g\udcff", "m\udcff.py", 2)]
    samples.add("01", evil, True, report((stack, 1000, 1)))
    found = samples.task("01", evil)
    found.to_html(tmp_path / "f.html")
    written = (tmp_path / "f.html").read_text("utf-8")
    for text in (written, found._repr_html_()):
        tags = Tags(text).found
        assert {tag for tag, _ in tags} & {"script", "img", "link", "iframe"} == set()
        assert not any({"src", "href", "onclick"} & attributes.keys() for _, attributes in tags)
        assert "url(" not in text
        assert "<script" not in text


def test_each_bar_has_its_time() -> None:
    titles = [str(one["title"]) for _, one in Tags(profile().html()).found if "title" in one]
    assert sorted(titles) == [
        "f (m.py:3): 100 ms, 100.0%",
        "f (m.py:3): 60 ms, 60.0%",
        "g (m.py:7): 30 ms, 30.0%",
        "g (m.py:8): 60 ms, 60.0%",
    ]
    assert "no samples" in Profile("nothing")._repr_html_()

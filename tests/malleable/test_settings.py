"""What a configuration may say, who asks for targets, and which method is chosen."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from freestone.errors import ConfigurationError
from freestone.malleable import (
    METHODS,
    Config,
    Deadline,
    Efficiency,
    File,
    Method,
    Request,
    Schedule,
    Scheduler,
    Signals,
    Source,
    Status,
)
from freestone.malleable.choosing import Chooser
from freestone.malleable.targets import first_request


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"rows": 0.5}, "rows is 0.5 and must be a whole number of at least 0"),
        ({"rows": -5}, "rows is -5"),
        ({"colums": 3}, "unknown setting 'colums'"),
        ({"slots": 2, "targets": {5: 4}}, "targets is 4 and must be at most the 2 slots"),
        ({"slots": {"a": 1, "b": 2}, "targets": {5: 4}}, "at most the 3 slots"),
        ({"balance": [1, 2], "targets": {5: 3}}, "at most the 2 slots"),
        ({"slots": {"a": 0}}, "slots is"),
        ({"slots": {}}, "slots is"),
        ({"targets": {5: 0}}, "a target of 0 processes"),
        ({"targets": {-1: 2}}, "step -1 of the schedule"),
        ({"targets": ["soon"]}, "targets is 'soon'"),
        ({"method": "merge-p2p"}, "is not of the form 'merge-p2p-sync'"),
        ({"method": "merge-p3p-sync"}, "did you mean 'p2p'"),
        ({"balance": "columns"}, "'rows', 'nonzeros', a list of weights, or a function"),
        ({"weights": 3}, "weights is 3 and must be the name of registered data"),
        ({"weights": "w", "balance": [1, 2]}, "weights is 'w' and must be without balance="),
        ({"balance": [1, -1]}, "weights of at least 0"),
        ({"balance": [0, 1]}, "the first above 0"),
        ({"balance": []}, "weights of at least 0"),
        ({"balance": 5}, "balance is 5 and must be a list of weights"),
        ({"balance": [1, float("inf")]}, "weights of at least 0"),
        ({"targets": "3=4"}, "targets is '3=4' and must be a schedule"),
        ({"targets": 4}, "targets is 4 and must be a schedule"),
        ({"method": 5}, "method is 5 and must be a Method, or a name such as"),
        ({"on_resize": "print"}, "on_resize is 'print' and must be a function"),
        ({"measurements": 5}, "measurements is 5 and must be a file"),
        ({"trace": "run.parquet"}, "must be a file whose name ends in .json"),
        ({"timeout_s": float("nan")}, "timeout_s is nan"),
        ({"spawn_timeout_s": float("inf")}, "spawn_timeout_s is inf"),
        ({"check_every": 0}, "check_every is 0"),
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"minimal": 1}, "minimal is 1 and must be true or false"),
        ({"minimal": True, "balance": [1, 2]}, "minimal is True and must be without balance="),
        ({"minimal": True, "weights": "w"}, "minimal is True and must be without balance= and we"),
        ({"share": "yes"}, "share is 'yes' and must be true or false"),
        ({"by_host": 1}, "by_host is 1 and must be true or false"),
        ({"measurements": "nowhere.json"}, "a file that exists"),
    ],
)
def test_what_makes_no_sense_is_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        Config.from_mapping(settings)


def test_what_is_no_mapping_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="config is 5 and must be a Config, or a mapping"):
        Config.from_mapping(5)  # type: ignore[arg-type]


def test_settings_beside_a_config_count() -> None:
    config = Config(rows=np.int64(5), balance=np.array([1.0, 2.0]), targets={3: np.int64(2)})
    assert (type(config.rows), config.balance) == (int, (1.0, 2.0))
    changed = config.with_settings({"rows": 7})
    assert (changed.rows, changed.balance, changed.targets) == (7, (1.0, 2.0), config.targets)
    with pytest.raises(ConfigurationError, match="unknown setting 'row'"):
        config.with_settings({"row": 7})


def test_all_methods_have_names() -> None:
    assert len(METHODS) == 18
    assert [Method.parse(str(method)) for method in METHODS] == list(METHODS)
    assert Method("merge", "onesided", "nonblocking").label == "Merge RMAA"


def test_sources_say_all_that_ranks_have_to_have_the_same() -> None:
    granted = Request(3, METHODS[1], {"n0": 3})
    sources = [
        (Schedule({5: 4, 7: granted}), "5: 4, 7: 3 by merge-p2p-nonblocking on {'n0': 3}"),
        (File("target"), "File('target')"),
        (Signals(signal.SIGUSR2, signal.SIGUSR1), "Signals(SIGUSR2, SIGUSR1)"),
        (Efficiency(0.4, 0.9, every=5), "Efficiency(0.4, 0.9, every=5)"),
        (Deadline(60, every=5), "Deadline(60, every=5)"),
        (Scheduler("node:80", "cg"), "Scheduler(('node', 80), 'cg')"),
    ]
    for source, text in sources:
        assert Config(targets=source).agreed()["targets"] == text
    assert Config(targets={3: 2}).agreed()["targets"] == "3: 2"
    assert Config().agreed()["targets"] == "none"


def test_a_schedule_asks_once_for_the_last_that_is_due() -> None:
    schedule = Schedule({5: 4, 7: Request(3, METHODS[1]), 9: 2})
    assert schedule.largest() == 4
    asked = [schedule.ask(Status(step, 10, 1, asked=last)) for step, last in ((4, -1), (5, -1))]
    assert asked == [None, Request(4)]
    assert schedule.ask(Status(6, 10, 4, asked=5)) is None
    assert schedule.ask(Status(12, 20, 4, asked=5)) == Request(2)


def test_a_file_asks_when_it_is_written(tmp_path: Path) -> None:
    source = File(tmp_path / "target")
    assert source.ask(Status(1, 10, 2)) is None
    (tmp_path / "target").write_text("many")
    assert source.ask(Status(1, 10, 2)) is None
    (tmp_path / "target").write_text(" 3\n")
    written = (tmp_path / "target").stat().st_mtime
    assert source.ask(Status(1, 10, 2)) == Request(3)
    assert source.ask(Status(1, 10, 2, since=written)) is None


def test_signals_double_and_halve() -> None:
    source = Signals()
    source.open()
    try:
        signal.raise_signal(signal.SIGUSR1)
        assert source.ask(Status(1, 10, 3)) == Request(6)
        signal.raise_signal(signal.SIGUSR1)
        assert source.ask(Status(1, 10, 3, slots=4)) == Request(4)
        signal.raise_signal(signal.SIGUSR2)
        assert source.ask(Status(1, 10, 1)) == Request(1)
        assert source.ask(Status(1, 10, 1)) is None
    finally:
        source.close()
    assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL


def test_efficiency_is_kept_between_its_bounds() -> None:
    source = Efficiency(0.5, 0.8, every=10)
    assert source.ask(Status(10, 100, 2, step_s={2: 1.0})) == Request(4)
    assert source.ask(Status(11, 100, 2, step_s={2: 1.0})) is None
    assert source.ask(Status(20, 100, 2, slots=3, step_s={2: 1.0})) is None
    assert source.ask(Status(30, 100, 4, step_s={2: 1.0, 4: 0.8})) is None
    assert source.ask(Status(40, 100, 4, step_s={2: 1.0, 4: 1.1})) == Request(2)
    # Another process may be asked then.
    assert Efficiency(0.5, 0.8).ask(Status(60, 100, 2, step_s={2: 1.0, 4: 1.1})) is None


def test_a_deadline_takes_as_few_as_it_can() -> None:
    source = Deadline(100, every=10)
    assert source.ask(Status(10, 100, 2, elapsed_s=20, step_s={2: 2.0})) == Request(4)
    assert source.ask(Status(10, 100, 2, elapsed_s=20, step_s={2: 0.3})) == Request(1)
    assert source.ask(Status(10, 100, 2, elapsed_s=20, step_s={2: 0.6})) is None


@pytest.mark.parametrize(
    "make", [lambda: Efficiency(0.8, 0.5), lambda: Efficiency(every=0), lambda: Deadline(0)]
)
def test_policies_that_make_no_sense(make: Any) -> None:
    with pytest.raises(ConfigurationError):
        make()


def test_the_default_method_goes_by_network_and_by_what_was_measured(tmp_path: Path) -> None:
    plain = Chooser(Config())
    assert str(plain.choose(2, 4, 1, True)) == "merge-p2p-sync"
    assert str(plain.choose(2, 4, 2, True)) == "merge-p2p-nonblocking"
    assert str(plain.choose(2, 4, 2, False)) == "merge-p2p-sync"
    cells = [
        {"before": 2, "after": 10, "method": "merge-collective-thread"},
        {"before": 10, "after": 2, "method": "baseline-p2p-sync"},
        {"before": 80, "after": 160, "method": "merge-onesided-sync"},
    ]
    path = tmp_path / "preferred.json"
    path.write_text(json.dumps({"preferred": {"network": cells}}))
    measured = Chooser(Config(measurements=path))
    assert str(measured.choose(4, 8, 2, True)) == "merge-collective-thread"
    assert str(measured.choose(8, 4, 2, True)) == "baseline-p2p-sync"
    assert str(measured.choose(60, 100, 2, True)) == "merge-onesided-sync"
    assert str(measured.choose(4, 8, 1, True)) == "merge-p2p-sync"
    # A network is what it was measured on, whatever it is called.
    table = {"rack 3": cells[:1], "laptop": cells[1:2], "host": cells[2:]}
    hosts = {"rack 3": 4, "laptop": 1, "host": 2}
    path.write_text(json.dumps({"preferred": table, "hosts": hosts}))
    measured = Chooser(Config(measurements=path))
    assert str(measured.choose(4, 8, 2, True)) == "merge-collective-thread"
    assert str(measured.choose(60, 100, 2, True)) == "merge-onesided-sync"
    assert str(measured.choose(4, 8, 1, True)) == "baseline-p2p-sync"
    path.write_text("[]")
    with pytest.raises(ConfigurationError, match="is no table of preferred methods"):
        Chooser(Config(measurements=path))


class Answers(Source):
    """Answers with what it was made with, whatever it is."""

    def __init__(self, wanted: Any) -> None:
        self.wanted = wanted

    def ask(self, status: Status) -> Any:
        """Return it."""
        return self.wanted


@pytest.mark.parametrize("wanted", [3, np.int64(3), Request(3)])
def test_a_source_may_return_a_number(wanted: Any) -> None:
    sources = [Answers(None), Answers(wanted), Answers(5)]
    assert first_request(sources, 0, Status(0, 1, 2)) == Request(3)


@pytest.mark.parametrize("wanted", [0, -1, True, 2.0, "3", [3]])
def test_a_source_that_returns_something_else_hears_what_to_return(wanted: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        first_request([Answers(wanted)], 0, Status(0, 1, 2))
    assert str(caught.value).startswith(
        f"Answers.ask returned {wanted!r}, of type {type(wanted).__name__}: return a number of "
        "processes of at least 1, as in 'return malleable.Request(3)'"
    )

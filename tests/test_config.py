from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from freestone.config import KEYS, Config, Settings
from freestone.errors import ConfigurationError


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "xdg" / "freestone").mkdir(parents=True)


def load(env: dict[str, str] | None = None, **keywords: Any) -> Config:
    return Config.load(keywords, {"XDG_CONFIG_HOME": "xdg", **(env or {})})


def test_defaults() -> None:
    config = load()
    assert config == Config()
    assert {setting.origin for setting in config.describe()} == {"default"}


def test_a_keyword_is_before_the_environment_before_a_file_before_the_default() -> None:
    Path("xdg/freestone/config.toml").write_text(
        "workers = 1\nretries = 1\ntransfers_in = 9\nspin_us = 7"
    )
    Path("freestone.toml").write_text("workers = 2\nretries = 2\ntransfers_in = 10")
    config = load({"FREESTONE_WORKERS": "3", "FREESTONE_RETRIES": "3"}, workers=4)
    assert (config.workers, config.retries, config.transfers_in, config.spin_us) == (4, 3, 10, 7)
    origins = {setting.key: setting.origin for setting in config.describe()}
    assert origins["workers"] == "keyword"
    assert origins["retries"] == "environment FREESTONE_RETRIES"
    assert origins["transfers_in"] == "file freestone.toml"
    assert origins["spin_us"] == "file xdg/freestone/config.toml"
    assert origins["disk"] == "default"


def test_the_named_file_stands_for_the_others() -> None:
    Path("freestone.toml").write_text("workers = 2")
    Path("other.toml").write_text("retries = 5")
    config = load({"FREESTONE_CONFIG": "other.toml"})
    assert (config.workers, config.retries) == (None, 5)


def test_a_named_file_that_is_missing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"'none.toml' does not exist"):
        load({"FREESTONE_CONFIG": "none.toml"})


def test_a_broken_file_is_named() -> None:
    Path("freestone.toml").write_text("workers = ")
    with pytest.raises(ConfigurationError, match=r"given by file freestone.toml"):
        load()


@pytest.mark.parametrize("where", ["keyword", "environment FREESTONE_WORKER", "file"])
def test_what_is_unknown_is_refused_with_a_guess(where: str) -> None:
    if where == "file":
        Path("freestone.toml").write_text("worker = 2")
    env = {"FREESTONE_WORKER": "2"} if where.startswith("env") else {}
    keywords = {"worker": None} if where == "keyword" else {}
    with pytest.raises(ConfigurationError, match="did you mean 'workers'") as caught:
        load(env, **keywords)
    assert caught.value.origin.startswith(where)
    assert caught.value.key == "worker"


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("workers", 0, "from 1 to 2,147,483,647"),
        ("workers", 1.5, "whole number"),
        ("workers", True, "whole number"),
        ("memory", "lots", "amount of bytes"),
        ("memory", -1, "amount of bytes"),
        ("memory", 10, "10 bytes hold no block; write '10GiB' or '10MiB'"),
        ("disk", 512, "of at least 1 KiB"),
        ("spin_us", "fast", "a number"),
        ("start_timeout_s", float("nan"), "a number"),
        ("progress", "perhaps", "true or false"),
        ("cache", 7, "a path"),
        ("preload", "numpy,import os", "names of modules"),
        ("preload", [1], "names of modules"),
    ],
)
def test_a_wrong_value_is_named_with_its_origin(key: str, value: Any, wanted: str) -> None:
    with pytest.raises(ConfigurationError, match=wanted) as caught:
        load(**{key: value})
    assert f"{key} is {value!r} ({type(value).__name__})" in str(caught.value)
    assert caught.value.origin == "keyword"


def test_values_are_parsed_the_same_from_text_and_typed() -> None:
    env = {
        "FREESTONE_MEMORY": "2GiB",
        "FREESTONE_PROGRESS": "yes",
        "FREESTONE_SPIN_US": "0",
    }
    typed: dict[str, Any] = {"memory": 2**31, "progress": True, "spin_us": 0}
    assert load(env) == load(**typed)


def test_paths_are_taken_from_where_they_are_written() -> None:
    Path("xdg/freestone/config.toml").write_text("cache = 'blocks'\nfolder = '/run/x'")
    config = load(trace="run.parquet")
    assert config.cache == str(Path.cwd() / "xdg/freestone/blocks")
    assert config.folder == "/run/x"
    assert config.trace == str(Path.cwd() / "run.parquet")


def test_none_stands_for_not_given_and_the_machinery_is_passed_over() -> None:
    config = load(
        {"FREESTONE_WORKERS": "3", "FREESTONE__KEY": "x", "FREESTONE_EVENTS_MPI": "x"}, workers=None
    )
    assert config.workers == 3


def test_describe_tells_units() -> None:
    rows = {row.key: row.text for row in load(memory="2GiB", spin_us=20).describe()}
    assert rows["memory"] == "2 GiB"
    assert rows["spin_us"] == "20 µs"
    assert rows["workers"] == "automatic"
    assert rows["trace"] == "none"


def test_checkers_of_types_know_every_setting() -> None:
    assert set(Settings.__annotations__) == set(KEYS)


def test_a_folder_that_was_removed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(
        ConfigurationError, match="the folder in which this program runs was removed"
    ):
        Config.load()

"""Classes of scripts that calls look up by their names."""

from __future__ import annotations

import gc
import importlib
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from freestone.functions import script

PROGRAM = """
import enum
import pathlib
import pickle
import sys
from typing import NamedTuple

import freestone as fs


class Outer:
    class Inner:
        pass

    class Colour(enum.Enum):
        RED = 1


class Point(NamedTuple):
    x: int


def is_same(value):
    return pickle.loads(pickle.dumps(value)) == value


def loaded(path):
    return pickle.loads(pathlib.Path(path).read_bytes())


def failure(path):
    try:
        return str(loaded(path))
    except AttributeError as error:
        return str(error)


if __name__ == "__main__":
    path = pathlib.Path(sys.argv[1])
    path.write_bytes(pickle.dumps(Point(3)))
    with fs.Cluster(workers=1, executors=1, memory="32MiB", disk="32MiB") as cluster:
        print(cluster.submit(failure, path, pure=False).result())
        for value in (Outer.Inner, Outer.Colour.RED, Outer.Colour, Point(1), Point):
            captured = cluster.submit(lambda: is_same(value))
            print(captured.result(), cluster.submit(is_same, value).result())
        print(cluster.submit(loaded, path, pure=False).result() == Point(3))
"""


@pytest.mark.parametrize("as_module", [False, True])
def test_calls_pickle_classes_of_the_script_by_name(tmp_path: Path, as_module: bool) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = ["-m", "program"] if as_module else ["program.py"]
    done = subprocess.run(
        [sys.executable, *command, str(tmp_path / "point")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    first, *rest = done.stdout.splitlines()
    assert first == f"Can't get attribute 'Point' on {MAIN}"
    assert (rest, done.stderr) == (["True True"] * 5 + ["True"], "")


MAIN = "<module '__main__' of an executor, with classes that its calls name or were given>"


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(script, "_noted", {})
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    script.become_script()
    return importlib.import_module("__main__")


def class_of(module: str) -> type:
    return type("Point", (), {"__module__": module})


def test_a_class_of_one_program_is_found(main: ModuleType) -> None:
    before, now = class_of("__main__"), class_of("__main__")
    script.note(before, "a __main__ Point content")
    script.note(now, "a __main__ Point changed")
    assert pickle.loads(pickle.dumps(now)) is now
    with pytest.raises(pickle.PicklingError, match="not the same object"):
        pickle.dumps(before)


def test_equal_classes_of_two_programs_are_as_good(main: ModuleType) -> None:
    one, other = class_of("__main__"), class_of("__main__")
    script.note(one, "a __main__ Point content")
    script.note(other, "b __main__ Point content")
    assert main.Point is other


def test_of_different_classes_of_two_programs_none_is_taken(main: ModuleType) -> None:
    one, other = class_of("__main__"), class_of("__main__")
    script.note(one, "a __main__ Point content")
    script.note(other, "b __main__ Point changed")
    with pytest.warns(RuntimeWarning, match="define it in a module"):
        assert not hasattr(main, "Point")
    del other
    gc.collect()
    assert main.Point is one


def test_classes_that_are_in_no_script_are_not_found(main: ModuleType) -> None:
    local = class_of("__main__")
    script.note(local, "0123456789abcdef")
    script.note(local, "a module Point content")
    assert not hasattr(main, "Point")

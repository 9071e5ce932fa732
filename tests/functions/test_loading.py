from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from freestone.functions import apply_python_path, python_path

CLIENT = """
import json, sys
sys.path.insert(0, {folder!r})
{source}
from freestone.functions import encode
encoded = encode(f)
print(json.dumps([encoded.name.hex(), encoded.definition.hex()]))
"""
WORKER = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from freestone.errors import FreestoneError
from freestone.functions import load
for line in sys.stdin:
    kind, text = json.loads(line)
    try:
        if kind == "call":
            answer = load(bytes.fromhex(text))()
        else:
            answer = text in sys.modules
    except FreestoneError as error:
        answer = f"{error.slug}: {error}"
    print(json.dumps(answer), flush=True)
"""


class Worker:
    """A process that loads functions and calls them, one after the other."""

    def __init__(self, *folders: Path) -> None:
        arguments = [sys.executable, "-c", WORKER, json.dumps(list(map(str, folders)))]
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, kind: str, text: str) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([kind, text]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def call(self, definition: str) -> Any:
        return self.ask("call", definition)

    def close(self) -> None:
        self.process.communicate(timeout=30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "analysis.py").write_text(
        "from helpers import cut\n\ndef run():\n    return cut(10)\n\ndef other():\n    return 1\n"
    )
    (tmp_path / "helpers.py").write_text(
        "LIMIT = 1\n\ndef cut(x):\n    return x + LIMIT\n\ndef plot(x):\n    return None\n"
    )
    return tmp_path


@pytest.fixture
def worker(folder: Path) -> Iterator[Worker]:
    process = Worker(folder)
    yield process
    process.close()


def encode(folder: Path, source: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-B", "-c", CLIENT.format(folder=str(folder), source=source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    name, definition = json.loads(done.stdout)
    return name, definition


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


SOURCES = [
    "from analysis import run as f",
    "import analysis\ndef f(): return analysis.run()",
    "def f():\n    from analysis import run\n    return run()",
    "import helpers\ndef f(): return helpers.cut(10)",
    "def f():\n    import helpers\n    return helpers.cut(10)",
]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("before", "after", "result"),
    [("x + LIMIT", "x - LIMIT", 9), ("LIMIT = 1", "LIMIT = 7", 17)],
)
def test_a_changed_helper_gives_another_name_and_runs_in_a_resident_executor(
    folder: Path, worker: Worker, source: str, before: str, after: str, result: int
) -> None:
    name, definition = encode(folder, source)
    assert worker.call(definition) == 11
    edit(folder / "helpers.py", before, after)
    changed, definition = encode(folder, source)
    assert changed != name
    assert worker.call(definition) == result
    edit(folder / "helpers.py", after, before)
    again, definition = encode(folder, source)
    assert again == name
    assert worker.call(definition) == 11


@pytest.mark.parametrize("source", [SOURCES[0], SOURCES[1], SOURCES[3]])
def test_another_function_of_the_same_module_does_not_matter(folder: Path, source: str) -> None:
    name, _ = encode(folder, source)
    edit(folder / "helpers.py", "return None", "return 'plot'")
    edit(folder / "analysis.py", "return 1", "return 2")
    (folder / "helpers.py").write_text("# a comment\n\n" + (folder / "helpers.py").read_text())
    assert encode(folder, source)[0] == name


def test_an_importer_that_did_not_change_sees_the_new_helper(folder: Path, worker: Worker) -> None:
    _, by_analysis = encode(folder, SOURCES[0])
    assert worker.call(by_analysis) == 11
    edit(folder / "helpers.py", "x + LIMIT", "x - LIMIT")
    _, by_helpers = encode(folder, SOURCES[3])
    assert worker.call(by_helpers) == 9
    _, by_analysis = encode(folder, SOURCES[0])
    assert worker.call(by_analysis) == 9


def test_a_file_that_was_edited_after_the_submission_is_refused(
    folder: Path, worker: Worker
) -> None:
    _, definition = encode(folder, SOURCES[0])
    edit(folder / "helpers.py", "x + LIMIT", "x - LIMIT")
    answer = worker.call(definition)
    assert answer.startswith("function-load: the worker can't load 'run': module 'helpers' differs")
    edit(folder / "helpers.py", "x - LIMIT", "x + LIMIT")
    assert worker.call(definition) == 11


def test_a_client_whose_modules_are_older_than_their_files_sends_what_it_has(
    folder: Path, worker: Worker
) -> None:
    source = (
        "import analysis, pathlib\n"
        "file = pathlib.Path(analysis.__file__).with_name('helpers.py')\n"
        "file.write_text(file.read_text().replace('x + LIMIT', 'x - LIMIT'))\n"
        "f = analysis.run"
    )
    _, definition = encode(folder, source)
    assert worker.call(definition) == 11


def test_what_a_module_makes_for_itself_need_not_travel(folder: Path, worker: Worker) -> None:
    module = folder / "guarded.py"
    module.write_text(
        "import threading\nLOCK = threading.Lock()\nclass Box:\n    lock = LOCK\n"
        "def run():\n    with LOCK, Box.lock if 0 else threading.Lock():\n        return 1\n"
    )
    name, definition = encode(folder, "from guarded import run as f")
    assert worker.call(definition) == 1
    edit(module, "Lock()\nclass", "RLock()\nclass")
    changed, definition = encode(folder, "from guarded import run as f")
    assert changed != name
    assert worker.call(definition) == 1


def test_a_decorated_function_of_a_module_travels_by_name(folder: Path, worker: Worker) -> None:
    (folder / "decorators.py").write_text(
        "import functools\ndef twice(g):\n    @functools.wraps(g)\n"
        "    def w(*a):\n        return 2 * g(*a)\n    return w\n"
    )
    (folder / "decorated.py").write_text(
        "from decorators import twice\n@twice\ndef run():\n    return 4\n"
    )
    name, definition = encode(folder, "from decorated import run as f")
    assert worker.call(definition) == 8
    edit(folder / "decorated.py", "return 4", "return 5")
    changed, definition = encode(folder, "from decorated import run as f")
    assert changed != name
    assert worker.call(definition) == 10


def test_a_missing_module_is_named(folder: Path) -> None:
    lonely = Worker()
    _, definition = encode(folder, SOURCES[0])
    (folder / "helpers.py").unlink()
    answer = lonely.call(definition)
    assert "module 'helpers' is missing" in answer
    assert "install it where the workers run" in answer
    lonely.close()


def test_a_broken_module_is_named(folder: Path, worker: Worker) -> None:
    (folder / "broken.py").write_text("import os\ndef run(): return 1\n")
    _, definition = encode(folder, "from broken import run as f")
    (folder / "broken.py").write_text("raise ZeroDivisionError('no')\ndef run(): return 1\n")
    assert "module 'broken' can't be used: ZeroDivisionError: no" in worker.call(definition)


def test_packages_and_relative_imports(folder: Path, worker: Worker) -> None:
    package = folder / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "low.py").write_text("def low(): return 1\n")
    (package / "high.py").write_text("from .low import low\ndef high(): return low() + 1\n")
    name, definition = encode(folder, "from pack.high import high as f")
    assert worker.call(definition) == 2
    edit(package / "low.py", "return 1", "return 5")
    changed, definition = encode(folder, "from pack.high import high as f")
    assert changed != name
    assert worker.call(definition) == 6


def test_imports_of_the_body_are_hoisted(folder: Path, worker: Worker) -> None:
    source = (
        "def g(): return 'nested'\n"
        "def f():\n    def never():\n        from xml.dom import pulldom\n"
        "    try:\n        import missing_module\n    except ImportError:\n        return g()\n"
    )
    assert worker.ask("has", "xml.dom.pulldom") is False
    _, definition = encode(folder, source)
    assert worker.call(definition) == "nested"
    assert worker.ask("has", "xml.dom.pulldom") is True


def test_the_clients_folders_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = [*sys.path]
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *own])
    monkeypatch.chdir(tmp_path)
    paths = python_path()
    assert paths[0] == str(tmp_path)
    assert not any("site-packages" in path or path.endswith(".zip") for path in paths)
    monkeypatch.setattr(sys, "path", [*own])
    apply_python_path([str(tmp_path), str(tmp_path / "missing"), own[-1]])
    assert sys.path == [str(tmp_path), *own]

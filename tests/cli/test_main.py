from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from subprocess import PIPE
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from freestone.cli import main
from freestone.cli.main import COMMANDS
from freestone.errors import PackagesMissingError

FREESTONE = [sys.executable, "-c", "import sys; from freestone.cli import main; sys.exit(main())"]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in [name for name in os.environ if name.startswith("FREESTONE_")]:
        monkeypatch.delenv(name)


def freestone(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*FREESTONE, *words], capture_output=True, text=True, check=False, timeout=60, **more
    )


def script(text: str) -> str:
    Path("script.py").write_text(textwrap.dedent(text))
    return "script.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    reported = capsys.readouterr().out
    assert "--json" in reported
    assert "--quiet" in reported


def test_version_and_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("freestone ")
    with pytest.raises(SystemExit) as end:
        main([])
    assert end.value.code == 2


def test_a_script_is_main_with_its_own_arguments_and_folder() -> None:
    Path("neighbour.py").write_text("WORD = 'near'")
    done = freestone(
        "run",
        script("""
            import sys, neighbour
            assert __name__ == "__main__"
            print(sys.argv, neighbour.WORD, __file__)
        """),
        "--json",
        "-x",
    )
    assert done.stdout == "['script.py', '--json', '-x'] near script.py\n"
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("ending", "status", "reported"),
    [
        ("sys.exit(3)", 3, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit('no luck')", 1, "no luck\n"),
        ("raise KeyboardInterrupt", 130, ""),
    ],
)
def test_a_script_decides_the_status(ending: str, status: int, reported: str) -> None:
    done = freestone("run", script(f"import sys\n{ending}"))
    assert (done.returncode, done.stderr) == (status, reported)


def test_an_unexpected_error_has_a_traceback() -> None:
    done = freestone("run", script("1 / 0"))
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ZeroDivisionError: division by zero" in done.stderr


def test_an_error_of_freestone_is_one_line() -> None:
    text = "from freestone.errors import ClosedError\nraise ClosedError('submit')"
    done = freestone("run", script(text))
    assert done.returncode == 2
    assert done.stderr.startswith("closed: can't submit: the cluster is closed")
    assert "Traceback" not in done.stderr
    done = freestone("run", "--json", script(text))
    assert json.loads(done.stdout)["error"] == "closed"


def test_a_script_can_be_reported_in_json() -> None:
    done = freestone("run", "--json", script("import sys; sys.exit(4)"))
    data = json.loads(done.stdout)
    assert (data["script"], data["status"]) == ("script.py", 4)
    assert done.returncode == 4


def test_settings_reach_the_script() -> None:
    text = "from freestone.config import Config\nprint(Config.load().memory)"
    done = freestone("run", "--set", "memory=1KiB", "--set", "Workers=2", script(text))
    assert done.stdout == "1024\n"


def test_an_error_about_a_setting_names_the_option() -> None:
    done = freestone("run", "--set", "workers=2", "--set", "Memory=much", script(""))
    assert done.returncode == 2
    assert "(given by --set memory=much)\n" in done.stderr, done.stderr
    text = "from freestone.config import Config\nprint(Config.load().origins['workers'])"
    assert freestone("run", "--set", "workers=2", script(text)).stdout == "--set workers=2\n"


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        (["run", "missing.py"], "file-missing"),
        (["run", "--set", "worker=2", "script.py"], "configuration"),
        (["run", "--set", "workers", "script.py"], "configuration"),
        (["report", "script.py", "-o", "nowhere/report.html"], "file-missing"),
        (["trace", "script.py", "--perfetto", "nowhere/trace.json"], "file-missing"),
        (["status", "--cluster", "nowhere"], "usage"),
        (["worker", "--manager", "unix:x", "--access", "missing"], "file-missing"),
        (["worker", "--manager", "tcp:x", "--access", "script.py"], "usage"),
        (["worker", "--manager", "unix:/gone/x.sock", "--access", "script.py"], "usage"),
    ],
)
def test_what_can_not_be_done_is_reported_with_its_slug(
    words: list[str], slug: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())
    script("")
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(f"{slug}: ")


def test_ctrl_c_ends_quietly() -> None:
    text = "import signal\nprint('ready', flush=True)\nsignal.pause()"
    words = [*FREESTONE, "run", script(text)]
    with subprocess.Popen(words, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, reported = process.communicate(timeout=30)
        assert (process.returncode, reported) == (130, "")


def test_a_reader_that_goes_away_does_no_harm() -> None:
    with subprocess.Popen([*FREESTONE, "info"], stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(30) == 1


class FakeDemo(ModuleType):
    """Stands for what only an installation with all extras has."""

    def __init__(self, outcome: BaseException | None = None) -> None:
        super().__init__("freestone.demo")
        self.asked: dict[str, Any] = {}
        self.outcome = outcome
        self.mass_is_right = True

    def main(self, **words: Any) -> SimpleNamespace:
        self.asked = words
        if self.outcome:
            raise self.outcome
        return SimpleNamespace(mass_is_right=self.mass_is_right)


def install(monkeypatch: pytest.MonkeyPatch, demo: FakeDemo) -> None:
    monkeypatch.setitem(sys.modules, "freestone.demo", demo)


def test_the_demo_gets_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    demo = FakeDemo()
    install(monkeypatch, demo)
    assert main(["demo", "--json", "--files", "3", "--quick"]) == 0
    assert demo.asked == {
        "files": 3,
        "events": 50_000,
        "workers": None,
        "out": "demo",
        "seed": 1,
        "quick": True,
        "output": "json",
        "keep_files": False,
    }


def test_what_the_demo_lacks_is_reported_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, FakeDemo(PackagesMissingError(["uproot"])))
    assert main(["demo"]) == 2
    assert "packages-missing: the demo needs uproot" in capsys.readouterr().err


def test_a_wrong_mass_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    demo = FakeDemo()
    demo.mass_is_right = False
    install(monkeypatch, demo)
    assert main(["demo"]) == 1

"""``%%freestone`` in IPython."""

from __future__ import annotations

from typing import Any

import pytest

import freestone as fs
from freestone.errors import ScriptSyntaxError, UsageError


class Shell:
    """What of IPython's shell a magic uses."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.magics: dict[str, Any] = {}

    def register_magic_function(self, function: Any, kind: str, name: str) -> None:
        assert kind == "cell"
        self.magics[name] = function


@pytest.fixture
def shell() -> Shell:
    shell = Shell()
    fs.load_ipython_extension(shell)
    return shell


def test_a_cell_runs_as_a_task_and_gives_what_it_assigns(shell: Shell) -> None:
    shell.user_ns |= {"x": 20, "kept": [1], "other": 5}
    run = shell.magics["freestone"]
    with fs.Cluster(executors=1, dashboard=False) as cluster:
        run("", "import os\ny = x + 1\npid = os.getpid()\ndef twice(n):\n    return 2 * n\n")
        assert cluster.statistics().done == 1
    assert shell.user_ns["y"] == 21
    assert shell.user_ns["twice"](4) == 8
    assert "os" not in shell.user_ns
    import os

    assert shell.user_ns["pid"] != os.getpid()


def test_an_error_of_a_cell_is_raised_and_nothing_assigned(shell: Shell) -> None:
    with fs.Cluster(executors=1, dashboard=False), pytest.raises(ZeroDivisionError):
        shell.magics["freestone"]("", "y = 1\n1 / 0")
    assert "y" not in shell.user_ns


def test_without_a_cluster_and_with_wrong_words_it_says_what_to_do(shell: Shell) -> None:
    with pytest.raises(UsageError, match="no cluster is open"):
        shell.magics["freestone"]("", "y = 1")
    with pytest.raises(UsageError, match="--daphne or nothing, not '--dafne'"):
        shell.magics["freestone"]("--dafne", "y = 1")


def test_a_script_runs_with_its_arguments(shell: Shell, capfd: pytest.CaptureFixture[str]) -> None:
    shell.magics["freestone"]("--daphne x=2", "print(sum(fill($x, 2, 2)));")
    assert capfd.readouterr().out.strip() == "8"
    with pytest.raises(ScriptSyntaxError):
        shell.magics["freestone"]("--daphne", "x = ;")

"""The help of each command ends with examples, which its parser takes; a pipe gets no colours."""

import shlex

import pytest

from freestone.cli.command_examples import EXAMPLES
from freestone.cli.main import COMMANDS, main, parser_of


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_are_taken_and_shown(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for line in EXAMPLES[command]:
        name, *words = shlex.split(line)
        assert name == command
        parser_of(command).parse_args(words)
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert all(f"  $ freestone {line}\n" in shown for line in EXAMPLES[command])
    assert "--json" in shown
    assert "\033" not in shown


def test_every_example_is_of_a_command() -> None:
    assert sorted(EXAMPLES) == sorted(COMMANDS)

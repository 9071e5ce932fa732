"""Print what makes a shell complete commands and options.

In ``~/.bashrc``: ``source <(freestone completion bash)``; in ``~/.zshrc`` with ``zsh``.
"""

from __future__ import annotations

import argparse

from freestone.cli.output import Output

__all__ = ["configure", "execute"]

_FUNCTION = """\
_freestone() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words="{commands}"
  if ((COMP_CWORD > 1)); then
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _freestone freestone"""
# zsh can read bash's functions.
_BEFORE = {"bash": "", "zsh": "autoload -U +X compinit bashcompinit && compinit && bashcompinit\n"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument("shell", choices=sorted(_BEFORE), help="which shell")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Print the shell's function."""
    from freestone.cli.main import COMMANDS, parser_of

    cases = "\n".join(
        f'      {name}) words="{" ".join(_words(parser_of(name)))}" ;;' for name in COMMANDS
    )
    function = _FUNCTION.format(cases=cases, commands=" ".join(COMMANDS))
    script = _BEFORE[arguments.shell] + function
    output.show({"shell": arguments.shell, "script": script}, lambda: script)
    return 0


def _words(parser: argparse.ArgumentParser) -> list[str]:
    """List what may stand after a command: options, choices, and what is nested in it."""
    found: set[str] = set()
    for action in parser._actions:
        found.update(option for option in action.option_strings if option.startswith("--"))
        if not action.option_strings and action.choices:
            found.update(map(str, action.choices))
        if isinstance(action.choices, dict):
            for nested in action.choices.values():
                found.update(_words(nested))
    return sorted(found)

"""From the words of a command line to an exit status."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from freestone import __version__
from freestone.cli.command_examples import Layout, examples_of
from freestone.cli.output import Output, add_form, silence
from freestone.errors import FreestoneError
from freestone.errors.base import did_you_mean

__all__ = ["main", "parser_of"]

COMMANDS = (
    "run",
    "demo",
    "serve",
    "list",
    "stop",
    "status",
    "top",
    "info",
    "doctor",
    "calibrate",
    "config",
    "worker",
    "factory",
    "retire",
    "access",
    "cancel",
    "report",
    "trace",
    "malleable",
    "convert",
    "explain",
    "examples",
    "completion",
)
REFUSED, UNEXPECTED, INTERRUPTED = 2, 1, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after ``freestone``; by default those of this process.

    Returns
    -------
    int
        0; 2 for an error of freestone's, which is told in a line; 1 for any other, told with its
        traceback; 130 after Ctrl-C; or what a script exits with.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    # Whoever runs a command does not wait for the modules of all the others.
    known = [word for word in words[:1] if word in COMMANDS]
    if words and not known and not words[0].startswith("-"):
        hint = did_you_mean(words[0], COMMANDS)
        problem = f"there is no command {words[0]!r}{hint}; `freestone --help` lists them"
        Output("table").fail("usage", problem)
        return REFUSED
    commands = {name: _command(name) for name in known or COMMANDS}
    arguments = _parser(commands).parse_args(words)
    output = Output("json" if arguments.json else "quiet" if arguments.quiet else "table")
    try:
        status: int = commands[arguments.command].execute(arguments, output)
        sys.stdout.flush()
    except FreestoneError as error:
        output.fail(error.slug, str(error), getattr(error, "__notes__", ()))
        return REFUSED
    except MemoryError as error:
        problem = str(error) or "there is not enough memory"
        output.fail("memory", problem, getattr(error, "__notes__", ()))
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        silence()
        return UNEXPECTED
    except Exception:
        import traceback

        traceback.print_exc()
        return UNEXPECTED
    return status


def _command(name: str) -> ModuleType:
    return import_module(f"freestone.cli.{name}")


class _Parser(argparse.ArgumentParser):
    """Names the option that a misspelt one is close to."""

    def error(self, message: str) -> NoReturn:
        """End with the message, and what may have been meant."""
        word = message.partition("unrecognized arguments: ")[2].partition(" ")[0]
        super().error(message + did_you_mean(word.partition("=")[0], self._options()))

    def _options(self) -> list[str]:
        found = list(self._option_string_actions)
        for action in self._actions:
            if isinstance(action.choices, dict):
                for nested in action.choices.values():
                    found += nested._options()
        return found


def parser_of(name: str) -> argparse.ArgumentParser:
    """Make the parser of one command."""
    parser = _Parser(prog=f"freestone {name}", epilog=examples_of(name), formatter_class=Layout)
    add_form(parser)
    _command(name).configure(parser)
    return parser


def _parser(described: Mapping[str, ModuleType]) -> argparse.ArgumentParser:
    parser = _Parser(prog="freestone", description="One runtime for data-intensive Python.")
    parser.add_argument("--version", action="version", version=f"freestone {__version__}")
    # With its name argparse need not lay out a usage line, for which it loads a good deal.
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, prog=parser.prog
    )
    for name, command in described.items():
        summary = (command.__doc__ or "").splitlines()[0]
        below = commands.add_parser(
            name,
            help=summary,
            description=command.__doc__,
            epilog=examples_of(name),
            formatter_class=Layout,
        )
        add_form(below)
        command.configure(below)
    return parser

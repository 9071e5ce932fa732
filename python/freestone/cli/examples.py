"""List the examples, or copy them to a folder, to run and to change."""

from __future__ import annotations

import argparse
import ast
import shutil
from pathlib import Path

from freestone.cli.output import Output, pairs
from freestone.errors import FileMissingError, UsageError
from freestone.errors.base import did_you_mean

__all__ = ["configure", "execute"]

# A wheel has them inside of the package; in a checkout this is a link to them.
SHIPPED = Path(__file__).parents[1] / "_share" / "examples"
_DESCRIBING = ("README.md", "main.py", "__init__.py", "__main__.py")
_UNWANTED = shutil.ignore_patterns("__pycache__", "target")


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument("action", nargs="?", choices=["copy"], help="copy examples to a folder")
    parser.add_argument("name", nargs="?", metavar="NAME", help="which")
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--to", default=".", metavar="FOLDER", help="where; here by default")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Show what there is, or copy it."""
    found = _examples()
    if arguments.action is None:
        listed = {name: _summary(SHIPPED / name) for name in found}
        output.show(listed, lambda: pairs(listed.items()))
        return 0
    if bool(arguments.name) == arguments.all:
        raise UsageError("say which example to copy, by its name or by --all for every one")
    if not arguments.all and arguments.name not in found:
        hint = did_you_mean(arguments.name, found)
        raise UsageError(
            f"there is no example {arguments.name!r}{hint}; `freestone examples` lists them"
        )
    copied = _copy(found if arguments.all else [arguments.name], Path(arguments.to))
    output.show([str(path) for path in copied], lambda: "\n".join(map(str, copied)))
    return 0


def _examples() -> list[str]:
    if not SHIPPED.is_dir():
        raise FileMissingError(str(SHIPPED), "is missing; install freestone from a wheel again")
    folders = (path.name for path in SHIPPED.iterdir() if path.is_dir())
    return sorted(name for name in folders if _summary(SHIPPED / name))


def _summary(folder: Path) -> str:
    """Give the first line of what the example says about itself."""
    for path in (folder / name for name in _DESCRIBING):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".py":
                text = ast.get_docstring(ast.parse(text)) or ""
            if text:
                return text.splitlines()[0].lstrip("# ")
    return ""


def _copy(names: list[str], folder: Path) -> list[Path]:
    """Copy examples, with the modules that they share, into `folder`/examples."""
    target = folder / "examples"
    taken = [str(target / name) for name in names if (target / name).exists()]
    if taken:
        raise UsageError(f"{taken[0]} is there already; choose another folder by --to")
    target.mkdir(parents=True, exist_ok=True)
    for path in SHIPPED.glob("*.py"):
        if not (target / path.name).exists():
            shutil.copy(path, target)
    for name in names:
        shutil.copytree(SHIPPED / name, target / name, ignore=_UNWANTED)
    return [target / name for name in names]

"""Which files a path, a pattern, a folder or a list of them means, and the keys in their folders.

A folder stands for all files below it, in the order of their paths, but for names that begin with
a dot or an underscore, as in Spark and Arrow, and those that say no format, unless one is given.
Folders called ``key=value`` below the folder, or from the first sign of a pattern on, give each row
of their files a column.
"""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from freestone.errors import FileMissingError, UsageError
from freestone.io.formats.names import format_of, says_format
from freestone.io.stores import expanded, locate
from freestone.io.telling import telling

__all__ = ["Found", "find_files", "is_many", "keys_of", "split_tree"]

SIGNS = re.compile(r"[*?\[]")
TREE = re.compile(r"(?P<file>.+\.root):(?P<tree>[^:]+)", re.DOTALL)
# Formats whose data sets are folders.
FOLDERS = (".zarr", ".hdfs")
# What lies in a folder of Zarr, whatever that is called.
OF_ZARR = ("zarr.json", ".zarray", ".zgroup")
SHOWN = 3
NULL_KEY = "__HIVE_DEFAULT_PARTITION__"

Keys = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A file.

    Attributes
    ----------
    url : str
        Its path or URL.
    keys : tuple of (str, str or None)
        Names and values of the folders called ``key=value`` on the way to it.
    """

    url: str
    keys: Keys = ()


def is_many(what: Any) -> bool:
    """Tell whether something is more than one path or URL of one file."""
    if not isinstance(what, str | os.PathLike):
        return True
    text = expanded(what)
    if "://" in text and not text.startswith("file://"):
        location = locate(text)
        looks_many = bool(SIGNS.search(_path_of(text))) or text.endswith("/")
        if looks_many or says_format(location.name):
            return looks_many and location.is_listed
        return location.is_listed and location.is_folder()
    return (bool(SIGNS.search(text)) and not os.path.exists(text)) or _is_folder(text)


def split_tree(text: str) -> tuple[str, str | None]:
    """Return a file and what follows a colon behind it: ``f.root:Events`` names a tree."""
    text = expanded(text)
    found = TREE.fullmatch(text)
    if found is None or os.path.exists(text) or found["tree"].startswith("//"):
        return text, None
    return found["file"], found["tree"]


def find_files(what: Any, *, format: str | None = None) -> list[Found]:
    """List the files that paths, URLs, patterns and folders stand for.

    Parameters
    ----------
    what
        One of them, or several.
    format
        The format, if it is given; then the names need not say it.

    Raises
    ------
    FileMissingError
        When a pattern or a folder has no file.
    UsageError
        When what is given is no path.
    """
    if isinstance(what, str | os.PathLike):
        return _one(expanded(what), format)
    if not isinstance(what, Iterable):
        raise UsageError(
            f"read() takes a path, a pattern, a folder or a list of them, not {type(what).__name__}"
        )
    given = list(what)
    for each in given:
        if not isinstance(each, str | os.PathLike):
            raise UsageError(f"a list of files has paths and URLs, not {type(each).__name__}")
    if not given:
        raise FileMissingError("[]", "is a list without files; see what made it")
    return [found for each in given for found in _one(expanded(each), format)]


def _one(text: str, format: str | None) -> list[Found]:
    if not isinstance(text, str):
        raise UsageError(f"a path is text, not {type(text).__name__}")
    if "://" in text and not text.startswith("file://"):
        return _remote(text, format)
    text = (
        unquote(text.removeprefix("file://").removeprefix("localhost")) if "://" in text else text
    )
    if SIGNS.search(text) and not os.path.exists(text):
        root = os.path.dirname(text[: SIGNS.search(text).start()])  # type: ignore[union-attr]
        paths = sorted(
            path for path in glob.iglob(text, recursive=True) if not _is_hidden(path, root)
        )
        files = [each for path in paths for each in (_below(path) if _is_folder(path) else [path])]
        # What `**` finds has folders, and the files in them.
        return _checked(text, root, list(dict.fromkeys(files)), format)
    if _is_folder(text) and not (format == "zarr" and _is_zarr(text)):
        return _checked(text, text, _below(text), format)
    return [Found(text)]


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not path.rstrip("/").lower().endswith(FOLDERS)


def _is_zarr(folder: str) -> bool:
    return any(os.path.exists(os.path.join(folder, name)) for name in OF_ZARR)


def _is_hidden(path: str, root: str) -> bool:
    """Tell whether a name on the way from a folder to a file says that it is no data."""
    return any(
        name.startswith((".", "_")) for name in os.path.relpath(path, root or ".").split("/")
    )


def _below(folder: str) -> list[str]:
    """Return the paths of all files below a folder, in order."""
    found = []
    for path, folders, names in os.walk(folder):
        inside = [name for name in folders if not name.startswith((".", "_"))]
        found += [os.path.join(path, name) for name in inside if name.lower().endswith(FOLDERS)]
        folders[:] = [name for name in inside if not name.lower().endswith(FOLDERS)]
        found += [os.path.join(path, name) for name in names if not name.startswith((".", "_"))]
    return sorted(found)


def _checked(given: str, root: str, paths: list[str], format: str | None) -> list[Found]:
    """Return files with their keys, if there are some and their names say one format."""
    data = [path for path in paths if format is not None or says_format(path)]
    if not data:
        raise FileMissingError(given, _nothing(given, root, paths))
    if format is None:
        names = {format_of(path.rsplit("/", 1)[-1]).name: path for path in reversed(data)}
        if len(names) > 1:
            (one, first), (other, second), *_ = sorted(names.items())
            raise UsageError(
                f"{given} has files of several formats: {first} is {one}, and {second} {other}; "
                f"say which by a pattern, such as '*{os.path.splitext(first)[1]}', or by format="
            )
    return [Found(path, keys_of(os.path.relpath(path, root or "."))) for path in data]


def _nothing(given: str, root: str, paths: list[str]) -> str:
    """Say why nothing was found, and what there is."""
    group, _, array = os.path.abspath(given).rpartition(".zarr/")
    if group:
        return f"is in a Zarr group; read the group {group}.zarr with array={array!r}"
    if paths:
        shown = ", ".join(repr(os.path.basename(path)) for path in paths[:SHOWN])
        return f"has {len(paths):,} files whose names say no format ({shown}); say it by format="
    if given == root:
        return "is a folder without files that could be read; check the path"
    if root and not os.path.isdir(root):
        return f"matches no file: there is no folder {root}; check the pattern, from {os.getcwd()}"
    names = sorted(os.listdir(root or "."))
    wanted = given.rsplit("/", 1)[-1]
    near = difflib.get_close_matches(wanted, names, SHOWN, 0.3) or names[:SHOWN]
    shown = f", such as {', '.join(map(repr, near))}" if near else ""
    return f"matches no file; {root or 'this folder'} has {len(names):,} entries{shown}"


def keys_of(path: str) -> Keys:
    """Return the keys and values of the folders of a path called ``key=value``."""
    keys: list[tuple[str, str | None]] = []
    for name in path.split("/")[:-1]:
        key, sign, value = name.partition("=")
        if sign and key:
            keys.append((unquote(key), None if value == NULL_KEY else unquote(value)))
    return tuple(keys)


# -- stores that are far away ---------------------------------------------------------------------


def _path_of(url: str) -> str:
    """Return a URL without what follows the path."""
    scheme, _, rest = url.partition("://")
    return rest.split("?", 1)[0] if scheme in ("http", "https") else rest


def _remote(url: str, format: str | None) -> list[Found]:
    if not is_many(url):
        return [Found(url)]
    signs, location = SIGNS.search(_path_of(url)), locate(url)
    with telling(url):
        if signs:
            at = url.index("://") + 3 + signs.start()
            root = url[: url.rindex("/", 0, at)]
            urls = [found for found in location.matching() if not _is_hidden_url(found, root)]
        else:
            root = url.rstrip("/")
            urls = [found for found in location.below() if not _is_hidden_url(found, root)]
    data = [found for found in sorted(urls) if format is not None or says_format(found)]
    if not data:
        others = f"; {len(urls):,} have names that say no format" if urls else ""
        raise FileMissingError(url, f"matches no file that could be read{others}; check the URL")
    return [Found(found, keys_of(found.removeprefix(root).lstrip("/"))) for found in data]


def _is_hidden_url(url: str, root: str) -> bool:
    return any(name.startswith((".", "_")) for name in url.removeprefix(root).split("/"))

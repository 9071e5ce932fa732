"""Files of a rank: what it has of some steps, as NetCDF or Zarr."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from examples.insitu.items import Items
from examples.insitu.settings import FIELDS, Settings

__all__ = ["DIAGNOSTICS", "Writer"]

AXES = ("step", "field", "member", "point")
DIAGNOSTICS = ("mean", "variance", "minimum", "maximum")


class Writer:
    """Keeps what comes until an interval of steps is complete, and writes it then.

    Raw fields and diagnostics go to files of their own, because an interval of one is complete
    long before that of the other.
    """

    def __init__(self, settings: Settings, analytics: int) -> None:
        self.settings, self.analytics = settings, analytics
        self.own = settings.own(analytics)
        self.raw: dict[int, NDArray[np.float64]] = {}
        self.diagnostics: dict[int, NDArray[np.float64]] = {}
        self.lacking: dict[tuple[str, int], int] = {}

    def add_items(self, items: Items) -> None:
        """Take in raw fields."""
        if self.settings.folder is None:
            return
        intervals = items["step"] // self.settings.interval
        for interval in np.unique(intervals).tolist():
            some = items[intervals == interval]
            shape = (self._steps(interval), len(FIELDS), len(self.own), self.settings.points)
            raw = self.raw.setdefault(interval, np.full(shape, np.nan))
            place = some["step"] - interval * self.settings.interval
            members = some["member"] // self.settings.analytics
            raw[place, some["field"], members] = some["values"]
            if self._complete("raw", interval, len(some)):
                self._write("raw", interval, {"raw": self.raw.pop(interval)})

    def add_results(self, results: Iterable[tuple[int, int, tuple[float, ...]]]) -> None:
        """Take in the diagnostics of a step and a field."""
        if self.settings.folder is None:
            return
        for step, field, values in results:
            interval, place = divmod(step, self.settings.interval)
            shape = (self._steps(interval), len(FIELDS), len(DIAGNOSTICS))
            found = self.diagnostics.setdefault(interval, np.full(shape, np.nan))
            found[place, field] = values
            if self._complete("diagnostics", interval, 1):
                self._write_diagnostics(interval)

    def close(self) -> None:
        """Write what is not complete."""
        for interval in list(self.raw):
            self._write("raw", interval, {"raw": self.raw.pop(interval)})
        for interval in list(self.diagnostics):
            self._write_diagnostics(interval)

    def _steps(self, interval: int) -> int:
        start = interval * self.settings.interval
        return min(self.settings.interval, self.settings.steps - start)

    def _complete(self, what: str, interval: int, count: int) -> bool:
        key = (what, interval)
        if key not in self.lacking:
            self.lacking[key] = self._wanted(what, interval)
        self.lacking[key] -= count
        return self.lacking[key] == 0

    def _wanted(self, what: str, interval: int) -> int:
        start = interval * self.settings.interval
        steps = range(start, start + self._steps(interval))
        pairs = [(step, field) for step in steps for field in range(len(FIELDS))]
        if what == "raw":
            own = [self.settings.steps_of(member) for member in self.own]
            return sum(step in sent for step, _ in pairs for sent in own)
        return sum(self.settings.root(*pair) == self.analytics for pair in pairs)

    def _write_diagnostics(self, interval: int) -> None:
        found = np.moveaxis(self.diagnostics.pop(interval), -1, 0)
        self._write("diagnostics", interval, dict(zip(DIAGNOSTICS, found, strict=True)))

    def _write(self, what: str, interval: int, variables: dict[str, Any]) -> None:
        assert self.settings.folder is not None
        start = interval * self.settings.interval
        steps = start + np.arange(self._steps(interval), dtype=np.int32)
        found = {"step": Variable(("step",), steps)}
        if what == "raw":
            found["member"] = Variable(("member",), np.array(self.own, np.int32))
        for name, values in variables.items():
            found[name] = Variable(AXES[: values.ndim], values)
        path = self.settings.folder / f"{what}-{self.analytics:04}-{start:06}"
        (write_zarr if self.settings.format == "zarr" else write_netcdf)(path, found)


class Variable(NamedTuple):
    """Values and what their axes are called."""

    axes: tuple[str, ...]
    values: NDArray[Any]


def write_netcdf(path: Path, variables: dict[str, Variable]) -> None:
    """Write a NetCDF file, with ``.nc`` at its name's end."""
    from scipy.io import netcdf_file

    with netcdf_file(path.with_suffix(".nc"), "w", version=2) as file:
        file.fields = " ".join(FIELDS)
        for variable in variables.values():
            for axis, size in zip(variable.axes, variable.values.shape, strict=True):
                if axis not in file.dimensions:
                    file.createDimension(axis, size)
        for name, (axes, values) in variables.items():
            file.createVariable(name, values.dtype.str[1:], axes)[:] = values


def write_zarr(path: Path, variables: dict[str, Variable]) -> None:
    """Write a Zarr group, a folder with ``.zarr`` at its name's end; whole, once it is there."""
    import zarr

    partial = path.with_suffix(".partial")
    group = zarr.create_group(partial, attributes={"fields": " ".join(FIELDS)})
    for name, (axes, values) in variables.items():
        group.create_array(name, data=values, dimension_names=axes)
    partial.rename(path.with_suffix(".zarr"))


def read(folder: Path, what: str) -> Iterable[dict[str, NDArray[Any]]]:
    """Yield the variables of each file, `what` being ``"raw"`` or ``"diagnostics"``."""
    for path in sorted(folder.glob(f"{what}-*")):
        if path.suffix == ".zarr":
            import zarr

            group = zarr.open_group(path, mode="r")
            yield {name: np.asarray(array[...]) for name, array in group.arrays()}
            continue
        from scipy.io import netcdf_file

        with netcdf_file(path, "r", mmap=False) as file:
            yield {name: np.array(value[:]) for name, value in file.variables.items()}

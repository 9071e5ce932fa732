"""The test suites of others that run on freestone."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["ROOT", "SUITES", "Suite"]

ROOT = Path(__file__).parents[2]
_VENV = Path(sys.executable)
_NEWEST_DASK = ROOT / ".venv-dask/bin/python"
_PARSL = ROOT / ".venv-parsl/bin/python"
_SNAKEMAKE = ROOT / ".venv-snakemake/bin/python"


@dataclass(frozen=True)
class Suite:
    """Tests of an installed package, run by pytest with freestone below them.

    Attributes
    ----------
    name : str
        What the command line calls it.
    python : Path
        The interpreter that has the package.
    tests : tuple of str
        Modules and packages with the tests.
    plugin : str
        A module of pytest hooks that puts freestone below the tests.
    expected : str
        The file, in `expected/`, of the failures that are accepted, with a reason for each.
    tests_of_full : tuple of str
        More of them, for a run of all parts.
    parts : int
        Continuous integration runs so many parts in turn, one a day.
    without : mapping of str to str
        Variables with which the plugin leaves freestone out. What fails then, too, is not counted.
    arguments : tuple of str
        More arguments of pytest.
    """

    name: str
    python: Path
    tests: tuple[str, ...]
    plugin: str
    expected: str
    tests_of_full: tuple[str, ...] = ()
    parts: int = 1
    without: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


_THREADS = {"OUTSIDE_SCHEDULER": "threads"}


def _dask(name: str, python: Path) -> Suite:
    return Suite(
        name,
        python,
        tests=(
            *("dask.array", "dask.bag", "dask.dataframe.dask_expr"),
            *("dask.tests.test_base", "dask.tests.test_delayed"),
        ),
        tests_of_full=("dask.dataframe.tests", "dask.dataframe.io"),
        plugin="tests.outside.on_cluster",
        expected="dask.toml",
        parts=8,
        without=_THREADS,
    )


_LOKY = {"OUTSIDE_JOBLIB": "loky"}

SUITES = {
    suite.name: suite
    for suite in (
        _dask("dask", _VENV),
        _dask("dask-newest", _NEWEST_DASK),
        Suite(
            "xarray",
            _VENV,
            tests=("xarray.tests.test_dask", "xarray.tests.test_duck_array_ops"),
            plugin="tests.outside.on_cluster",
            expected="xarray.toml",
            parts=2,
            without=_THREADS,
        ),
        Suite(
            "executors",
            _VENV,
            tests=("tests.outside.cpython_executors",),
            plugin="tests.outside.report",
            expected="executors.toml",
        ),
        Suite(
            "parsl",
            _PARSL,
            tests=(
                "parsl.tests.test_python_apps",
                "parsl.tests.test_bash_apps",
                "parsl.tests.test_error_handling",
                "tests.outside.parsl_executor",
            ),
            plugin="parsl.tests.conftest",
            expected="parsl.toml",
            arguments=(
                f"--config={ROOT / 'tests/outside/parsl_config.py'}",
                # Root may write everywhere, and a loaded machine takes longer than 0.2 s.
                *("-m", "not unix_filesystem_permissions_required"),
                *("-k", "not test_walltime_longer"),
            ),
        ),
        Suite(
            "snakemake",
            _SNAKEMAKE,
            # Has those of `snakemake.common.tests`, which are to be derived from.
            tests=("tests.outside.snakemake_executor",),
            plugin="tests.outside.report",
            expected="snakemake.toml",
        ),
        Suite(
            "joblib",
            _VENV,
            tests=("joblib.test.test_parallel",),
            plugin="tests.outside.on_joblib",
            expected="joblib.toml",
            without=_LOKY,
            arguments=("-k", "freestone or Freestone"),
        ),
        Suite(
            "scikit-learn",
            _VENV,
            tests=(
                "sklearn.utils.tests.test_parallel",
                "sklearn.ensemble.tests.test_bagging",
                "sklearn.ensemble.tests.test_voting",
                "sklearn.model_selection.tests.test_validation",
                "sklearn.tests.test_multioutput",
            ),
            plugin="tests.outside.on_joblib",
            expected="scikit-learn.toml",
            parts=4,
            without=_LOKY,
        ),
    )
}

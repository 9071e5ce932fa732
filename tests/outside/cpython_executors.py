"""CPython's own tests of executors, on `cluster.executor()`.

They are those of the interpreter that runs this, or of Debian's package `libpython3-testsuite` for
the same version of Python. CPython's names for them are kept.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import unittest
from pathlib import Path
from types import ModuleType
from typing import Any

import freestone as fs

DEBIAN = Path(f"/usr/lib/python3.{sys.version_info.minor}/test/test_concurrent_futures.py")


def _tests() -> ModuleType:
    """Return CPython's tests: a module until Python 3.12, and a package since then.

    Raises
    ------
    unittest.SkipTest
        Where neither the interpreter nor Debian's package has them.
    """
    name = "test.test_concurrent_futures"
    if importlib.util.find_spec(name) is not None:
        return importlib.import_module(name)
    if not DEBIAN.is_file():
        raise unittest.SkipTest(f"neither {name} nor {DEBIAN} is there")
    spec = importlib.util.spec_from_file_location("cpython_test_concurrent_futures", DEBIAN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # What its functions are sent by is the name of their module.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _class(tests: ModuleType, name: str) -> type[Any]:
    for module in ("", ".executor", ".test_shutdown", ".test_wait", ".test_as_completed", ".util"):
        try:
            found = importlib.import_module(tests.__name__ + module)
        except ModuleNotFoundError:
            continue
        if hasattr(found, name):
            return type(name, (getattr(found, name),), {})
    raise LookupError(f"{tests.__name__} has no class {name}")


_cpython = _tests()


class OnCluster:
    """Gives each test an executor of one cluster with two workers' processes."""

    worker_count = 2
    executor: Any
    cluster: fs.Cluster

    @classmethod
    def setUpClass(cls) -> None:
        """Open the cluster."""
        cls.cluster = fs.Cluster(executors=2, memory="128MiB", disk="256MiB")

    @classmethod
    def tearDownClass(cls) -> None:
        """Close it."""
        cls.cluster.close()

    def setUp(self) -> None:
        """Make an executor."""
        self.executor = self.cluster.executor()

    def tearDown(self) -> None:
        """Shut it down."""
        self.executor.shutdown(wait=True)


class ExecutorTests(OnCluster, _class(_cpython, "ExecutorTest"), unittest.TestCase):  # type: ignore[misc]
    """Calls, maps, time-outs, references."""


class WaitTests(OnCluster, _class(_cpython, "WaitTests"), unittest.TestCase):  # type: ignore[misc]
    """`concurrent.futures.wait`."""


class AsCompletedTests(OnCluster, _class(_cpython, "AsCompletedTests"), unittest.TestCase):  # type: ignore[misc]
    """`concurrent.futures.as_completed`."""


class ShutdownTests(OnCluster, _class(_cpython, "ExecutorShutdownTest"), unittest.TestCase):  # type: ignore[misc]
    """`Executor.shutdown`."""

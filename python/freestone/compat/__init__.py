"""Freestone where other libraries expect one of their own engines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

__all__ = ["offer_joblib"]


def offer_joblib() -> None:
    """Make ``joblib.parallel_config("freestone")`` work, now or once joblib is imported.

    Notes
    -----
    Called when a cluster is opened. Joblib is not imported for it.
    """
    parallel = sys.modules.get("joblib.parallel")
    if hasattr(parallel, "register_parallel_backend"):
        from freestone.compat.joblib import register

        register()
    elif not any(isinstance(finder, _AfterJoblib) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterJoblib())


class _AfterJoblib:
    """Registers the backend when ``joblib.parallel`` has been executed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "joblib.parallel":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            from freestone.compat.joblib import register

            register()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        sys.meta_path.remove(self)
        return spec

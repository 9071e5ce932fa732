"""A pytest plugin: joblib's tests know the backend "freestone", and scikit-learn's use it."""

from __future__ import annotations

import os

import joblib
import pytest

import freestone as fs

BACKEND = "OUTSIDE_JOBLIB"
"""The variable with the backend that is used by default: "freestone", or one to compare with."""

_cluster: fs.Cluster | None = None


def pytest_configure(config: pytest.Config) -> None:
    """Open the cluster before tests are collected: joblib's run on each backend that is known."""
    global _cluster
    backend = os.environ.get(BACKEND, "freestone")
    if backend == "freestone":
        _cluster = fs.Cluster(executors=2, memory="512MiB", disk="1GiB")
    if os.environ.get("OUTSIDE_DEFAULT"):
        joblib.parallel_config(backend, n_jobs=2)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the cluster."""
    if _cluster is not None:
        _cluster.close()

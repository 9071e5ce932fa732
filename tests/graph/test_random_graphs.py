"""Random graphs with fixed seeds give what `dask.get` gives; see `tests.outside.fuzz_graphs`."""

from __future__ import annotations

import dask
import pytest

import freestone as fs
from tests.outside.fuzz_graphs import check, make


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_cluster_gives_what_dask_gives(cluster: fs.Cluster, seed: int) -> None:
    findings = [wrong for case in range(15) if (wrong := check(cluster, seed, case))]
    assert not findings, "\n".join(findings)


def test_most_graphs_can_be_run() -> None:
    ran = 0
    for case in range(40):
        graph, keys, _ = make(1, case)
        try:
            dask.get(graph, keys)
        except Exception:
            continue
        ran += 1
    assert ran >= 30

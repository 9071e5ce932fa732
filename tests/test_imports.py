"""What a program loads that it doesn't need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import freestone as fs

COSTLY = {"numpy", "asyncio", "multiprocessing", "pyarrow", "rich", "dask", "ssl"}
UNUSED = COSTLY | {
    "freestone.compat.concurrent",
    "freestone.events",
    "freestone.lang",
    "freestone.observe.explain",
    "freestone.observe.figures",
    "freestone.observe.reprs",
    "freestone.observe.trace",
    "tarfile",
}
CALLS = """
import sys
import freestone as fs

with fs.Cluster(executors=1, memory="64MiB", disk="64MiB") as cluster:
    assert cluster.submit(pow, 2, 10).result() == 1024
    print(*set(sys.modules) & {unused!r})
    print(*cluster.submit(lambda: set(sys.modules) & {costly!r}).result())
"""
OWN_MODULES = """
import sys
before = set(sys.modules)
{statement}
print(*set(sys.modules) - before)
"""


def loaded(statement: str, *flags: str) -> set[str]:
    """Return what a statement loads in an interpreter that has loaded nothing else."""
    # Without `site` by default, which loads what packages ask for.
    flags = flags or ("-S",)
    words = [sys.executable, *flags, "-c", OWN_MODULES.format(statement=statement)]
    env = os.environ | {"PYTHONPATH": str(Path(fs.__file__).parents[1])}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=env)
    return set(done.stdout.split())


def test_calls_of_plain_values_load_nothing_costly_in_the_program_and_in_executors() -> None:
    words = [sys.executable, "-c", CALLS.format(unused=UNUSED, costly=COSTLY)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_package_itself_loads_nothing_of_its_own() -> None:
    found = loaded("import freestone")
    assert {name for name in found if name.startswith("freestone")} == {"freestone"}
    assert not found & {"typing", "re", "dataclasses", "collections"}


def test_the_native_module_loads_no_errors_for_a_hint_that_nobody_sees() -> None:
    found = loaded("from freestone import _native")
    own = {name for name in found if name.startswith("freestone.")}
    assert all(name.startswith("freestone._native") for name in own)
    assert not found & {"difflib", "re", "typing"}


def test_a_program_starts_its_workers_before_it_loads_what_its_first_call_needs() -> None:
    found = loaded("import freestone; freestone.Cluster")
    later = {"cloudpickle", "freestone.functions.encoding", "freestone.functions.loading"}
    assert not found & (later | {"freestone.client.actors", "html", "zipfile"})


def test_an_executor_loads_nothing_for_calls_of_plain_values_that_its_fork_server_has_not() -> None:
    before = loaded("import freestone.node.worker, freestone.node.fork_server", "-B")
    assert "subprocess" not in before
    with fs.Cluster(executors=1, memory="64MiB", disk="64MiB") as cluster:
        assert cluster.submit(pow, 2, 10).result() == 1024
        found = cluster.submit(lambda: sorted(sys.modules)).result()
    own = {name for name in found if name.startswith("freestone.")}
    assert own - before == set()


def test_a_worker_loads_no_hosts_and_no_client() -> None:
    found = loaded("import freestone.node.worker")
    assert not found & {"freestone.config", "freestone.hosts.engine", "freestone.hosts.local"}
    assert not found & {"pathlib", "secrets", "subprocess", "urllib.parse"}
    assert not any(name.startswith("freestone.client") for name in found)

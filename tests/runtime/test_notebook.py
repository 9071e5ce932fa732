"""A notebook whose kernel is restarted while its calls run on a cluster of another process."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

import freestone as fs
from tests.waiting import until

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

CELLS = [
    "import os\nimport freestone as fs\ncluster = fs.connect('lab')",
    """
def square(k, folder):
    import freestone as fs

    number = sum(name.startswith(f'{k}-') for name in os.listdir(folder))
    open(os.path.join(folder, f'{k}-{number}'), 'w').close()
    if k >= 2:
        fs.current().variable('gate').get()
    return k * k


def plus(x, y):
    return x + y
""",
    """
squares = [cluster.submit(square, k, FOLDER).detach() for k in range(4)]
total = fs.reduce(plus, squares).detach()
print([future.result() for future in squares[:2]])
""",
    "print(total.name, total.result())",
]


def printed(cell: Any) -> str:
    return "".join(output["text"] for output in cell["outputs"]).strip()


def test_a_kernel_that_is_restarted_gets_its_results_back(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    cells = [cell.replace("FOLDER", repr(str(calls))).strip() for cell in CELLS]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(notebook, kernel_name="python3", timeout=600)
    folder = str(tmp_path / "fs")

    async def run(*indices: int) -> None:
        for index in indices:
            await client.async_execute_cell(notebook["cells"][index], index)

    async def run_twice(cluster: fs.Cluster) -> None:
        async with client.async_setup_kernel(env=os.environ | {"FREESTONE_FOLDER": folder}):
            await run(0, 1, 2)
            assert printed(notebook["cells"][2]) == "[0, 1]"
            # The kernel and the two other calls, which wait.
            assert until(lambda: cluster.client.manager.clients == 3)
            await client.km.restart_kernel(now=True)
            await client.kc.wait_for_ready()
            assert until(lambda: cluster.client.manager.clients == 2)
            await asyncio.to_thread(cluster.variable("gate").set, 1)
            await run(0, 1, 2, 3)

    with fs.Cluster(executors=2, memory="64MiB", disk="64MiB", folder=folder) as cluster:
        cluster.share("lab")
        asyncio.run(run_twice(cluster))
        assert printed(notebook["cells"][3]).endswith(" 14")
        # No call has run twice.
        assert sorted(os.listdir(calls)) == [f"{k}-0" for k in range(4)]

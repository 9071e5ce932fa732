"""Use a wheel in JupyterLab and marimo as a person does: `python -m tests.docs.lab dist`.

Both are installed with the wheel into an environment of their own. JupyterLab's server is started
there on loopback; a notebook's cells are run through the interface that its page uses: sessions of
its kernels, and a web socket to each. A marimo notebook is run by `marimo export html`. VS Code's
Jupyter extension starts the same kernel, ipykernel, and shows the same HTML.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import psutil
from tornado.websocket import websocket_connect

from tests.ports import free_ports
from tests.waiting import until

TOKEN = uuid.uuid4().hex
PACKAGES = ("jupyterlab", "marimo")
CELL_S = 120
CELLS = [
    """
%load_ext freestone
import freestone as fs
cluster = fs.Cluster(executors=2, memory="128MiB", disk="128MiB")
cluster""",
    "cluster.submit(abs, -1)",
    "%%freestone\ntotal = sum(range(10))",
    "assert total == 45",
    "%%freestone --daphne n=3\nprint(sum(seq(1.0, $n, 1.0)));",
    "import numpy as np\nfs.Array.from_numpy(np.arange(12.0).reshape(6, 2), 2)",
]
OPEN = "import freestone as fs\ncluster = fs.Cluster(executors=2)\nassert cluster"
MARIMO = """\
import marimo

app = marimo.App()


@app.cell
def _():
    import freestone as fs
    return (fs,)


@app.cell
def _(fs):
    cluster = fs.Cluster(executors=2, memory="128MiB", disk="128MiB")
    cluster
    return (cluster,)


@app.cell
def _(cluster):
    total = cluster.submit(sum, range(10)).result()
    assert total == 45
    cluster.submit(abs, -1)
    return


if __name__ == "__main__":
    app.run()
"""


class Server:
    """A JupyterLab, by its interface over HTTP."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.address = f"127.0.0.1:{port}"

    def is_up(self) -> bool:
        """Whether it answers."""
        try:
            return bool(self.ask("GET", "status"))
        except URLError:
            return False

    def ask(self, method: str, path: str, content: object = None) -> Any:
        """Return the JSON that is answered, or None."""
        request = Request(
            f"http://{self.address}/api/{path}",
            method=method,
            data=None if content is None else json.dumps(content).encode(),
            headers={"Authorization": f"token {TOKEN}"},
        )
        with urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def open(self, notebook: str) -> str:
        """Start a kernel for a notebook, and return its id."""
        content = {
            "path": notebook,
            "type": "notebook",
            "name": notebook,
            "kernel": {"name": "python3"},
        }
        return str(self.ask("POST", "sessions", content)["kernel"]["id"])

    async def run(self, kernel: str, cells: list[str]) -> list[list[dict[str, Any]]]:
        """Run cells one after the other, and return what the page shows below each."""
        words = urlencode({"token": TOKEN})
        socket = await websocket_connect(
            f"ws://{self.address}/api/kernels/{kernel}/channels?{words}"
        )
        found = [await asyncio.wait_for(_execute(socket, cell), CELL_S) for cell in cells]
        socket.close()
        return found


async def _execute(socket: Any, cell: str) -> list[dict[str, Any]]:
    header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "session": TOKEN}
    header |= {"username": "", "version": "5.3", "date": "2026-01-01T00:00:00Z"}
    content = {"code": cell.strip(), "silent": False, "store_history": True, "allow_stdin": False}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
    await socket.write_message(json.dumps(message | {"channel": "shell", "buffers": []}))
    shown: list[dict[str, Any]] = []
    while True:
        answer = json.loads(await socket.read_message())
        if answer["parent_header"].get("msg_id") != header["msg_id"]:
            continue
        kind, content = answer["msg_type"], answer["content"]
        if kind == "error":
            raise RuntimeError(f"{cell}\n{content['ename']}: {content['evalue']}")
        if kind in ("execute_result", "display_data", "stream"):
            shown.append(content)
        if kind == "status" and content["execution_state"] == "idle":
            return shown


@contextmanager
def serving(python: str, folder: Path) -> Iterator[Server]:
    """Serve JupyterLab from a folder."""
    server = Server(*free_ports(1))
    words = ["-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={server.port}"]
    words += ["--allow-root", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}"]
    with (
        open(folder / "lab.log", "w") as log,
        subprocess.Popen([python, *words], cwd=folder, env=_environment(folder), stderr=log) as lab,
    ):
        try:
            until(lambda: lab.poll() is not None or server.is_up())
            if lab.poll() is not None:
                raise RuntimeError((folder / "lab.log").read_text("utf-8"))
            yield server
        finally:
            lab.terminate()


def _environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8"} | {
        name: value for name, value in os.environ.items() if name.startswith("PIP_")
    }


def use_lab(python: str, folder: Path) -> None:
    """Run the cells, then restart and close kernels in which a cluster is open."""
    with serving(python, folder) as server:
        kernel = server.open("cells.ipynb")
        shown = asyncio.run(server.run(kernel, CELLS))
        for number in (0, 1, 5):
            assert any("text/html" in content.get("data", {}) for content in shown[number]), shown[
                number
            ]
        assert "6" in shown[4][0]["text"], shown[4]
        print("JupyterLab: each cell ran, and objects are shown as HTML")
        for method, path in {
            "POST": f"kernels/{kernel}/restart",
            "DELETE": f"kernels/{kernel}",
        }.items():
            asyncio.run(server.run(kernel, [OPEN]))
            before = _workers(folder)
            assert before, "no worker runs"
            server.ask(method, path)
            _, alive = psutil.wait_procs(before, timeout=60)
            assert not alive, alive
            print(f"JupyterLab: none of {len(before)} processes is left after {method} {path}")


def _workers(folder: Path) -> list[psutil.Process]:
    """Return the processes of clusters that kernels have started, by their home."""
    found = psutil.process_iter(["environ", "cmdline"], ad_value={})
    return [
        process
        for process in found
        if process.info["environ"].get("HOME") == str(folder)
        and "freestone" in " ".join(process.info["cmdline"])
    ]


def use_marimo(python: str, folder: Path) -> None:
    """Run a marimo notebook as a script, and as the page that its cells make."""
    (folder / "cells.py").write_text(MARIMO)
    _run([python, "cells.py"], folder)
    _run([python, "-m", "marimo", "export", "html", "cells.py", "-o", "cells.html"], folder)
    page = (folder / "cells.html").read_text("utf-8")
    # The page holds what each cell has shown, as JSON: here a cluster and a future.
    assert len(re.findall(r'"text/html": "\\u003Cdiv', page)) == 2, page
    assert not _workers(folder)
    print("marimo: the notebook ran as a script and as a page, and objects are shown as HTML")


def _run(words: list[str], folder: Path) -> str:
    done = subprocess.run(
        words, cwd=folder, env=_environment(folder), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{words}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def main() -> int:
    """Install a wheel beside JupyterLab and marimo, and use it there."""
    parser = argparse.ArgumentParser(prog="python -m tests.docs.lab", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the wheel is")
    parser.add_argument("--python", help="of an environment that has all of it already")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        python = options.python
        if not python:
            (wheel,) = options.folder.resolve().glob(f"*{platform.machine()}.whl")
            python = f"{folder}/env/bin/python"
            _run([sys.executable, "-m", "venv", "env"], folder)
            _run([python, "-m", "pip", "install", "--quiet", str(wheel), *PACKAGES], folder)
        use_lab(python, folder)
        use_marimo(python, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

from __future__ import annotations

import json
import os
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from freestone import _native
from freestone.observe.control import ControlServer, ask, ask_all, find


def answer(question: dict[str, Any]) -> dict[str, Any]:
    if question["ask"] == "status":
        return {"done": 3}
    raise LookupError("no such question")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "cluster-1"
    owned = _native.folders.OwnedFolder.take(str(made))
    server = ControlServer(made, answer)
    yield made
    server.close()
    owned.remove()


def write_card(folder: Path, pid: int, started: float = 1.0) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "cluster.json").write_text(json.dumps({"pid": pid, "started": started}))


def test_a_question_gets_its_answer(folder: Path) -> None:
    assert ask(folder, {"ask": "status"}) == {"done": 3}
    assert ask(folder, {"ask": "status"}) == {"done": 3}
    assert stat.S_IMODE((folder / "control.sock").stat().st_mode) == 0o600


def test_what_the_answer_raises_is_reported(folder: Path) -> None:
    with pytest.raises(OSError, match="LookupError: no such question"):
        ask(folder, {"ask": "nonsense"})
    assert ask(folder, {"ask": "status"}) == {"done": 3}


@pytest.mark.parametrize("reported", [b"", b"\n", b"{", b"[1]\n", b"\xff\xfe\n"])
def test_nonsense_does_no_harm(folder: Path, reported: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(folder / "control.sock"))
        connection.sendall(reported)
        connection.shutdown(socket.SHUT_WR)
        assert b"error" in connection.recv(1000)
    assert ask(folder, {"ask": "status"}) == {"done": 3}


def answering() -> int:
    """Count the threads that answer questions."""
    return sum(thread.name == "freestone-control" for thread in threading.enumerate())


def test_closing_ends_the_thread_and_removes_the_socket(tmp_path: Path) -> None:
    before = answering()
    server = ControlServer(tmp_path, answer)
    assert answering() == before + 1
    server.close()
    server.close()
    assert answering() == before
    assert not (tmp_path / "control.sock").exists()
    with pytest.raises(OSError, match="No such file"):
        ask(tmp_path, {"ask": "status"})


def test_a_folder_with_a_long_name_can_be_reached(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    server = ControlServer(folder, answer)
    assert ask(folder, {"ask": "status"}) == {"done": 3}
    server.close()


def test_running_clusters_are_found_and_dead_ones_are_not(tmp_path: Path, folder: Path) -> None:
    # Alive or dead by the locks of their folders, whatever process ids containers may give them.
    owned = [_native.folders.OwnedFolder.take(str(tmp_path / name)) for name in ("silent", "dead")]
    write_card(folder, 2**30, started=5)
    write_card(tmp_path / "silent", 2**30, started=2)
    write_card(tmp_path / "dead", os.getpid())
    owned[1].forget()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "cluster.json").write_text("{")
    silent, running = ask_all(find(tmp_path))
    assert running["status"] == {"done": 3}
    assert running["folder"] == str(folder)
    assert "No such file" in silent["error"]
    assert find(tmp_path / "nowhere") == []

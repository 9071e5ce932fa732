"""Commands may write to their inputs: neither the user's files nor blocks change by it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import freestone as fs
from freestone.client import commands
from freestone.errors import FileError, FileMissingError

read = fs.task(pure=False)(lambda file: Path(file).read_text())


@pytest.fixture(scope="module")
def cluster() -> Iterator[fs.Cluster]:
    with fs.Cluster(workers=1, executors=1) as cluster:
        yield cluster


def test_a_file_that_a_command_writes_to_stays_as_it_is(
    cluster: fs.Cluster, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("precious\n")
    done = cluster.command(
        "cat data.txt; echo scratch > data.txt; cat data.txt", inputs={"data.txt": fs.file(mine)}
    )
    assert done.stdout.result() == "precious\nscratch\n"
    assert mine.read_text() == "precious\n"


def test_a_block_that_a_command_writes_to_stays_as_it_is(cluster: fs.Cluster) -> None:
    made = cluster.command("seq 1 3 > s.txt", outputs=["s.txt"]).outputs["s.txt"]
    assert read(made).result() == "1\n2\n3\n"
    cluster.command("echo 4 >> s.txt", inputs={"s.txt": made}).stdout.result()
    assert read(made).result() == "1\n2\n3\n"


def test_an_input_that_is_an_output_is_changed_in_a_copy(
    cluster: fs.Cluster, tmp_path: Path
) -> None:
    mine = tmp_path / "list.txt"
    mine.write_text("b\na\n")
    done = cluster.command(
        "sort -o list.txt list.txt", inputs={"list.txt": fs.file(mine)}, outputs=["list.txt"]
    )
    assert read(done.outputs["list.txt"]).result() == "a\nb\n"
    assert mine.read_text() == "b\na\n"


def run(command: str, source: Path, outputs: tuple[str, ...] = ()) -> Any:
    return commands.run_command(command, {"in": fs.file(source)}, outputs, {})


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that counts as large, where the file system has no cheap copies."""
    monkeypatch.setattr(commands, "COPIED_NBYTES", 3)
    monkeypatch.setattr(commands, "_cloned", lambda source, path: False)
    path = tmp_path / "large"
    path.write_text("large\n")
    return path


def test_a_large_input_is_a_link(large: Path) -> None:
    assert run("readlink in", large).strip() == str(large)
    assert large.read_text() == "large\n"


@pytest.mark.parametrize("command", ["echo x >> in", "echo x > in; false"])
def test_a_command_that_writes_to_a_link_fails(command: str, large: Path) -> None:
    with pytest.raises(FileError, match="written to by the command, whose input 'in' is a link"):
        run(command, large)


def test_a_large_input_that_is_an_output_is_a_copy(large: Path) -> None:
    _, left = run("echo x >> in", large, ("in",))
    assert left.read_text() == "large\nx\n"
    assert large.read_text() == "large\n"


def test_what_a_failed_command_printed_is_in_its_error(large: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run("cat in; exit 3", large)
    assert caught.value.__notes__ == ["it printed: large"]


def test_what_a_command_prints_is_not_lost(cluster: fs.Cluster) -> None:
    printing = "printf 'M\\374nchen'"
    assert cluster.command(printing).stdout.result() == "M\\xfcnchen"
    assert cluster.command(printing, text=False).stdout.result() == b"M\xfcnchen"
    failing = cluster.command(f"{printing}; exit 3", text=False)
    with pytest.raises(subprocess.CalledProcessError) as caught:
        failing.stdout.result()
    assert caught.value.stdout == b"M\xfcnchen"
    assert "it printed: M\\xfcnchen" in caught.value.__notes__


def test_scripts_and_programs_may_be_executed(cluster: fs.Cluster, tmp_path: Path) -> None:
    script = tmp_path / "say.sh"
    script.write_text("#!/bin/sh\necho ran $1")
    made = cluster.command("cat say.sh > copy.sh", inputs={"say.sh": script}, outputs=["copy.sh"])
    for given in (fs.file(script), script.read_text(), made.outputs["copy.sh"]):
        done = cluster.command("./say.sh 5", inputs={"say.sh": given})
        assert done.stdout.result() == "ran 5\n"


def test_what_is_wrong_with_a_command_is_named(cluster: fs.Cluster) -> None:
    with pytest.raises(TypeError, match=r"outputs='r.txt': give a list of names"):
        cluster.command("true", outputs="r.txt")
    with pytest.raises(TypeError, match=r"inputs=\['a.txt'\]: give what each name holds"):
        cluster.command("true", inputs=["a.txt"])  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="no attribute 'stderr'; have the shell send it"):
        cluster.command("true").stderr  # noqa: B018
    with pytest.raises(FileError, match="d is a folder, and an output is a file"):
        cluster.command("mkdir d", outputs=["d"]).outputs["d"].result()
    with pytest.raises(FileMissingError, match="nosuchprogram is no program on the PATH"):
        cluster.command(["nosuchprogram"]).stdout.result()

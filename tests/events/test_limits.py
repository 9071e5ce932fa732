"""Times and bounds of runs: what the environment says, what ranks share, and who is silent."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from freestone import _native
from freestone import events as ev
from freestone.errors import ConfigurationError
from tests.events.test_joined import free_address
from tests.mpi import mpiexec

ROOT = Path(__file__).resolve().parents[2]
Process = subprocess.Popen[str]


def add(rank: ev.Rank) -> int:
    rank.fire(ev.SELF, "e", 1)
    return int(rank.wait([(ev.SELF, "e")])[0].data)


def test_a_variable_that_makes_no_sense_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, unit, default, _, _ in _native.events.limit_rows():
        monkeypatch.setenv(variable, "nonsense")
        with pytest.raises(ConfigurationError, match=rf"{variable} is 'nonsense'") as raised:
            ev.run(add, 1, threads=True)
        assert raised.value.key == variable
        monkeypatch.setenv(variable, default)
        assert ev.run(add, 1, threads=True) == [1], unit
        monkeypatch.delenv(variable)


def test_each_run_reads_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for seconds in ("0.5", "0.25"):
        monkeypatch.setenv("FREESTONE_EVENTS_LOSS_INTERVAL_S", seconds)
        assert ev.run(add, 1, threads=True) == [1]
        found.append(_native.events.loss_interval_s())
    assert found == [0.5, 0.25]


PROGRAM = """
import os
from freestone import events as ev

def main(rank):
    rank.fire((rank.id + 1) % rank.size, "e", rank.id)
    return rank.wait([(ev.ANY, "e")])[0].data

try:
    print(ev.run(main))
except BaseException as error:
    # One write: what two ranks print at once would be mixed.
    os.write(1, f"{type(error).__name__} {error}\\n".encode())
"""


def start(folder: Path, rank: int, address: str, source: str, **more: str) -> Process:
    environment = {
        **os.environ,
        "FREESTONE_EVENTS_MEETING": address,
        "FREESTONE_EVENTS_IDENTITY": str(folder / "run.pem"),
        "FREESTONE_EVENTS_RANK": str(rank),
        "FREESTONE_EVENTS_RANKS": "2",
        **more,
    }
    words = [sys.executable, "-c", source]
    return subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [("WINDOW", "1MiB", "4MiB"), ("RANKS", "3", "2")],
)
def test_ranks_that_disagree_over_tcp_name_rank_setting_and_values(
    tmp_path: Path, variable: str, value: str, expected: str
) -> None:
    name = f"FREESTONE_EVENTS_{variable}"
    address = free_address()
    processes = [
        start(tmp_path, 0, address, PROGRAM),
        start(tmp_path, 1, address, PROGRAM, **{name: value}),
    ]
    for process in processes:
        output, _ = process.communicate(timeout=120)
        wanted = f"ConfigurationError rank 1 has {name}={value}, and rank 0 {name}={expected}"
        assert output.startswith(wanted), output


def test_ranks_that_disagree_over_mpi_name_rank_setting_and_values(tmp_path: Path) -> None:
    source = "import os\nif os.environ.get('PMI_RANK') == '1':\n"
    source += "    os.environ['FREESTONE_EVENTS_WINDOW'] = '64KiB'\n" + PROGRAM
    path = tmp_path / "program.py"
    path.write_text(source)
    ended = mpiexec(2, sys.executable, str(path))
    name = "FREESTONE_EVENTS_WINDOW"
    wanted = f"ConfigurationError rank 1 has {name}=64KiB, and rank 0 {name}=4MiB"
    assert ended.stdout.count(wanted) == 2, ended.stdout + ended.stderr


def slow(event: ev.Event) -> None:
    # The report comes while this runs: it ends once that is there.
    while not Path(event.data).read_text():
        time.sleep(0.01)


def begins_a_slow_task(rank: ev.Rank, path: str) -> None:
    rank.submit(slow, on=[(ev.SELF, "path")])
    rank.fire(ev.SELF, "path", path)


def test_a_task_that_does_not_return_is_reported_with_its_line(tmp_path: Path) -> None:
    errors = tmp_path / "errors.txt"
    source = (
        "from tests.events.test_limits import begins_a_slow_task\n"
        "from freestone import events as ev\n"
        f"ev.run(begins_a_slow_task, 1, threads=True, slow_task_s=0.05, args=[{str(errors)!r}])\n"
    )
    with errors.open("w") as stream:
        words = [sys.executable, "-c", source]
        subprocess.run(words, cwd=ROOT, stderr=stream, check=True, timeout=120)
    wanted = (
        r"rank 0: 'slow' \(\S+test_limits.py:\d+\), with 'path' from rank 0, has run for \S+; "
        "its worker runs no other"
    )
    assert len(re.findall(wanted, errors.read_text())) == 1


class Cable:
    """Two machines, as network namespaces, and a cable between them."""

    def __init__(self) -> None:
        self.names = [f"fse{os.getpid()}{end}" for end in "ab"]

    def ip(self, *words: str) -> None:
        subprocess.run(["ip", *words], check=True, timeout=20, capture_output=True)

    def lay(self) -> None:
        """Make both machines."""
        for name in self.names:
            self.ip("netns", "add", name)
        first, second = self.names
        ends = ["type", "veth", "peer", "name", "wire", "netns", second]
        self.ip("-n", first, "link", "add", "wire", *ends)
        for number, name in enumerate(self.names, start=1):
            self.ip("-n", name, "addr", "add", f"10.98.7.{number}/24", "dev", "wire")
            self.ip("-n", name, "link", "set", "lo", "up")
            self.ip("-n", name, "link", "set", "wire", "up")

    def cut(self) -> None:
        """Leave neither machine an answer of the other."""
        for name in self.names:
            self.ip("-n", name, "link", "set", "wire", "down")

    def clear(self) -> None:
        """Take both machines away."""
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, timeout=20)


@pytest.fixture
def cable() -> Iterator[Cable]:
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("network namespaces need root and ip")
    cable = Cable()
    try:
        cable.lay()
        yield cable
    finally:
        cable.clear()


SILENT = """
import sys
from freestone import events as ev

def main(rank):
    rank.fire(1 - rank.id, "e", bytes(int(sys.argv[1])))
    rank.wait([(1 - rank.id, "e")])
    print("ready", flush=True)
    # A rank that is here is not idle: the run is not stuck before the cable is cut.
    sys.stdin.readline()
    if sys.argv[1] != "0":
        # What is sent now is never answered.
        rank.fire(1 - rank.id, "e", bytes(int(sys.argv[1])))
    rank.wait([(ev.ANY, "never")])

try:
    ev.run(main)
except BaseException as error:
    print(type(error).__name__, error, flush=True)
"""


@pytest.mark.parametrize("nbytes", ["0", "1000"], ids=["idle", "sending"])
def test_a_machine_that_falls_silent_is_lost(cable: Cable, tmp_path: Path, nbytes: str) -> None:
    environment = {
        **os.environ,
        "FREESTONE_EVENTS_MEETING": "10.98.7.1:7707",
        "FREESTONE_EVENTS_IDENTITY": str(tmp_path / "run.pem"),
        "FREESTONE_EVENTS_RANKS": "2",
        "FREESTONE_EVENTS_SILENCE_TIMEOUT_S": "2",
    }
    processes = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, sys.executable, "-c", SILENT, nbytes],
            cwd=ROOT,
            env={**environment, "FREESTONE_EVENTS_RANK": str(rank)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank, name in enumerate(cable.names)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        cable.cut()
        for rank, process in enumerate(processes):
            output, _ = process.communicate("go\n", timeout=60)
            assert output.startswith(f"RankLostError rank {1 - rank} is lost"), output
    finally:
        for process in processes:
            process.kill()

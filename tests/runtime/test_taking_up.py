"""A served cluster whose process is killed: the next one goes on, and programs wait for it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone import errors
from tests.runtime.serving import SMALL, Server
from tests.waiting import until


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.run("stop", "lab")


@pytest.fixture
def program(server: Server, tmp_path: Path) -> Iterator[fs.Cluster]:
    with fs.connect("lab", folder=str(tmp_path), reconnect_s=120) as cluster:
        yield cluster


def pids(cluster: fs.Cluster) -> list[int]:
    """Return the processes of the workers."""
    return [worker["pid"] for worker in cluster.client.workers()]


def late(x: int, go: str, ran: str) -> int:
    with open(ran, "a") as file:
        file.write(f"{x}\n")
    while not os.path.exists(go):
        time.sleep(0.005)
    return x * x


def test_a_program_gets_its_results_from_the_next_process(
    server: Server, program: fs.Cluster, tmp_path: Path
) -> None:
    """What is done is not done again, what runs runs twice at most, and what waits is run."""
    go, ran = tmp_path / "go", tmp_path / "ran"
    done = program.map(pow, range(20), [2] * 20)
    assert program.gather(done) == [x * x for x in range(20)]
    array = program.put(np.arange(100_000.0))
    total = program.submit(np.sum, array)
    futures = program.map(late, range(6), [str(go)] * 6, [str(ran)] * 6)
    assert until(lambda: ran.exists() and len(ran.read_text().split()) == 2)
    server.kill()
    # Before anybody serves the cluster again.
    more = program.submit(late, 7, str(go), str(ran))
    server.start()
    go.touch()
    assert program.gather(futures) == [x * x for x in range(6)]
    assert more.result() == 49
    assert total.result() == 4999950000.0
    assert program.gather(done) == [x * x for x in range(20)]
    assert np.array_equal(array.result(), np.arange(100_000.0))
    runs = ran.read_text().split()
    assert sorted(set(runs)) == ["0", "1", "2", "3", "4", "5", "7"]
    assert len(runs) <= 9
    assert program.submit(pow, 2, 10).result() == 1024


def test_all_that_programs_share_is_there_again(
    server: Server, program: fs.Cluster, tmp_path: Path
) -> None:
    program.publish("power", program.submit(pow, 2, 10))
    program.submit(pow, 3, 4).detach()
    program.variable("state").set([1, 2, 3])
    queue = program.queue("numbers")
    for k in range(3):
        queue.put(k)
    counter = program.actor(Counter, restarts=5, checkpoint=1)
    assert [counter.add(k).result() for k in range(4)] == [0, 1, 3, 6]
    with program.lock("mine"):
        server.kill()
        server.start()
        with fs.connect("lab", folder=str(tmp_path)) as other:
            assert other["power"].result() == 1024
            assert other.variable("state").get() == [1, 2, 3]
            assert [other.queue("numbers").get() for _ in range(3)] == [0, 1, 2]
            with pytest.raises(errors.LockTimeoutError), other.lock("mine", timeout_s=0.1):
                pass
    assert counter.add(4).result() == 10
    with fs.connect("lab", folder=str(tmp_path)) as other, other.lock("mine", timeout_s=60):
        assert other.published() == ["power"]


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def add(self, n: int) -> int:
        self.count += n
        return self.count


def test_it_goes_on_time_and_again(server: Server, program: fs.Cluster, tmp_path: Path) -> None:
    """Also while it is about to go on, and with what came between."""
    go = tmp_path / "go"
    futures = program.map(late, range(4), [str(go)] * 4, [str(tmp_path / "ran")] * 4)
    for number in range(3):
        server.kill()
        futures.append(program.submit(late, 10 + number, str(go), str(tmp_path / "ran")))
        server.start()
    go.touch()
    assert program.gather(futures) == [x * x for x in (0, 1, 2, 3, 10, 11, 12)]


def test_its_workers_live_and_are_its_own_again(server: Server, program: fs.Cluster) -> None:
    before = pids(program)
    server.kill()
    server.start()
    assert until(lambda: pids(program) == before)
    os.kill(before[0], signal.SIGKILL)
    assert program.submit(pow, 2, 10).result() == 1024
    assert until(lambda: len(pids(program)) == 1 and pids(program) != before)


def test_results_are_made_again_if_its_workers_died_with_it(
    server: Server, program: fs.Cluster
) -> None:
    made = program.submit(np.arange, 100_000)
    total = program.submit(np.sum, made)
    assert total.result() == 4999950000
    workers = pids(program)
    server.kill()
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    server.start()
    assert np.array_equal(made.result(), np.arange(100_000))
    assert program.submit(np.max, made).result() == 99_999


def test_what_was_cancelled_by_its_tag_stays_so(
    server: Server, program: fs.Cluster, tmp_path: Path
) -> None:
    def wait(number: int) -> int:
        while not (tmp_path / "go").exists():
            time.sleep(0.01)
        return number

    cancelled = program.map(wait, range(5), tag="scan")
    other = program.submit(wait, 5, tag="other")
    assert until(lambda: program.statistics().pending == 6)
    assert server.run("cancel", "--cluster=lab", "scan").stdout.startswith("5 calls had the tag")
    server.kill()
    server.start()
    assert all(isinstance(one.exception(60), errors.TaskCancelledError) for one in cancelled)
    assert program.statistics().pending == 1
    # Tags are known to the next process, too.
    assert server.run("cancel", "--cluster=lab", "other").stdout.startswith("1 calls had the tag")
    assert isinstance(other.exception(60), errors.TaskCancelledError)


def test_what_may_not_run_twice_is_reported(
    server: Server, program: fs.Cluster, tmp_path: Path
) -> None:
    go, ran = tmp_path / "go", tmp_path / "ran"
    call = program.submit(late, 1, str(go), str(ran), pure=False)
    again = program.submit(late, 2, str(go), str(ran), pure=False, retries=1)
    needs = program.submit(pow, call, 2)
    assert until(lambda: ran.exists() and len(ran.read_text().split()) == 2)
    # What lacks an input has not been sent to a worker, however busy that is.
    waits = program.submit(late, again, str(go), str(ran), pure=False)
    server.kill()
    server.start()
    go.touch()
    with pytest.raises(errors.TaskInterruptedError, match=r"'late' was at worker-0.*retries=1"):
        call.result()
    with pytest.raises(errors.TaskInterruptedError):
        needs.result()
    assert (again.result(), waits.result()) == (4, 16)
    assert sorted(ran.read_text().split()) == ["1", "2", "2", "4"]


def test_a_second_process_is_refused(server: Server, program: fs.Cluster, tmp_path: Path) -> None:
    journal = tmp_path / "journals" / "lab"
    other = server.run("serve", "--background", "--name=other", f"--journal={journal}", *SMALL)
    assert other.returncode != 0
    assert f"is in use by process {server.pid}" in other.stderr
    assert program.submit(pow, 2, 10).result() == 1024


def test_a_journal_is_used_up_to_its_damage(
    server: Server, program: fs.Cluster, tmp_path: Path
) -> None:
    program.publish("power", program.submit(pow, 2, 10))
    file = tmp_path / "journals" / "lab" / "journal"
    size = file.stat().st_size
    program.publish("other", program.submit(pow, 2, 11))
    server.kill()
    with open(file, "r+b") as journal:
        journal.seek(size + 9)
        journal.write(b"damage")
    server.start()
    assert f"from byte {size} on it can't be read" in server.log()
    with fs.connect("lab", folder=str(tmp_path)) as other:
        assert other.published() == ["power"]
        assert other["power"].result() == 1024
    # What this program knows is more than the cluster does.
    with pytest.raises(errors.ConnectError):
        program.submit(pow, 2, 12).result()


def test_the_end_in_order_leaves_nothing_and_a_killed_one_is_given_up(
    server: Server, tmp_path: Path
) -> None:
    assert server.run("stop", "lab").returncode == 0
    journal = tmp_path / "journals" / "lab" / "journal"
    assert not journal.parent.exists()
    server.start()
    server.kill(signal.SIGTERM)
    assert "'freestone serve --name lab' goes on with it" in server.run("list").stdout
    assert journal.exists()
    assert server.run("stop", "lab").returncode == 0
    assert not journal.parent.exists()
    assert "no cluster is served" in server.run("list").stdout


def test_the_next_process_begins_with_the_state_of_a_compacted_journal(
    server: Server, program: fs.Cluster, tmp_path: Path
) -> None:
    journal = tmp_path / "journals" / "lab" / "journal"
    program.publish("power", program.submit(pow, 2, 10))
    counter = program.actor(Counter, restarts=5, checkpoint=1)
    kept, sizes = [], [0]
    while journal.stat().st_size >= sizes[-1]:
        sizes.append(journal.stat().st_size)
        texts = [f"{len(sizes)} {k} {'x' * 6000}" for k in range(5000)]
        futures = program.map(len, texts)
        assert program.gather(futures) == [len(text) for text in texts]
        kept.append((futures[-1], len(texts[-1])))
        assert counter.add(1).result() == len(kept)
    assert sizes[-1] > 100_000_000
    server.kill()
    server.start()
    assert [future.result() for future, _ in kept] == [size for _, size in kept]
    assert counter.add(1).result() == len(kept) + 1
    with fs.connect("lab", folder=str(tmp_path)) as other:
        assert other["power"].result() == 1024
    assert program.submit(pow, 3, 4).result() == 81


def test_programs_elsewhere_reconnect_where_it_was(tmp_path: Path) -> None:
    server = Server(tmp_path, "--listen=tcp://127.0.0.1:0")
    go, ran = tmp_path / "go", tmp_path / "ran"
    with fs.connect("lab", folder=str(tmp_path)) as near:
        access = near.access
    with fs.connect(access, folder=str(tmp_path / "elsewhere"), reconnect_s=120) as program:
        futures = program.map(late, range(4), [str(go)] * 4, [str(ran)] * 4)
        assert until(ran.exists)
        server.kill()
        server.start()
        go.touch()
        assert program.gather(futures) == [0, 1, 4, 9]
    server.run("stop", "lab")


def test_who_was_shut_out_stays_out(tmp_path: Path) -> None:
    server = Server(tmp_path, "--listen=tcp://127.0.0.1:0")
    files = {member: tmp_path / f"{member}.json" for member in ("alice", "bob")}
    for member, file in files.items():
        done = server.run("access", "grant", member, str(file), "--cluster=lab")
        assert done.returncode == 0, done.stderr
    assert server.run("access", "revoke", "alice", "--cluster=lab").returncode == 0
    server.kill()
    server.start()
    assert server.run("access", "list", "--cluster=lab").stdout == "bob\n"
    with pytest.raises(errors.ConnectError, match="access was revoked"):
        fs.connect(files["alice"], folder=str(tmp_path / "alice"))
    with fs.connect(files["bob"], folder=str(tmp_path / "bob")) as bob:
        assert bob.submit(pow, 2, 10).result(60) == 1024
    server.run("access", "grant", "carol", str(tmp_path / "carol.json"), "--cluster=lab")
    with fs.connect(tmp_path / "carol.json", folder=str(tmp_path / "carol")) as carol:
        assert carol.submit(pow, 2, 11).result(60) == 2048
    server.run("stop", "lab")

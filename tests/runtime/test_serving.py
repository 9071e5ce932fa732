"""A cluster that several programs use: what each has, what they share, and what it leaves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone import errors
from tests.runtime.serving import Program
from tests.waiting import until


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[fs.Cluster]:
    """A cluster with one worker of two executors, that others find as ``lab``."""
    with fs.Cluster(
        executors=2, memory="128MiB", disk="256MiB", folder=str(folder), listen="tcp://127.0.0.1:0"
    ) as cluster:
        cluster.share("lab")
        yield cluster


@pytest.fixture
def connected(served: fs.Cluster, folder: Path) -> Iterator[fs.Cluster]:
    with fs.connect("lab", folder=str(folder)) as cluster:
        yield cluster


def add(x: int, y: int) -> int:
    return x + y


def test_programs_get_shares_that_are_alike(folder: Path, tmp_path: Path) -> None:
    """Neither how many calls one has submitted nor their priority holds up the other."""
    go = tmp_path / "go"

    def nap() -> float:
        while not go.exists():
            time.sleep(0.001)
        time.sleep(0.002)
        return time.monotonic()

    with fs.Cluster(executors=1, memory="32MiB", disk="32MiB", folder=str(folder)) as cluster:
        cluster.share("fair")
        with fs.connect("fair", folder=str(folder)) as late:
            many = [cluster.submit(nap, pure=False, priority=9) for _ in range(400)]
            cluster.statistics()
            few = [late.submit(nap, pure=False) for _ in range(5)]
            # Answered after the submissions: by then the manager has them all.
            late.statistics()
            go.touch()
            last = max(late.gather(few))
            assert sum(ended < last for ended in cluster.gather(many)) < 300


def test_a_program_that_submits_without_end_is_refused(folder: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"

    def wait() -> int:
        while not go.exists():
            time.sleep(0.001)
        return 1

    sizes = {"memory": "32MiB", "disk": "32MiB"}
    with fs.Cluster(executors=1, **sizes, folder=str(folder), max_calls=20) as cluster:
        cluster.share("bounded")
        with fs.connect("bounded", folder=str(folder)) as floods:
            futures = [floods.submit(wait, pure=False) for _ in range(50)]
            with pytest.raises(errors.TooManyCallsError, match="has 20 calls that have not ended"):
                futures[-1].result()
            own = cluster.map(add, range(50), range(50))
            go.touch()
            assert [future.result() for future in futures[:20]] == [1] * 20
            assert all(
                isinstance(future.exception(), errors.TooManyCallsError) for future in futures[20:]
            )
            assert floods.submit(add, 1, 2).result() == 3
            assert cluster.gather(own) == [2 * number for number in range(50)]


def test_calls_of_a_task_are_its_programs(folder: Path, tmp_path: Path) -> None:
    """What tasks submit comes before its like in its program, and holds up no other program."""
    submitted, go = tmp_path / "submitted", tmp_path / "go"

    def nap(place: int) -> float:
        while not go.exists():
            time.sleep(0.001)
        time.sleep(0.002)
        return time.monotonic()

    def fan_out() -> list[float]:
        calls = [fs.current().submit(nap, place, pure=False) for place in range(200)]
        submitted.touch()
        return [call.result() for call in calls]

    with fs.Cluster(executors=1, memory="32MiB", disk="32MiB", folder=str(folder)) as cluster:
        cluster.share("nested")
        with fs.connect("nested", folder=str(folder)) as late:
            outer = cluster.submit(fan_out, pure=False)
            assert until(submitted.exists)
            call = late.submit(nap, -1, pure=False)
            late.statistics()
            go.touch()
            times = outer.result()
            assert sum(call.result() < other for other in times) > 100


def test_a_connected_cluster_is_like_any_other(connected: fs.Cluster) -> None:
    assert connected.submit(add, 1, 2).result() == 3
    assert connected.gather(connected.map(add, range(1000), range(1000))) == list(range(0, 2000, 2))
    block = connected.put(np.arange(100_000))
    assert connected.submit(np.sum, block).result() == 4999950000
    np.testing.assert_array_equal(block.result(), np.arange(100_000))
    total = fs.reduce(add, [connected.put(k) for k in range(10)], commutes=True)
    assert total.result() == 45
    assert len(list(fs.as_completed(connected.map(abs, range(20))))) == 20
    assert connected.slots == 2
    assert "done" in str(connected.explain(total))
    assert fs.current() is connected


def test_a_failure_is_the_programs_own(connected: fs.Cluster, served: fs.Cluster) -> None:
    failed = connected.submit(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError) as caught:
        failed.result()
    assert "remote traceback" in caught.value.__notes__[1]
    assert served.submit(add, 5, 5).result() == 10


def test_what_one_has_computed_answers_another(
    connected: fs.Cluster, served: fs.Cluster, folder: Path
) -> None:
    def marked(path: str) -> int:
        with open(path, "a") as file:
            file.write("ran\n")
        return 7

    path = str(folder / "ran")
    first = connected.submit(marked, path)
    assert first.result() == 7
    with fs.connect("lab", folder=str(folder)) as other:
        second = other.submit(marked, path)
        assert second.result() == 7
        assert second.name == first.name
    assert Path(path).read_text() == "ran\n"


def test_numbers_of_two_programs_do_not_collide(
    connected: fs.Cluster, served: fs.Cluster, folder: Path
) -> None:
    with fs.connect("lab", folder=str(folder)) as other:
        clusters = [connected, other, served]
        doubled = [cluster.submit(lambda x, k=k: x * k, 10) for k, cluster in enumerate(clusters)]
        again = [cluster.submit(lambda x, k=k: x + k, 10) for k, cluster in enumerate(clusters)]
        assert [future.result() for future in doubled] == [0, 10, 20]
        assert [future.result() for future in again] == [10, 11, 12]


def test_blocks_are_published_found_and_withdrawn(
    connected: fs.Cluster, served: fs.Cluster
) -> None:
    values = connected.put(np.arange(50_000))
    connected.publish("values", values)
    connected.publish("values", values)
    small = connected.submit(add, 20, 3)
    with pytest.raises(errors.NameTakenError, match="'values'"):
        connected.publish("values", small)
    connected.publish("values", small, replace=True)
    assert served["values"].result() == 23
    assert served.published() == ["values"]
    with pytest.raises(errors.NotPublishedError, match=r"did you mean 'values'|there is values"):
        served["valeus"]
    served.unpublish("values")
    assert connected.published() == []
    with pytest.raises(KeyError):
        served.unpublish("values")


def test_what_is_published_outlives_its_program(served: fs.Cluster, folder: Path) -> None:
    program = Program(PUBLISHING, folder)
    assert program.read() == "published"
    program.kill()
    assert until(lambda: served.client.manager.clients == 0)
    assert served["kept"].result().sum() == 499500
    assert served["small"].result() == 12
    served.unpublish("kept")
    served.unpublish("small")
    assert until(lambda: served.statistics().blocks == 0)


PUBLISHING = """
import numpy as np, freestone as fs, time
cluster = fs.connect("lab")
cluster.publish("kept", cluster.put(np.arange(1000)))
cluster.publish("small", cluster.submit(lambda: 12))
other = cluster.put(np.arange(60_000))
mapped = other.result()
print("published", flush=True)
time.sleep(600)
"""


def test_a_program_that_dies_leaves_nothing_else(served: fs.Cluster, folder: Path) -> None:
    gate = folder / "gate"
    program = Program(DYING.format(gate=str(gate)), folder)
    assert program.read() == "submitted"
    assert until(lambda: (folder / "gate-detached").exists())
    before = served.statistics()
    assert before.pending >= 2
    program.kill()
    # Of what it had made only the detached call runs on, and its result stays.
    assert until(lambda: served.statistics().pending == 1)
    assert served.statistics().failed - before.failed == 21
    gate.touch()
    assert until(lambda: served.statistics().pending == 0)
    assert not (folder / "gate-after").exists()


DYING = """
import freestone as fs, os, time
from pathlib import Path

def wait(gate, mark):
    Path(gate + mark).touch()
    while not os.path.exists(gate):
        time.sleep(0.01)
    return 5

cluster = fs.connect("lab")
detached = cluster.submit(wait, {gate!r}, "-detached").detach()
running = cluster.submit(wait, {gate!r}, "-running")
queued = cluster.map(lambda k, gate: Path(gate + "-after").touch(), range(19), [{gate!r}] * 19)
after = cluster.submit(lambda x: x, running)
cluster.who_has([])
print("submitted", flush=True)
time.sleep(600)
"""


def test_a_call_is_detached_when_detach_returns(served: fs.Cluster, folder: Path) -> None:
    program = Program(DETACHING.format(made=str(folder / "made")), folder)
    assert program.wait() == -signal.SIGKILL
    assert until(lambda: (folder / "made").exists())
    assert until(lambda: served.statistics().pending == 0)


DETACHING = """
import freestone as fs, os, signal
from pathlib import Path

fs.connect("lab").submit(lambda path: Path(path).touch(), {made!r}).detach()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_one_programs_cancellation_spares_anothers_call(
    connected: fs.Cluster, served: fs.Cluster, folder: Path
) -> None:
    gate = str(folder / "shared-gate")

    def opened(path: str) -> int:
        import time

        while not os.path.exists(path):
            time.sleep(0.005)
        return 9

    with fs.connect("lab", folder=str(folder)) as other:
        ours, theirs = connected.submit(opened, gate), other.submit(opened, gate)
        assert ours.name == theirs.name
        dependent = connected.submit(add, ours, 1)
        assert ours.cancel()
        assert ours.cancelled()
        assert dependent.cancelled()
        assert theirs.status == "pending"
        Path(gate).touch()
        assert theirs.result() == 9
    alone = connected.submit(opened, gate + "-never")
    assert alone.cancel()
    assert until(lambda: served.statistics().pending == 0)


def test_programs_of_other_machines_join_over_tls(served: fs.Cluster) -> None:
    assert served.address.startswith("tcp://127.0.0.1:")
    with fs.connect(served.address, access=served.access) as cluster:
        assert cluster.submit(add, 40, 2).result() == 42


def test_a_program_elsewhere_has_a_worker_of_its_own(served: fs.Cluster, folder: Path) -> None:
    """As on another machine: what it puts and what it gets passes through that worker."""
    before = len(served.statistics().workers)
    values = np.arange(100_000)
    with fs.connect(
        served.address, access=served.access, memory="32MiB", disk="32MiB", folder=str(folder)
    ) as cluster:
        assert cluster.client.manager.home != served.client.manager.home
        assert len(served.statistics().workers) == before + 1
        put = cluster.put(values)
        doubled = cluster.submit(np.multiply, put, 2)
        np.testing.assert_array_equal(doubled.result(), values * 2)
        np.testing.assert_array_equal(put.result(), values)
        cluster.publish("handed over", put)
        del put, doubled
    # Its worker is gone, and has handed over what was published.
    assert until(lambda: len(served.statistics().workers) == before)
    np.testing.assert_array_equal(served["handed over"].result(), values)
    served.unpublish("handed over")


def test_the_path_of_the_access_file_is_enough(served: fs.Cluster) -> None:
    with fs.connect(served.access) as cluster:
        assert cluster.submit(add, 40, 3).result() == 43


def test_a_wrong_key_is_refused(served: fs.Cluster, tmp_path: Path) -> None:
    known = json.loads(Path(served.access).read_text())
    wrong = tmp_path / "access.json"
    wrong.touch(0o600)
    wrong.write_text(json.dumps(known | {"key": "0" * 32}))
    with pytest.raises(errors.ConnectError, match="its key is not that of this cluster"):
        fs.connect(wrong)


def test_another_version_of_the_protocol_is_refused(served: fs.Cluster) -> None:
    """The first message of a client in each version begins with 9 and the version's number."""
    key = json.loads(Path(served.access).read_text())["key"].encode()
    greeting = bytes([9, 99, len(key)]) + key
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(f"{served.folder}/manager.sock")
        client.sendall(len(greeting).to_bytes(4, "little") + greeting)
        answer = b"".join(iter(lambda: client.recv(4096), b""))
    assert b"it speaks version 99 of the protocol, and this side speaks" in answer
    assert b"install the same freestone on both sides" in answer


def test_a_program_sees_the_page_of_the_cluster(
    connected: fs.Cluster, served: fs.Cluster, tmp_path: Path
) -> None:
    link = connected.dashboard_link
    assert link is not None
    assert link == served.dashboard_link
    assert link in repr(connected)
    assert connected.submit(add, 6, 7, name="seen on the page").result() == 13
    with urllib.request.urlopen(f"{link}data/summary") as answer:
        assert "seen on the page" in answer.read().decode()
    copied = shutil.copy(served.access, tmp_path)
    with fs.connect(served.address, access=copied) as elsewhere:
        assert elsewhere.dashboard_link is None


def test_a_program_that_is_killed_and_started_again_gets_its_results(
    served: fs.Cluster, folder: Path
) -> None:
    gate = folder / "restarted-gate"
    program = Program(RESTARTED.format(gate=str(gate)), folder)
    assert program.read() == "began"
    program.kill()
    again = Program(RESTARTED.format(gate=str(gate)), folder)
    assert again.read() == "found"
    gate.touch()
    assert again.read() == "42"
    assert again.wait() == 0
    # It ran once, and went on while no program was there.
    assert Path(f"{gate}-ran").read_text() == "ran\n"
    served.unpublish("long")


RESTARTED = """
import freestone as fs, os, time

def slow(gate):
    with open(gate + "-ran", "a") as file:
        file.write("ran\\n")
    while not os.path.exists(gate):
        time.sleep(0.01)
    return 42

with fs.connect("lab") as cluster:
    if "long" in cluster.published():
        print("found", flush=True)
        print(cluster["long"].result(), flush=True)
    else:
        cluster.publish("long", cluster.submit(slow, {gate!r}))
        while not os.path.exists({gate!r} + "-ran"):
            time.sleep(0.01)
        print("began", flush=True)
        time.sleep(600)
"""


def test_a_name_belongs_to_one_cluster(served: fs.Cluster, folder: Path) -> None:
    with fs.Cluster(executors=1, memory="32MiB", disk="32MiB", folder=str(folder)) as second:
        with pytest.raises(errors.NameTakenError, match="'lab'"):
            second.share("lab")
        with pytest.raises(errors.UsageError, match="can't be the name"):
            second.share("../lab")
    with pytest.raises(errors.UsageError, match="shared as 'lab' already"):
        served.share("other")


def test_a_cluster_that_is_not_there_is_an_error(folder: Path) -> None:
    with pytest.raises(errors.ConnectError, match="no running cluster is 'nowhere'"):
        fs.connect("nowhere", folder=str(folder))
    with pytest.raises(errors.ConnectError, match="takes access="):
        fs.connect("tcp://127.0.0.1:9", folder=str(folder))


def test_the_end_of_a_cluster_ends_its_programs_futures(folder: Path) -> None:
    with fs.Cluster(executors=1, memory="32MiB", disk="32MiB", folder=str(folder)) as cluster:
        connected = fs.connect(cluster.access)
        future = connected.submit(time.sleep, 600)
    with pytest.raises(errors.ClosedError):
        future.result()
    assert until(lambda: connected.closed)
    with pytest.raises(errors.ClosedError, match="submit a call"):
        connected.submit(add, 1, 1)
    connected.close()


def test_what_belongs_to_the_server_is_refused(connected: fs.Cluster) -> None:
    with pytest.raises(errors.UsageError, match="another process serves the cluster 'lab'"):
        connected.resize(2)
    with pytest.raises(errors.UsageError, match="freestone retire worker-0"):
        connected.retire(0)
    with pytest.raises(errors.UsageError, match="freestone access grant"):
        connected.grant_access("alice", "alice.json")
    with pytest.raises(errors.UsageError, match="freestone access revoke"):
        connected.revoke_access("alice")
    with pytest.raises(errors.UsageError, match="freestone access list"):
        connected.granted_access()
    with pytest.raises(errors.UsageError, match="freestone stop lab"):
        connected.stop()


def test_results_are_kept_for_ever_in_the_folder_of_the_cluster(
    folder: Path, tmp_path: Path
) -> None:
    def nested() -> int:
        cluster = fs.current()
        return sum(cluster.submit(list, range(2000), keep="forever").result())

    cache = tmp_path / "cache"
    for ran in (3, 0):
        with fs.Cluster(
            executors=1, memory="64MiB", folder=str(folder), cache=str(cache)
        ) as cluster:
            cluster.share("keeping")
            with fs.connect("keeping", folder=str(folder)) as program:
                kept = program.submit(list, range(1000), keep="forever")
                assert kept.result() == list(range(1000))
                assert program.submit(nested, keep="forever").result() == sum(range(2000))
            assert cluster.statistics().done == ran


def test_what_can_not_be_published_is_refused(connected: fs.Cluster) -> None:
    with pytest.raises(TypeError, match=r"takes a future, not 5 \(int\); cluster.put"):
        connected.publish("five", 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the name of a block is text, not 7"):
        connected.publish(7, connected.put(5))  # type: ignore[arg-type]


def test_a_forked_child_has_no_part_in_it(served: fs.Cluster, folder: Path) -> None:
    program = Program(FORKING, folder)
    child, state = program.read().split()
    try:
        assert state == "closed"
        assert program.read() == "14"
        program.kill()
        # The child, which lives on, does not hold the connection.
        assert until(lambda: served.client.manager.clients == 0)
    finally:
        os.kill(int(child), signal.SIGKILL)


FORKING = """
import freestone as fs, os, time, warnings
warnings.simplefilter("ignore")
cluster = fs.connect("lab")
reading, writing = os.pipe()
if os.fork() == 0:
    closed = cluster.closed and fs.current() is None
    print(os.getpid(), "closed" if closed else "open", flush=True)
    os.write(writing, b"x")
    time.sleep(600)
os.read(reading, 1)
print(cluster.submit(int.__add__, 7, 7).result(), flush=True)
time.sleep(600)
"""

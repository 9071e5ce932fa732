"""Actors: order, results, errors, restarts, and how they end."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone import errors
from freestone.client import actors, nested
from freestone.client.actors import Actor
from tests.runtime.serving import Program
from tests.waiting import until


class Counter:
    step = 1

    def __init__(self, value: int = 0, ended: str | None = None) -> None:
        self.value = value
        self.ended = ended
        self.seen: list[int] = []

    def add(self, number: int = 1) -> int:
        self.value += number
        self.seen.append(number)
        return self.value

    def history(self) -> list[int]:
        return list(self.seen)

    def process(self) -> int:
        return os.getpid()

    def array(self, count: int) -> np.ndarray:
        return np.full(count, float(self.value))

    def total(self, values: list[np.ndarray]) -> float:
        return float(sum(np.sum(value) for value in values))

    def fail(self) -> None:
        self.value += 100
        raise ZeroDivisionError("no")

    def die(self, mark: str) -> int:
        if not os.path.exists(mark):
            Path(mark).touch()
            os._exit(9)
        return self.value

    def unsendable(self) -> object:
        return (one for one in "ab")

    async def later(self) -> int:
        await asyncio.sleep(0)
        return self.value

    def nested(self, number: int) -> int:
        here = fs.current()
        assert here is not None
        return here.submit(pow, 2, number).result()

    def gate(self, name: str) -> None:
        here = fs.current()
        assert here is not None
        here.variable(name).get()

    def close(self) -> None:
        if self.ended is not None:
            Path(self.ended).touch()


@pytest.fixture
def counter(cluster: fs.Cluster) -> Iterator[Actor[Counter]]:
    actor = cluster.actor(Counter, 5)
    yield actor
    actor.close(now=True)


def test_calls_are_done_in_order_by_one_object(counter: Actor[Counter]) -> None:
    futures = [counter.add(k) for k in range(200)]
    assert [future.result() for future in futures] == [5 + k * (k + 1) // 2 for k in range(200)]
    assert counter.history().result() == list(range(200))
    assert counter.process().result() == counter.process().result() != os.getpid()


def test_results_and_arguments_are_futures_like_any(
    cluster: fs.Cluster, counter: Actor[Counter]
) -> None:
    large = counter.array(200_000)
    doubled = cluster.submit(lambda array: 2 * array, large)
    assert counter.total([large, doubled, np.ones(100_000)]).result() == 3 * 10**6 + 10**5
    assert cluster.submit(pow, counter.add(number=cluster.submit(pow, 2, 3)), 2).result() == 169
    assert cluster.actor(Counter, cluster.submit(pow, 2, 4)).add().result() == 17


def test_what_a_method_raises_is_its_futures(counter: Actor[Counter]) -> None:
    with pytest.raises(ZeroDivisionError, match="no") as caught:
        counter.fail().result()
    assert "raised by task 'Counter.fail' on worker-" in "".join(caught.value.__notes__)
    assert counter.later().result() == 105
    with pytest.raises(errors.NotSerializableError, match="generator"):
        counter.unsendable().result()
    with pytest.raises(TypeError, match="positional argument"):
        counter.add(1, 2).result()
    assert counter.nested(5).result() == 32


def test_calls_whose_arguments_fail_or_that_are_cancelled_are_left_out(
    cluster: fs.Cluster, counter: Actor[Counter]
) -> None:
    gate = cluster.variable("actors gate")
    counter.gate("actors gate")
    failed = counter.add(cluster.submit(divmod, 1, 0))
    cancelled = counter.add(1000)
    assert cancelled.cancel()
    last = counter.add(2)
    gate.set(1)
    assert last.result() == 7
    with pytest.raises(ZeroDivisionError):
        failed.result()
    gate.delete()


def test_a_handle_has_the_methods_of_its_class(counter: Actor[Counter]) -> None:
    assert {"add", "later", "close"} <= set(dir(counter))
    assert "step" not in dir(counter)
    with pytest.raises(AttributeError, match=r"no method 'ad'.*did you mean 'add'"):
        counter.ad(1)
    with pytest.raises(AttributeError, match=r"'value'.*in its own process"):
        print(counter.value)
    with pytest.raises(AttributeError, match=r"'value' .* can't be set from here"):
        counter.value = 7
    assert repr(counter.add) == "<method 'add' of <actor 'Counter'>>"
    assert pickle.loads(pickle.dumps(counter)).name == "Counter"


def test_idle_actors_take_nothing(cluster: fs.Cluster) -> None:
    actors = [cluster.actor(Counter, k) for k in range(4)]
    assert [actor.add().result() for actor in actors] == [1, 2, 3, 4]
    whole = {"cores": 2}
    assert cluster.submit(pow, 2, 10, resources=whole, pure=False).result() == 1024


def test_tasks_call_it_as_the_program_does(cluster: fs.Cluster, counter: Actor[Counter]) -> None:
    def add(actor: Actor[Counter], number: int) -> int:
        return actor.add(number).result()

    futures = [cluster.submit(add, counter, k, pure=False) for k in range(4)]
    assert max(cluster.gather(futures)) == 11


def test_an_actor_that_cannot_be_made_fails_its_calls(cluster: fs.Cluster) -> None:
    actor = cluster.actor(Counter, 1, 2, 3)
    with pytest.raises(TypeError, match="positional arguments"):
        actor.add().result()
    with pytest.raises(TypeError, match="made from a class"):
        cluster.actor(Counter())  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="a function is called by submit"):
        cluster.actor(len)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="restarts=-1"):
        cluster.actor(Counter, restarts=-1)
    with pytest.raises(ValueError, match="without restarts="):
        cluster.actor(Counter, checkpoint=3)


def test_it_ends_when_it_is_closed(cluster: fs.Cluster, tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    actor = cluster.actor(Counter, ended=str(ended))
    before = actor.add()
    actor.close()
    assert before.result() == 1
    assert ended.exists()
    with pytest.raises(errors.ActorEndedError, match=r"'Counter' has ended: it was closed"):
        actor.add().result()


def test_it_ends_with_its_handle(cluster: fs.Cluster, tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    future = cluster.actor(Counter, 6, str(ended)).add()
    gc.collect()
    assert future.result() == 7
    assert until(ended.exists)


def test_a_name_finds_it_anywhere(cluster: fs.Cluster, served: fs.Cluster) -> None:
    actor = cluster.actor(Counter, 3, name="shared counter")
    assert served.actor("shared counter").add().result() == 4
    found = cluster.submit(
        lambda: fs.current().actor("shared counter").add().result(),  # type: ignore[union-attr]
        pure=False,
    )
    assert found.result() == 5
    with pytest.raises(errors.NameTakenError, match="another actor has the name"):
        cluster.actor(Counter, name="shared counter")
    actor.close()
    with pytest.raises(errors.ActorMissingError, match="no actor is called 'shared counter'"):
        cluster.actor("shared counter")
    cluster.actor(Counter, name="shared counter").close()


def test_whoever_has_an_actor_ends_it_at_once(cluster: fs.Cluster, served: fs.Cluster) -> None:
    def ends(actor: Actor[Counter]) -> None:
        actor.close(now=True)

    gate = cluster.variable("a gate that opens for nobody")
    for name in (None, "busy"):
        for how in ("its program", "a task", "the program that opened the cluster"):
            actor = cluster.actor(Counter, name=name)
            actor.add().result()
            running, waiting = actor.gate(gate.name), actor.add()
            if how == "a task":
                cluster.submit(ends, actor, pure=False).result()
            elif how == "its program" or name is None:
                actor.close(now=True)
            else:
                served.actor(name).close(now=True)
            for future in (running, waiting):
                with pytest.raises(errors.TaskCancelledError):
                    future.result()
            with pytest.raises(errors.ActorEndedError, match=r"close\(now=True\)"):
                actor.add().result()
            assert until(lambda: served.statistics().assigned == 0)
            if name is not None:
                with pytest.raises(errors.ActorMissingError):
                    cluster.actor(name)
    gate.delete()


class Marked(Counter):
    def __init__(self, mark: str) -> None:
        super().__init__()
        Path(mark).touch()


def test_an_actor_whose_name_is_taken_is_not_made(
    cluster: fs.Cluster, served: fs.Cluster, tmp_path: Path
) -> None:
    actor = cluster.actor(Counter, 3, name="taken")
    assert actor.add().result() == 4
    with pytest.raises(errors.NameTakenError, match=r"use it, cluster\.actor\('taken'\)"):
        cluster.actor(Marked, str(tmp_path / "mark"), name="taken")
    assert served.statistics().assigned == 1
    assert actor.add().result() == 5
    actor.close()
    assert not (tmp_path / "mark").exists()


def test_of_two_programs_that_take_a_name_at_once_one_has_its_actor_ended(
    cluster: fs.Cluster, served: fs.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    actor = cluster.actor(Counter, 3, name="contended")
    assert actor.add().result() == 4
    monkeypatch.setattr(actors, "_free_version", lambda client, name: 0)
    with pytest.raises(errors.NameTakenError, match="another actor has the name"):
        cluster.actor(Marked, str(tmp_path / "mark"), name="contended")
    assert until(lambda: served.statistics().assigned == 1)
    assert actor.add().result() == 5
    actor.close()


MAKES = """
import freestone as fs
from tests.runtime.shared.test_actors import Counter
cluster = fs.connect("lab")
kept = cluster.actor(Counter, 1, name="kept")
lost = cluster.actor(Counter, 1)
print(kept.add().result(), lost.process().result(), flush=True)
input()
"""


@pytest.mark.parametrize("how", ["ends", "dies"])
def test_an_actor_ends_with_its_program_unless_it_has_a_name(
    served: fs.Cluster, folder: Path, how: str
) -> None:
    program = Program(MAKES, folder)
    two, process = program.read().split()
    assert two == "2"
    if how == "ends":
        program.write("")
        program.wait()
    else:
        program.kill()
    assert until(lambda: not Path(f"/proc/{process}").exists())
    kept = served.actor("kept")
    assert kept.add().result() == 3
    kept.close()


def test_a_lost_actor_fails_its_calls(cluster: fs.Cluster, tmp_path: Path) -> None:
    actor = cluster.actor(Counter)
    assert actor.add().result() == 1
    for future in (actor.die(str(tmp_path / "died")), actor.add()):
        with pytest.raises(errors.ActorEndedError, match=r"was lost once, and restarts=0"):
            future.result()


def test_an_actor_is_made_anew(cluster: fs.Cluster, tmp_path: Path) -> None:
    actor = cluster.actor(Counter, 10, restarts=4)
    for k in range(4):
        assert actor.add().result() == (11 if k == 0 else 13)
        # It begins with its class, and goes on with what has no result.
        futures = [actor.die(str(tmp_path / str(k))), actor.add(2)]
        assert [future.result() for future in futures] == [10, 12]


def test_an_actor_goes_on_from_its_checkpoint(cluster: fs.Cluster, tmp_path: Path) -> None:
    actor = cluster.actor(Counter, restarts=1, checkpoint=3)
    futures = [actor.add(k) for k in range(8)]
    died = actor.die(str(tmp_path / "died"))
    futures += [actor.add(k) for k in range(8, 12)]
    assert died.result() == 28
    assert [future.result() for future in futures] == [k * (k + 1) // 2 for k in range(12)]
    assert actor.history().result() == list(range(12))


class Locked(Counter):
    def __init__(self) -> None:
        super().__init__()
        self.parts = {"lock": threading.Lock()}


def test_a_checkpoint_that_cannot_be_saved_says_what_is_in_its_way(cluster: fs.Cluster) -> None:
    actor = cluster.actor(Locked, restarts=1, checkpoint=2)
    assert [actor.add().result() for _ in range(2)] == [1, 2]
    with pytest.raises(
        errors.NotSerializableError,
        match=r"the checkpoint of 'Locked' can't be saved: Locked.parts\['lock'\] is of type "
        r"_thread.lock: .*; leave it out in a method __getstate__ .* without checkpoint=",
    ):
        actor.add().result()


def test_an_actor_leaves_a_worker_that_retires() -> None:
    with fs.Cluster(workers=2, executors=1, memory="64MiB", disk="64MiB") as cluster:
        actor = cluster.actor(Counter, 5)
        assert actor.add().result() == 6
        before = actor.process().result()
        [there] = [one for one in cluster.statistics().workers if one.assigned]
        cluster.client.manager.retire([int(there.worker.removeprefix("worker-"))])
        assert until(lambda: actor.process().result() != before)
        assert actor.add().result() == 7


def test_an_actor_outlives_its_worker() -> None:
    with fs.Cluster(workers=2, executors=1, memory="64MiB", disk="64MiB") as cluster:
        actor = cluster.actor(Counter, restarts=1, checkpoint=1)
        assert [actor.add().result() for _ in range(3)] == [1, 2, 3]
        [there] = [one for one in cluster.statistics().workers if one.assigned]
        os.kill(there.pid, 9)
        assert actor.add().result() == 4


class Large(Counter):
    """A counter whose state is no value that the manager keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.ballast = bytearray(1_000_000)


def test_a_large_state_outlives_the_worker_that_has_just_saved_it() -> None:
    with fs.Cluster(workers=3, executors=1, memory="64MiB", disk="64MiB") as cluster:
        actor = cluster.actor(Large, restarts=3, checkpoint=2)
        for count in range(0, 12, 4):
            assert [actor.add().result() for _ in range(4)] == list(range(count + 1, count + 5))
            [there] = [one for one in cluster.statistics().workers if one.assigned]
            os.kill(there.pid, 9)
        assert actor.add().result() == 13


def test_an_executor_knows_of_its_lost_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    monkeypatch.setenv("FREESTONE__EXECUTOR_SOCKET", str(ours.fileno()))
    with ours:
        assert nested.has_worker(0.0)
        assert nested.has_worker(0.01)
        theirs.send(b"a call")
        assert nested.has_worker(0.0)
        threading.Timer(0.05, theirs.close).start()
        assert not nested.has_worker(10.0)
        assert not nested.has_worker(0.0)

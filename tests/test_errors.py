from __future__ import annotations

import concurrent.futures
import pickle
import signal
from collections.abc import Iterator

import pytest

from freestone import errors
from freestone.errors import FreestoneError
from freestone.errors.explanations import EXPLANATIONS

EXAMPLES: list[FreestoneError] = [
    errors.ConfigurationError("unknown setting 'worker'", key="worker", origin="keyword"),
    errors.PluginError(
        group="freestone.formats",
        entry_point="rows",
        value="rows:FORMAT",
        distribution="rows 1.0",
        reason="can't be imported: no module; mend or uninstall it",
    ),
    errors.NotAssociativeError(label="total", how="f(a, f(b, c))"),
    errors.MissingKeyError(key="x", needed_by=("y", 0)),
    errors.CycleError(["a", "b", "c"]),
    errors.ForeignFutureError(label="mass", name="0123456789abcdef" * 2),
    errors.ClosedError("submit"),
    errors.NotSerializableError(
        what="argument", where="args[0]['lock']", kind="_thread.lock", label="mass"
    ),
    errors.MessageTooLargeError(part="function", label="mass", nbytes=2**30, limit=2**26),
    errors.MessageTooLargeError(part="arguments", label="mass", nbytes=2**30, limit=2**26),
    errors.MessageTooLargeError(part="result", label="mass", nbytes=2**30, limit=2**26),
    errors.BlockingError("points", "labels", ours="8 blocks", theirs="9 blocks"),
    errors.BlockShapeError("points", 7, wanted="of 10 rows", found="of 9 rows"),
    errors.BlockTypeError("points", 7, wanted="an array of numbers", found="of type str"),
    errors.DroppedError("points", "split it"),
    errors.ColumnClashError("select", reason="'x' is there twice"),
    errors.ColumnTypeError("filter", reason="cannot compare string with numeric type"),
    errors.ExplodingJoinError(left_rows=9**7, right_rows=9**7, rows=9**13, nbytes=16 * 9**13),
    errors.MissingColumnError("join", reason='unable to find column "kye"', columns=["key"]),
    errors.EmptyCollectionError("points", "split"),
    errors.QueryError("select n from t", reason="Catalog Error: no table t"),
    errors.ConnectError(cluster="analysis", reason="nobody answers"),
    errors.NameTakenError(what="cluster", name="analysis"),
    errors.NotPublishedError(name="hits", published=("hist",)),
    errors.SharedKindError(name="db", wanted="a lock", found="a semaphore of 4"),
    errors.LockHeldError(name="db"),
    errors.LockTimeoutError(name="db", timeout_s=2.0, holders=["a program"]),
    errors.SharedTimeoutError(name="q", wanted="an item of the queue 'q'", timeout_s=2.0),
    errors.QueueClosedError(name="q"),
    errors.ActorEndedError(name="Counter", reason="it was closed"),
    errors.ActorMissingError(name="counter"),
    errors.StreamRestartedError(label="parts", taken=3),
    errors.LockLostError(name="db", reason="the connection was lost"),
    errors.WaitTimeoutError(timeout_s=1.5),
    errors.WorkersMissingError(wanted=5, there=3, timeout_s=60.0),
    errors.TaskRaisedError(label="mass", kind="uproot.DeserializationError", text="bad basket"),
    errors.TaskExitedError(label="mass", status=2, worker="worker-1"),
    errors.TaskExitedError(label="mass", status=None),
    errors.TaskKilledError(label="mass", attempts=3, signal=9, worker="worker-1"),
    errors.TaskTimeoutError(label="mass", timeout_s=0.25, attempts=2, worker="worker-0"),
    errors.MemoryExceededError(label="mass", limit=2**30, worker="worker-0"),
    errors.DiskExceededError(label="mass", limit=2**30, worker="worker-0"),
    errors.TaskCancelledError(label="mass"),
    errors.TaskInterruptedError(label="mass", worker="worker-1"),
    errors.TaskInterruptedError(label="mass", worker=None),
    errors.UnschedulableError(
        label="mass", needs={"cores": 4, "memory": 2**33}, largest={"cores": 2, "memory": 2**34}
    ),
    errors.WorkerAbsentError(
        label="mass", absent="worker-7", gone_s=2.5, present=["worker-0", "worker-8"]
    ),
    errors.InputLostError(label="mass", name="0123456789abcdef" * 2),
    errors.InputLostError(label="", name="0123456789abcdef" * 2),
    errors.InputLostError(label="mass", name="0123456789abcdef" * 2, attempts=21),
    errors.InputUnknownError(label="mass", name="0123456789abcdef" * 2),
    errors.TooManyCallsError(limit=5_000_000),
    errors.FunctionLoadError(label="mass", module="uproot", reason="is missing", worker="worker-0"),
    errors.StorageFullError(needed=3 * 2**30, free=2**20, folder="/dev/shm/freestone"),
    errors.FileMissingError("data/z.root"),
    errors.FileUnreadableError("data/z.root"),
    errors.FileChangedError("data/z.root", "its size was 10 bytes and is 12"),
    errors.SchemaError(
        "b.csv",
        "a.csv",
        "column 'x' is text here, and int64 there; convert one of them",
        column="x",
    ),
    errors.FormatError("m.csv", "row 7, column 3: 'a' is not a number; see what wrote it", row=7),
    errors.ClusterStartError("no executor answered within 30 s", log="ImportError: numpy"),
    errors.EngineMissingError(engine="Ray", missing="no module 'ray'", cure="pip install ray"),
    errors.JoinError(manager="tcp://n1:4000", reason="connection refused"),
    errors.WorkerLostError(worker="worker-1", reason="its process ended by SIGKILL"),
    errors.RankFailedError("'total' of rank 1 raised Odd: 7 (it can't be sent)", rank=1),
    errors.RankLostError("rank 1 is lost: its process exited with 3; see stderr", rank=1),
    errors.RunStuckError("the run is stuck; fire what is waited for", report="rank 0: nothing"),
    errors.RunOverError("the run is over; submit, fire and wait before the program ends"),
    errors.BadEventError("there is no rank 2; the run has 2, from 0 to 1"),
    errors.TaskRemovedError("the task late() was removed before it ran; submit it again to run it"),
    errors.EventTooLargeError(
        "the event 'e' has 8192 bytes, and at most 4096 can be sent; fire it in parts",
        nbytes=8192,
        limit=4096,
    ),
    errors.InTaskError("drain was called inside of a task; only the program can wait for all"),
    errors.EventTimeoutError("after 1s there was still no 'e' from any rank; is it fired?"),
    errors.LockNotHeldError("lock 'a' is not held by this task; unlock what was locked, once"),
    errors.ScriptSyntaxError(
        "expected ';' at the end of a statement, found '}'; s.daph:1:2",
        problem="expected ';'",
        line=1,
    ),
    errors.ScriptCompileError(
        "@ needs as many columns as rows; s.daph:1:2", problem="shapes differ", line=1
    ),
    errors.ScriptValueError("negative powers of integers; convert them", problem="negative powers"),
    errors.ScriptStoppedError(
        "system stopped: no input; s.daph:1:2", problem="system stopped", line=1
    ),
    errors.TransportError("rank 1 sent 7 bytes of no meaning; do all ranks run this version?"),
    errors.SamplesMissingError(
        file="uproot-Zmumu.root", package="scikit-hep-testdata==0.3.12", problem="is not installed"
    ),
    errors.PackagesMissingError(["uproot", "scipy"]),
    errors.IrreproducibleError([30, 31]),
    errors.NoSpawnError("no process can be started: not under mpiexec; start it by mpiexec -n 2"),
    errors.NoThreadsError("this MPI has thread level 2; ask for MPI_THREAD_MULTIPLE"),
    errors.SavedStateError("state is damaged at its end; remove it to begin anew", path="state"),
    errors.RegistrationError("'x' is of 3 rows on rank 0 and of 4 on rank 1; give one", name="x"),
    errors.CheckpointSkippedError("ranks are at steps 3 to 5; end each loop alike", steps=(3, 5)),
    errors.ResizeTimeoutError("no answer of rank 1 in 60 s; is it alive?", timeout_s=60.0),
    errors.JoiningError("world.comm is used by a joining rank; put it under 'if not ...'"),
    errors.SpawnFailedError("2 processes were refused (no such host); the job goes on with 4"),
]


def leaves(kind: type[FreestoneError]) -> Iterator[type[FreestoneError]]:
    below = kind.__subclasses__()
    for sub in below:
        yield from leaves(sub)
    if not below:
        yield kind


def everything(kind: type[FreestoneError]) -> Iterator[type[FreestoneError]]:
    yield kind
    for sub in kind.__subclasses__():
        yield from everything(sub)


def test_every_leaf_has_an_example() -> None:
    assert {type(error) for error in EXAMPLES} == set(leaves(FreestoneError))


def test_every_error_that_is_raised_is_explained() -> None:
    known = {kind.slug for kind in everything(FreestoneError)}
    assert {kind.slug for kind in leaves(FreestoneError)} <= set(EXPLANATIONS) <= known
    assert list(EXPLANATIONS) == sorted(EXPLANATIONS)
    assert all(text for pair in EXPLANATIONS.values() for text in pair)


def test_slugs_are_unique_and_never_change() -> None:
    slugs = sorted(kind.slug for kind in everything(FreestoneError))
    known = (
        "actor-ended actor-missing "
        "bad-event block-shape block-type blocking checkpoint-skipped closed cluster "
        "cluster-start collection column-clash column-type configuration connect cycle demo "
        "disk-exceeded dropped empty-collection engine-missing error event-timeout "
        "event-too-large events "
        "exploding-join file "
        "file-changed file-missing file-unreadable foreign-future format function-load in-task "
        "input-lost input-unknown irreproducible join joining lock-held lock-lost lock-not-held "
        "lock-timeout malleable memory-exceeded message-too-large missing-column missing-key "
        "name-taken no-spawn no-threads not-associative not-published not-serializable "
        "packages-missing plugin query queue-closed rank-failed rank-lost registration "
        "resize-timeout run-over run-stuck samples-missing saved-state "
        "schema script script-compile script-run script-stopped "
        "script-syntax script-value shared-kind shared-timeout spawn-failed storage-full "
        "stream-restarted table task task-cancelled "
        "task-exited task-interrupted task-killed task-raised task-removed task-timeout "
        "too-many-calls transport unschedulable usage wait-timeout "
        "worker-absent worker-lost workers-missing"
    )
    assert " ".join(slugs) == known


def test_the_tree_of_the_docstring_is_the_tree() -> None:
    for kind in everything(FreestoneError):
        assert kind.__name__ in (errors.__doc__ or "")
        assert kind.__name__ in errors.__all__
        assert kind.__module__ == "freestone.errors"
    assert errors.__all__ == sorted(errors.__all__)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: error.slug)
def test_a_message_says_what_happened_and_what_to_do(error: FreestoneError) -> None:
    text = str(error)
    assert len(text) > 30
    assert ";" in text or "(" in text
    assert "None" not in text
    assert not text.endswith(".")
    assert "[Errno" not in text


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: error.slug)
@pytest.mark.parametrize("protocol", [2, 5])
def test_pickling_keeps_type_message_fields_and_notes(error: FreestoneError, protocol: int) -> None:
    error.add_note("a note")
    copy = pickle.loads(pickle.dumps(error, protocol=protocol))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__
    assert getattr(copy, "errno", None) == getattr(error, "errno", None)
    assert copy.__notes__[-1] == "a note"


@pytest.mark.parametrize(
    ("slug", "builtin"),
    [
        ("configuration", ValueError),
        ("cycle", ValueError),
        ("foreign-future", ValueError),
        ("closed", RuntimeError),
        ("not-serializable", TypeError),
        ("blocking", ValueError),
        ("block-shape", ValueError),
        ("block-type", TypeError),
        ("dropped", RuntimeError),
        ("empty-collection", ValueError),
        ("wait-timeout", TimeoutError),
        ("task-timeout", TimeoutError),
        ("task-cancelled", concurrent.futures.CancelledError),
        ("function-load", ImportError),
        ("storage-full", OSError),
        ("file-missing", FileNotFoundError),
        ("file-unreadable", PermissionError),
        ("samples-missing", FileNotFoundError),
        ("packages-missing", ImportError),
        ("irreproducible", RuntimeError),
    ],
)
def test_leaves_are_also_the_built_in_that_fits(slug: str, builtin: type[BaseException]) -> None:
    (error,) = [error for error in EXAMPLES if error.slug == slug]
    assert isinstance(error, builtin)


def test_messages_name_values_with_units() -> None:
    full = next(error for error in EXAMPLES if error.slug == "storage-full")
    assert "room for 1 MiB, and 3 GiB are needed" in str(full)
    asks = next(error for error in EXAMPLES if error.slug == "unschedulable")
    assert "needs 4 cores on one worker, and each has at most 2 cores" in str(asks)
    killed = next(error for error in EXAMPLES if error.slug == "task-killed")
    assert "3 times, last by signal SIGKILL on worker-1; most likely memory ran out" in str(killed)


def test_unschedulable_by_the_sum_says_so() -> None:
    error = errors.UnschedulableError(label="f", needs={"cores": 2}, largest={"cores": 2})
    assert "none has all of that at once" in str(error)


@pytest.mark.parametrize(("signal", "status"), [(11, None), (None, 3), (None, None), (200, None)])
def test_every_kind_of_death_is_reported(signal: int | None, status: int | None) -> None:
    error = errors.TaskKilledError(label="f", attempts=1, signal=signal, status=status)
    assert "once" in str(error)
    assert (error.signal, error.status) == (signal, status)


def test_a_signal_that_somebody_sends_is_no_crash() -> None:
    crash = errors.TaskKilledError(label="f", attempts=1, signal=signal.SIGSEGV)
    assert "a library crashed" in str(crash)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        sent = errors.TaskKilledError(label="f", attempts=1, signal=number)
        assert "somebody has sent it" in str(sent)


def test_attach_remote_adds_notes() -> None:
    error = ValueError("x")
    same = errors.attach_remote(error, "Traceback:\n  line\n", "mass", 1, 2)
    assert same is error
    assert error.__notes__ == [
        "raised by task 'mass' on worker-1, attempt 2",
        "remote traceback:\n  Traceback:\n    line",
    ]


def test_did_you_mean() -> None:
    assert errors.did_you_mean("worker", ["workers", "memory"]) == "; did you mean 'workers'?"
    assert errors.did_you_mean("zzz", ["memory"]) == ""


def test_a_changed_file_is_read_again_as_it_was_read_first() -> None:
    assert "freestone.file() or freestone.read() again" in str(errors.FileChangedError("x.csv"))

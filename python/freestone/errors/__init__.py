"""What can go wrong, from broad to narrow.

    FreestoneError
    ├── UsageError                          what was asked for can't be done
    │   ├── ConfigurationError (ValueError)     a setting is unknown or has a wrong value
    │   ├── PluginError (ImportError)           what another package offers can't be used
    │   ├── CycleError (ValueError)             tasks that wait for each other
    │   ├── MissingKeyError (KeyError)          a key that is not in the graph
    │   ├── NotAssociativeError (ValueError)    a reducer whose grouping matters
    │   ├── ForeignFutureError (ValueError)     a future of another cluster
    │   ├── ClosedError (RuntimeError)          the cluster was closed
    │   ├── NotSerializableError (TypeError)    a value or function can't be sent
    │   ├── MessageTooLargeError (ValueError)   more than a message can carry
    │   ├── NameTakenError (ValueError)         a name belongs to another cluster or block
    │   ├── NotPublishedError (KeyError)        no block is published under a name
    │   ├── ActorMissingError (KeyError)        no actor has a name
    │   ├── SharedKindError (ValueError)        a name stands for another kind of shared state
    │   ├── LockHeldError (RuntimeError)        a thread asks for a lock that it has
    │   └── CollectionError                     something is wrong with a collection
    │       ├── BlockingError (ValueError)          two that are cut into blocks differently
    │       ├── BlockShapeError (ValueError)        a block is not of the shape that was said
    │       ├── BlockTypeError (TypeError)          a block of a type that it can't hold
    │       ├── DroppedError (RuntimeError)         it was dropped before
    │       ├── EmptyCollectionError (ValueError)   it has no blocks
    │       └── TableError                          a step can't be done to such columns
    │           ├── ColumnClashError (ValueError)       two would have the same name
    │           ├── ColumnTypeError (TypeError)         not to a column of this type
    │           ├── ExplodingJoinError (ValueError)     it would make too many rows
    │           ├── MissingColumnError (KeyError)       there is no such column
    │           └── QueryError (ValueError)             a query in SQL is wrong
    ├── WaitTimeoutError (TimeoutError)     the wait ended before the task did
    ├── LockTimeoutError (TimeoutError)     others had a lock for all the time
    ├── SharedTimeoutError (TimeoutError)   a queue or variable had nothing for all the time
    ├── QueueClosedError (EOFError)         a queue has come to its end
    ├── ActorEndedError (RuntimeError)      an actor has ended, or was lost
    ├── StreamRestartedError (RuntimeError) a generator ran again, and gives other elements
    ├── WorkersMissingError (TimeoutError)  fewer had joined than were waited for
    ├── TaskError                           a task failed for good
    │   ├── TaskRaisedError (RuntimeError)      it raised what can't be raised again here
    │   ├── TaskExitedError (RuntimeError)      it ended by sys.exit()
    │   ├── TaskKilledError                     it killed its executors
    │   ├── TaskInterruptedError                it may have run when the cluster was killed
    │   ├── TaskTimeoutError (TimeoutError)     it ran for longer than it may
    │   ├── MemoryExceededError (MemoryError)   it took more memory than it may
    │   ├── DiskExceededError (OSError)         its files took more of the disk than they may
    │   ├── TaskCancelledError (CancelledError) it was cancelled
    │   ├── TooManyCallsError (RuntimeError)    its program has as many as it may
    │   ├── UnschedulableError                  no worker can ever give what it asks for
    │   ├── WorkerAbsentError (LookupError)     the only worker it may run on is not there
    │   ├── InputLostError                      an input is gone and nothing makes it again
    │   ├── InputUnknownError (LookupError)     an input that the cluster never had
    │   └── FunctionLoadError (ImportError)     the worker can't load its function
    ├── StorageFullError (OSError)          no room in memory or on disk
    ├── FileError (OSError)                 a file of the user's
    │   ├── FileMissingError (FileNotFoundError)
    │   ├── FileUnreadableError (PermissionError)
    │   ├── FileChangedError                    not what it was when it was named
    │   ├── FormatError (ValueError)            not what its format says
    │   └── SchemaError (ValueError)            not like another one that is read with it
    ├── ClusterError                        the machinery itself
    │   ├── ClusterStartError (RuntimeError)
    │   ├── EngineMissingError (ImportError)    the engine of a host is not installed
    │   ├── JoinError (ConnectionError)         a worker can't join, or lost its manager
    │   ├── ConnectError (ConnectionError)      a program can't use a cluster, or lost it
    │   ├── LockLostError (ConnectionError)     a lock went to others too early
    │   └── WorkerLostError (ConnectionError)
    ├── EventsError                         ranks and their events
    │   ├── RankFailedError (RuntimeError)      a task raised what can't be raised again here
    │   ├── RankLostError (ConnectionError)     a rank ended before the run did
    │   ├── RunStuckError (RuntimeError)        tasks wait for events that nobody will fire
    │   ├── RunOverError (RuntimeError)         the run is over
    │   ├── BadEventError (ValueError)          no such rank, or too long an identifier
    │   ├── TaskRemovedError (CancelledError)   a task was removed before it ran
    │   ├── EventTooLargeError (ValueError)     more bytes than can be sent
    │   ├── InTaskError (RuntimeError)          only the program itself can do this
    │   ├── EventTimeoutError (TimeoutError)    no event, or no room for one, in time
    │   ├── LockNotHeldError (RuntimeError)     a task lets go of a lock that it does not have
    │   └── TransportError (OSError)            events can't be sent or received
    ├── MalleableError                      jobs that change their number of processes
    │   ├── NoSpawnError (RuntimeError)         no process can be started in mid-run
    │   ├── NoThreadsError (RuntimeError)       this MPI is not for several threads
    │   ├── RegistrationError (ValueError)      data is registered differently on two ranks
    │   ├── SavedStateError (ValueError)        a job's saved state is damaged
    │   ├── CheckpointSkippedError (RuntimeError)  a rank has skipped the head of a step
    │   ├── ResizeTimeoutError (TimeoutError)   other ranks did not answer in time
    │   ├── JoiningError (RuntimeError)         a joining rank can't take part in this yet
    │   └── SpawnFailedError (RuntimeError)     new processes were refused, or ended early
    ├── ScriptError                         a script in DaphneDSL, or lazy arrays
    │   ├── ScriptSyntaxError (ValueError)      it can't be read, or a name is not known
    │   ├── ScriptCompileError (TypeError)      types or shapes do not fit
    │   └── ScriptRunError (RuntimeError)       it failed while it ran
    │       ├── ScriptValueError (ValueError)       NumPy's error of lazy arrays
    │       └── ScriptStoppedError                  it called stop()
    └── DemoError                           the main job, `freestone demo`
        ├── SamplesMissingError (FileNotFoundError)  the measured events are not installed
        ├── PackagesMissingError (ImportError)  packages that only it needs are not installed
        └── IrreproducibleError (RuntimeError)  the same analysis gave another histogram

Each has a ``slug`` that never changes, typed fields, and a message that says what happened, with
which values and units, and what to try. All can be pickled, fields and notes included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from freestone.errors.base import (
    FreestoneError,
    attach_remote,
    did_you_mean,
)
from freestone.errors.collection import (
    BlockingError,
    BlockShapeError,
    BlockTypeError,
    CollectionError,
    ColumnClashError,
    ColumnTypeError,
    DroppedError,
    EmptyCollectionError,
    ExplodingJoinError,
    MissingColumnError,
    QueryError,
    TableError,
)
from freestone.errors.data import (
    ClusterError,
    ClusterStartError,
    EngineMissingError,
    FileChangedError,
    FileError,
    FileMissingError,
    FileUnreadableError,
    FormatError,
    JoinError,
    SchemaError,
    StorageFullError,
    WorkerLostError,
)
from freestone.errors.demo import (
    DemoError,
    IrreproducibleError,
    PackagesMissingError,
    SamplesMissingError,
)
from freestone.errors.events import (
    BadEventError,
    EventsError,
    EventsLeftWarning,
    EventTimeoutError,
    EventTooLargeError,
    InTaskError,
    LockNotHeldError,
    RankFailedError,
    RankLostError,
    RunOverError,
    RunStuckError,
    TaskRemovedError,
    TransportError,
)
from freestone.errors.lang import (
    ScriptCompileError,
    ScriptError,
    ScriptRunError,
    ScriptStoppedError,
    ScriptSyntaxError,
    ScriptValueError,
)
from freestone.errors.malleable import (
    CheckpointSkippedError,
    JoiningError,
    MalleableError,
    NoSpawnError,
    NoThreadsError,
    RegistrationError,
    ResizeTimeoutError,
    SavedStateError,
    SpawnFailedError,
)
from freestone.errors.service import ConnectError, NameTakenError, NotPublishedError
from freestone.errors.shared import (
    ActorEndedError,
    ActorMissingError,
    LockHeldError,
    LockLostError,
    LockTimeoutError,
    QueueClosedError,
    SharedKindError,
    SharedTimeoutError,
    StreamRestartedError,
)
from freestone.errors.usage import (
    ClosedError,
    ConfigurationError,
    CycleError,
    ForeignFutureError,
    MessageTooLargeError,
    MissingKeyError,
    NotAssociativeError,
    NotSerializableError,
    PluginError,
    UsageError,
    WaitTimeoutError,
    WorkersMissingError,
)

if TYPE_CHECKING:
    from freestone.errors.task import (
        DiskExceededError,
        FunctionLoadError,
        InputLostError,
        InputUnknownError,
        MemoryExceededError,
        TaskCancelledError,
        TaskError,
        TaskExitedError,
        TaskInterruptedError,
        TaskKilledError,
        TaskRaisedError,
        TaskTimeoutError,
        TooManyCallsError,
        UnschedulableError,
        WorkerAbsentError,
    )

__all__ = [
    "ActorEndedError",
    "ActorMissingError",
    "BadEventError",
    "BlockShapeError",
    "BlockTypeError",
    "BlockingError",
    "CheckpointSkippedError",
    "ClosedError",
    "ClusterError",
    "ClusterStartError",
    "CollectionError",
    "ColumnClashError",
    "ColumnTypeError",
    "ConfigurationError",
    "ConnectError",
    "CycleError",
    "DemoError",
    "DiskExceededError",
    "DroppedError",
    "EmptyCollectionError",
    "EngineMissingError",
    "EventTimeoutError",
    "EventTooLargeError",
    "EventsError",
    "EventsLeftWarning",
    "ExplodingJoinError",
    "FileChangedError",
    "FileError",
    "FileMissingError",
    "FileUnreadableError",
    "ForeignFutureError",
    "FormatError",
    "FreestoneError",
    "FunctionLoadError",
    "InTaskError",
    "InputLostError",
    "InputUnknownError",
    "IrreproducibleError",
    "JoinError",
    "JoiningError",
    "LockHeldError",
    "LockLostError",
    "LockNotHeldError",
    "LockTimeoutError",
    "MalleableError",
    "MemoryExceededError",
    "MessageTooLargeError",
    "MissingColumnError",
    "MissingKeyError",
    "NameTakenError",
    "NoSpawnError",
    "NoThreadsError",
    "NotAssociativeError",
    "NotPublishedError",
    "NotSerializableError",
    "PackagesMissingError",
    "PluginError",
    "QueryError",
    "QueueClosedError",
    "RankFailedError",
    "RankLostError",
    "RegistrationError",
    "ResizeTimeoutError",
    "RunOverError",
    "RunStuckError",
    "SamplesMissingError",
    "SavedStateError",
    "SchemaError",
    "ScriptCompileError",
    "ScriptError",
    "ScriptRunError",
    "ScriptStoppedError",
    "ScriptSyntaxError",
    "ScriptValueError",
    "SharedKindError",
    "SharedTimeoutError",
    "SpawnFailedError",
    "StorageFullError",
    "StreamRestartedError",
    "TableError",
    "TaskCancelledError",
    "TaskError",
    "TaskExitedError",
    "TaskInterruptedError",
    "TaskKilledError",
    "TaskRaisedError",
    "TaskRemovedError",
    "TaskTimeoutError",
    "TooManyCallsError",
    "TransportError",
    "UnschedulableError",
    "UsageError",
    "WaitTimeoutError",
    "WorkerAbsentError",
    "WorkerLostError",
    "WorkersMissingError",
    "attach_remote",
    "did_you_mean",
]

_OF_TASKS = [name for name in __all__ if name not in globals()]
for _name in __all__:
    if isinstance(globals().get(_name), type):
        globals()[_name].__module__ = __name__


def __getattr__(name: str) -> Any:
    # One of the errors of tasks is one of concurrent.futures too, which takes as long to load as
    # much of what a command line needs: so they are loaded when one of them is asked for.
    if name not in _OF_TASKS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from freestone.errors import task

    for each in _OF_TASKS:
        globals()[each] = found = getattr(task, each)
        found.__module__ = __name__
    return globals()[name]

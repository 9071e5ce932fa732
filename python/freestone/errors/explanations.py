"""Why each error happens, and what to do, for `freestone explain` and the page of all messages."""

from __future__ import annotations

__all__ = ["EXPLANATIONS"]

EXPLANATIONS: dict[str, tuple[str, str]] = {
    "actor-ended": (
        "The actor was closed, or its worker was lost.",
        "Make another with cluster.actor(); with restarts= a lost one is made anew.",
    ),
    "actor-missing": (
        "No actor has this name now: it was never made, has ended, or lives in another cluster.",
        "Make it with cluster.actor(Class, ..., name=...) before others ask for it.",
    ),
    "bad-event": (
        "A rank fired at a number that the run does not have, or with too long an identifier.",
        "Use ranks from 0 to one less than their number, and short identifiers.",
    ),
    "block-shape": (
        "A function returned a block whose rows, columns or dtype are not what was announced.",
        "Return what fits, or state shape= and dtype= as they are.",
    ),
    "block-type": (
        "An Array got a block that is no array of numbers.",
        "Convert the block, or keep any values in a freestone.Bag.",
    ),
    "blocking": (
        "Two collections are combined block by block, and are cut at different rows.",
        "Cut one as the other: a.rechunk(b.offsets).",
    ),
    "checkpoint-skipped": (
        "A rank left the loop, or skipped world.checkpoint() in a step that others took.",
        "Let every rank take every step, and reach the checkpoint at the head of each.",
    ),
    "closed": (
        "The with block has ended, freestone stop was called, or the connection was closed.",
        "Ask for results inside of the with block; keep='forever' keeps them beyond it.",
    ),
    "cluster-start": (
        "No worker or executor came up: an import failed, memory ran out, or a folder is not "
        "writable. The message ends with what the workers printed last.",
        "Run freestone doctor, which tries each thing that a cluster needs.",
    ),
    "column-clash": (
        "A step would make two columns of one name, most often after a join.",
        "Rename one by .alias(), or give suffix=.",
    ),
    "column-type": (
        "An operation does not exist for the type of this column, such as a sum of text.",
        "Cast the column first, or name another.",
    ),
    "configuration": (
        "A setting is misspelt, or its value is of the wrong form. The end of the message says "
        "where it was given: a keyword, an option, an environment variable or a file.",
        "Correct it there; freestone info lists all settings with their values and origins.",
    ),
    "connect": (
        "No cluster of this name is served here, its process ended, or the access file is wrong.",
        "See freestone list; start one with freestone serve --name NAME.",
    ),
    "cycle": (
        "Each of these tasks waits for the next one, and the last for the first.",
        "Take one dependency away; the message lists the tasks in order.",
    ),
    "disk-exceeded": (
        "The call's temporary files outgrew the disk that it asked for.",
        "Ask for more with resources={'disk': ...}, or remove files during the call.",
    ),
    "dropped": (
        "drop() gave up the blocks, and then the collection was used.",
        "Call drop() last, or make the collection again.",
    ),
    "empty-collection": (
        "A collection without blocks has nothing that could be cut or reduced.",
        "Leave it out; if it should have data, look at the pattern or filter that made it.",
    ),
    "engine-missing": (
        "The engine's package is not installed, or its commands are not on the path.",
        "Install what the message names, for instance freestone[hosts].",
    ),
    "event-timeout": (
        "Nobody fired the event in time, or a receiver is too slow to make room.",
        "See that some rank fires it under the same identifier; give more time if it is only late.",
    ),
    "event-too-large": (
        "An event has more bytes than the machine has memory, or FREESTONE_EVENTS_EVENT_MAX says.",
        "Fire it in parts, fire the name of a file, or raise the setting on all ranks.",
    ),
    "exploding-join": (
        "Many rows of both tables share a key, so that the join pairs each with each.",
        "Join by more columns, group one side first, or drop rows whose key is missing.",
    ),
    "file-changed": (
        "A file has another size or time than when it was named; mixing both would be wrong.",
        "Call freestone.file() or freestone.read() again, after the writer has ended.",
    ),
    "file-missing": (
        "The path is wrong, or is seen from another folder or machine than you expect.",
        "Check it where the workers run; absolute paths on a shared file system are safest.",
    ),
    "file-unreadable": (
        "The user who runs the workers may not read the file, or not enter one of its folders.",
        "Change the permissions, or copy the file.",
    ),
    "foreign-future": (
        "A future of one cluster was given to another, which does not have its block.",
        "Pass its result() instead, or submit where the block is.",
    ),
    "format": (
        "The file is damaged, cut short, or of another format than its name says.",
        "Look at the row, column or offset in the message; format= overrules the name.",
    ),
    "function-load": (
        "The worker lacks a module that the function imports, or has another version of it.",
        "Install it there, cluster.upload() it, or use an environment for the call.",
    ),
    "in-task": (
        "A task asked for what would wait for itself, such as the end of all tasks.",
        "Ask in the program's main part; in a task, submit another task that waits for events.",
    ),
    "input-lost": (
        "The last worker with the block is gone, and no task makes it, since it was put.",
        "Put it again; data that a task reads or computes are made again by themselves.",
    ),
    "input-unknown": (
        "The block was released before the task came, since its future was no longer referenced.",
        "Keep the future until then, or give its task keep='session'.",
    ),
    "irreproducible": (
        "The same analysis of the same files gave another histogram, which must not happen.",
        "Run it again with --keep-files, and report it with the trace.",
    ),
    "join": (
        "The manager does not answer at this address, or does not accept the access file.",
        "Check that the cluster runs, its address, the firewall, and that the file is its own.",
    ),
    "joining": (
        "A joining rank has no data yet, and others are in the loop already.",
        "Put what only first ranks do under 'if not world.is_joining'.",
    ),
    "lock-held": (
        "A thread that holds the lock entered it again; the lock is not reentrant.",
        "Leave it first, or split off the part that needs no lock.",
    ),
    "lock-lost": (
        "The connection to the manager broke, and the lock went to who waited for it.",
        "Check what was done under the lock; take it again before you go on.",
    ),
    "lock-not-held": (
        "A task unlocks what it has not locked, or unlocks it twice.",
        "Unlock once what was locked, in the same task.",
    ),
    "lock-timeout": (
        "Others held the lock for as long as was waited.",
        "Hold it for less, or give a longer timeout_s. The message says who held it.",
    ),
    "memory-exceeded": (
        "The call took more memory than it had asked for, and was ended to protect others.",
        "Ask for more with resources={'memory': ...}, let category= learn it, or cut the data.",
    ),
    "message-too-large": (
        "A function captures large values, or arguments and results are many or large.",
        "cluster.put() large values and pass the futures.",
    ),
    "missing-column": (
        "No column has this name; names are case-sensitive.",
        "Take one of those that the message lists.",
    ),
    "missing-key": (
        "The graph lacks a key that was asked for, or that one of its tasks needs.",
        "Look for a typing error, or for an optimisation that removed a layer.",
    ),
    "name-taken": (
        "A running cluster, a published block or an actor has this name.",
        "Choose another, or end the one that has it: freestone stop NAME. An actor that has it is "
        "cluster.actor(NAME).",
    ),
    "no-spawn": (
        "The program was not started by an MPI that can start processes during the run.",
        "Start it with mpiexec -n N, and see that the machine has room for more processes.",
    ),
    "no-threads": (
        "MPI was initialised for one thread only.",
        "Let freestone initialise it, or ask for MPI_THREAD_MULTIPLE.",
    ),
    "not-associative": (
        "A reducer was declared associative, and a probe with three values shows that it is not.",
        "Take the declaration back, give combine=, or run with tree=False.",
    ),
    "not-published": (
        "Nothing was published under this name, or it was unpublished.",
        "Publish it with cluster.publish(); the message lists the names that there are.",
    ),
    "not-serializable": (
        "Locks, sockets, open files, generators and the like live in one process only.",
        "Pass what it is made from (a path, an address), and make it inside of the function.",
    ),
    "packages-missing": (
        "The demo needs packages that freestone itself does not.",
        "python -m pip install 'freestone[demo]'",
    ),
    "plugin": (
        "A package offers an extension that can't be imported, or is not of the right form.",
        "Mend, update or uninstall the package that the message names.",
    ),
    "query": (
        "DuckDB refuses the SQL, or a table of the query was not given.",
        "Give each table by keyword: freestone.sql('select ... from t', t=frame).",
    ),
    "queue-closed": (
        "The queue was closed or deleted, and is empty.",
        "End the loop there; 'for item in queue' does so by itself.",
    ),
    "rank-failed": (
        "A task of a rank raised an error that can't be sent, so that its text stands for it.",
        "Read the text and the rank's output; import the error's module in the program, too.",
    ),
    "rank-lost": (
        "The process of a rank was killed or exited: often memory ran out.",
        "See its output and the kernel's log; run fewer ranks for each machine.",
    ),
    "registration": (
        "Ranks registered the same data with other sizes, types or names.",
        "Register the same on all ranks, in the same order.",
    ),
    "resize-timeout": (
        "A rank did not reach its checkpoint in time: it is slow, waits, or has ended.",
        "See that every rank reaches the checkpoint; raise timeout_s for long steps.",
    ),
    "run-over": (
        "A rank went on to submit or fire after all ranks were idle and the run had ended.",
        "Submit and fire before the program's main part ends.",
    ),
    "run-stuck": (
        "Tasks wait for events, every rank is idle, and no event is on its way.",
        "The report names each task and what it waits for: fire that, or take the wait away.",
    ),
    "samples-missing": (
        "The files with the measured events come in a package of their own.",
        "python -m pip install 'freestone[demo]'",
    ),
    "saved-state": (
        "The file was not written by world.save(), or was damaged or cut short.",
        "Use an earlier state, or remove the file to begin anew.",
    ),
    "schema": (
        "Files that are read as one have other columns, or other types of a column.",
        "Convert one of them, or read the columns that they share: columns=.",
    ),
    "script-compile": (
        "The shapes or types in the script do not fit each other.",
        "Look at the line and column in the message, and give each operand the shape it needs.",
    ),
    "script-run": (
        "An operation of the script failed: a file, a division, a wrong index.",
        "Look at the line and column in the message.",
    ),
    "script-stopped": (
        "The script itself called stop() with this text.",
        "Give it what it asks for.",
    ),
    "script-syntax": (
        "The script is not DaphneDSL: a missing semicolon or brace, or an unknown name.",
        "Look at the line and column in the message.",
    ),
    "script-value": (
        "NumPy has no result of these values, as of an integer to a negative power.",
        "Convert the values as the message says, or choose them by a mask before.",
    ),
    "shared-kind": (
        "One name is used as a lock here and as a queue, variable or semaphore there.",
        "Give each its own name, and a semaphore the same number everywhere.",
    ),
    "shared-timeout": (
        "Nobody put an item, took one, or set the variable in time.",
        "See that the other side runs; give a longer timeout_s.",
    ),
    "spawn-failed": (
        "The system or MPI refused new processes, or they ended before they had joined.",
        "The job goes on as it was; look at the reason, at limits and at free cores.",
    ),
    "storage-full": (
        "Kept blocks and running calls fill memory and disk, or a file that is written does.",
        "Release futures, keep less, cut blocks smaller, or give memory= and disk= more; for a "
        "file free space on its disk, or write elsewhere.",
    ),
    "stream-restarted": (
        "A generator's worker was lost, and its second run does not give the same elements.",
        "Declare pure=True if it does give the same; otherwise take all elements again.",
    ),
    "task-cancelled": (
        "The call, or one that it needs, was cancelled: by you, a tag, or another program.",
        "Submit it again to run it.",
    ),
    "task-exited": (
        "The function called sys.exit(), which gives no result.",
        "Return a value, or raise an error.",
    ),
    "task-interrupted": (
        "The serving process was killed during a call with pure=False, which may have run.",
        "Look at what the call did, and submit it again; retries=1 if that does no harm.",
    ),
    "task-killed": (
        "The executor died several times under this call: memory ran out, or native code crashed.",
        "Ask for memory with resources=, give it less data, or run it alone to see the crash.",
    ),
    "task-raised": (
        "The function raised an error that can't be sent, so that its text stands for it.",
        "future.replay() runs the call in this process, under a debugger if you like.",
    ),
    "task-removed": (
        "Rank.remove() has removed a task of that name before the events came that it needed.",
        "Submit it again, or ask for results of tasks that are not removed.",
    ),
    "task-timeout": (
        "The call ran longer than its timeout_s in every attempt.",
        "Raise timeout_s, or cut the work; cluster.explain(future) says where it ran.",
    ),
    "too-many-calls": (
        "The program submits faster than the cluster computes, and waits for nothing.",
        "Wait for some results in between, or raise max_calls.",
    ),
    "transport": (
        "Ranks could not exchange messages: versions differ, or the network failed.",
        "Run one version on all machines; check addresses and firewalls.",
    ),
    "unschedulable": (
        "No worker has, or will ever have, all that the call asks for at once.",
        "Ask for less in resources=, or start larger workers.",
    ),
    "wait-timeout": (
        "The wait ended, not the call, which goes on.",
        "Wait longer, cancel it, or ask cluster.explain(future) what it waits for.",
    ),
    "worker-absent": (
        "The call may run on one worker only, and that one has left.",
        "Leave worker= out, or name one of cluster.statistics().workers.",
    ),
    "worker-lost": (
        "A worker's process or machine died, or the network to it did.",
        "Calls run again elsewhere by themselves; see the worker's log for the reason.",
    ),
    "workers-missing": (
        "Fewer workers came than were waited for: no room in the engine, or they failed at start.",
        "Look at their output and at the engine's queue, or go on with those that are there.",
    ),
}
"""For the slug of each error that is raised: why it happens, and what to do."""

"""Running a program as ranks: processes of this machine, or threads of this process."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import Any

from freestone import _native
from freestone.errors import ConfigurationError
from freestone.errors.events import EventsLeftWarning, RankLostError, RunStuckError
from freestone.errors.keywords import suggest_keywords
from freestone.events import joined, tracing, world
from freestone.events.outcome import Outcome, carry_out, write_trace
from freestone.events.processes import Processes
from freestone.events.rank import Rank
from freestone.events.settings import Settings, resolve

Main = Callable[..., Any]


@suggest_keywords
def run(
    main: Main,
    ranks: int | None = None,
    *,
    args: Sequence[Any] = (),
    threads: bool = False,
    workers: int | None = None,
    mapping: str | None = None,
    report_mapping: bool | None = None,
    progress: str | None = None,
    spin_us: int | None = None,
    arena: int | str | None = None,
    stuck_s: float | None = None,
    slow_task_s: float | None = None,
    send_timeout_s: float | None = None,
    trace: str | os.PathLike[str] | None = None,
    comm: Any | None = None,
) -> list[Any]:
    """Run a program as several ranks, and wait for its end.

    The run ends when on every rank `main` has returned, no task that is not persistent waits or
    runs, and every event has been delivered and consumed (paper, section II-E).

    Parameters
    ----------
    main : callable
        Called on every rank with its `Rank` and `args`. It may be a coroutine (``async def``),
        which awaits what tasks await; it waits where they pause.
    ranks : int, optional
        How many ranks; 2 by default. Under ``mpiexec`` its ranks, whatever is said here.
    args : sequence
        More arguments for `main`, the same on every rank.
    threads : bool
        Ranks are threads of this process, which share its memory and its interpreter; processes
        otherwise, which get `main` pickled. Under ``mpiexec`` each of its processes is a rank, all
        have to call this, and events are messages of the MPI that the program uses itself, by
        mpi4py or otherwise.
    workers : int, optional
        How many tasks of a rank run at the same time; by default as many as it has cores: those to
        which a launcher has bound it, else its part of those of its machine.
    mapping : {"none", "linear"}, optional
        Where workers run: on any core of the rank (the default), or each on one of its cores, the
        first worker on the first.
    report_mapping : bool, optional
        Each rank says on stderr on which cores its workers are.
    progress : {"worker", "thread", "program"}, optional
        Who looks for what arrives: a worker that has nothing else to do (the default), a thread of
        its own, or the program, while it waits and when it calls `Rank.progress`. Always the
        program where MPI is initialised with ``MPI_THREAD_FUNNELED``.
    spin_us : int, optional
        For how many microseconds a rank looks for something to do before it sleeps; 50 by default,
        0 if there are more ranks than processors.
    arena : int or str, optional
        How much memory large events of one rank may take until they are consumed, ``"1GiB"`` by
        default. It is taken as it is used.
    stuck_s : float, optional
        After how many seconds without any progress each rank says on stderr what waits, and for
        what; never by default.
    slow_task_s : float, optional
        After how many seconds a task that has neither returned nor waited is reported on stderr,
        with its file and line; never by default.
    send_timeout_s : float, optional
        For how many seconds `Rank.fire` waits when its target takes nothing more, because all its
        workers are busy with long tasks and 64 MiB (``FREESTONE_EVENTS_INBOX``) wait there already;
        without limit by default.
    trace : path, optional
        Write what each rank fired, took, waited for and ran to this file, for Perfetto; its name
        ends in ``.json``. See the how-to guide on what a run does.
    comm : mpi4py.MPI.Intracomm, optional
        The ranks under ``mpiexec``: those of this communicator, all of which call this, and no
        others. All that ``mpiexec`` started by default.

    Returns
    -------
    list
        What `main` returned on each rank; None for a rank that was lost, if the others went on.
        Under ``mpiexec`` every process gets the whole list, and every one raises if a rank failed.

    Raises
    ------
    Exception
        What a task or `main` raised, with a note that names rank and task. The run ends with it
        on all ranks.
    RunStuckError
        If all ranks are idle and tasks wait for events that nobody will fire; with what waits.
    RankLostError
        If a rank died, and not each of the others had a task or a wait for
        ``(ev.ANY, ev.RANK_LOST)``; it names those that had none.
    EventTimeoutError
        If under ``mpiexec`` some ranks of `comm` did not call this, for
        ``FREESTONE_EVENTS_MEET_TIMEOUT_S`` seconds (300).

    Notes
    -----
    With ``FREESTONE_EVENTS_MEETING`` in the environment each process that calls this is one rank of
    a run that meets there, over TCP; see the how-to guide on several machines. The list has what
    `main` returned on this rank, and None for the others. Such a run, and no other, can be joined
    while it is on.

    What is not given is taken from the environment: ``FREESTONE_EVENTS_WORKERS``, ``..._MAPPING``,
    ``..._REPORT_MAPPING``, ``..._PROGRESS``, ``..._SPIN_US``, ``..._ARENA``, ``..._STUCK_S``,
    ``..._SLOW_TASK_S``, ``..._SEND_TIMEOUT_S`` and ``..._TRACE``. All other times and bounds are
    only there: see the reference, Settings of events.

    Examples
    --------
    >>> def main(rank):
    ...     rank.fire((rank.id + 1) % rank.size, "token", rank.id)
    ...     return rank.wait([(ANY, "token")])[0].data
    >>> from freestone.events import ANY
    >>> run(main, ranks=3, threads=True)
    [2, 0, 1]
    """
    ranks = _number_of_ranks(ranks)
    _check_program(main, args)
    if comm is not None and threads:
        text = "comm= and threads=True: the ranks of a communicator are processes; give one of both"
        raise ConfigurationError(text, key="comm", origin="comm")
    given = {
        "workers": workers,
        "mapping": mapping,
        "report_mapping": report_mapping,
        "progress": progress,
        "spin_us": spin_us,
        "arena": arena,
        "stuck_s": stuck_s,
        "slow_task_s": slow_task_s,
        "send_timeout_s": send_timeout_s,
        "trace": trace,
    }
    if comm is not None or (not threads and joined.invitation() is None and world.is_here()):
        return results(world.run(main, tuple(args), lambda size: resolve(given, size), comm))
    if not threads and (invitation := joined.invitation()) is not None:
        resolved = resolve(given, invitation.ranks)
        return results(joined.run(invitation, main, tuple(args), resolved))
    settings = resolve(given, ranks)
    if threads:
        outcomes = _run_threads(main, tuple(args), ranks, settings)
        write_trace(settings.trace, outcomes)
        return results(outcomes)
    processes = Processes(ranks, settings)
    try:
        return results(processes.run(main, tuple(args)))
    finally:
        # Ctrl-C leaves one, too: it is how a run ends that takes too long.
        write_trace(settings.trace, processes.outcomes)


def _number_of_ranks(ranks: int | None) -> int:
    if ranks is None:
        return 2
    if not isinstance(ranks, Integral):
        text = f"ranks={ranks!r:.80} is of type {type(ranks).__name__}: give an int, as in ranks=2"
        raise ConfigurationError(text, key="ranks", origin="ranks")
    if ranks < 1:
        raise ConfigurationError(f"ranks={ranks}: must be at least 1", key="ranks", origin="ranks")
    return ranks


def _check_program(main: Main, args: Sequence[Any]) -> None:
    if not callable(main):
        text = f"main={main!r:.80}: must be a function; run(main), not run(main(rank))"
        raise ConfigurationError(text, key="main", origin="main")
    if isinstance(args, str) or not isinstance(args, Iterable):
        text = f"args={args!r:.80}: must be a tuple or a list, as in args=({args!r:.80},)"
        raise ConfigurationError(text, key="args", origin="args")


def _run_threads(
    main: Main, args: tuple[Any, ...], ranks: int, settings: Settings
) -> list[Outcome]:
    natives = _native.events.EventRank.threads(
        ranks, arena=settings.arena, settings=settings.native()
    )
    outcomes = [Outcome() for _ in natives]
    rings = tracing.begin(settings.trace)

    def work(index: int) -> None:
        rank = Rank(natives[index], rings)
        outcomes[index] = carry_out(rank, main, args)

    others = [threading.Thread(target=work, args=(index,)) for index in range(1, ranks)]
    for thread in others:
        thread.start()
    work(0)
    for thread in others:
        thread.join()
    return outcomes


def results(outcomes: list[Outcome]) -> list[Any]:
    """Return what `main` returned on each rank, or raise what went wrong."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if errors:
        raise _first(outcomes, errors)
    left = [text for outcome in outcomes for text in outcome.left]
    if left:
        warnings.warn(
            "the run ended with events that persistent tasks had taken and for which the others "
            f"never came: {', '.join(left[:10])}",
            EventsLeftWarning,
            stacklevel=4,
        )
    return [outcome.value for outcome in outcomes]


def _first(outcomes: list[Outcome], errors: list[BaseException]) -> BaseException:
    own = [outcome.error for outcome in outcomes if outcome.own and outcome.error is not None]
    stuck = [error for error in errors if isinstance(error, RunStuckError)]
    if not own and len(stuck) == len(errors):
        report = "\n".join(error.report for error in stuck)
        message = str(stuck[0]).split("\n", 1)[0]
        return RunStuckError(f"{message}\n{report}", report=report)
    first = (own or errors)[0]
    return _with_lacking(first, outcomes) if isinstance(first, RankLostError) else first


def _with_lacking(error: RankLostError, outcomes: list[Outcome]) -> RankLostError:
    """Return the error with the ranks that it ended, if there are some, and what they lacked."""
    lacking = [
        str(rank)
        for rank, outcome in enumerate(outcomes)
        if isinstance(outcome.error, RankLostError) and not outcome.own and rank != error.rank
    ]
    if not lacking:
        return error
    who = f"rank {lacking[0]}" if len(lacking) == 1 else f"ranks {', '.join(lacking)}"
    named = RankLostError(
        f"{error}; {who} had neither a task nor a wait for (ev.ANY, ev.RANK_LOST), which each of "
        "the other ranks needs to go on",
        rank=error.rank,
    )
    named.__cause__ = error.__cause__
    for note in getattr(error, "__notes__", ()):
        named.add_note(note)
    return named

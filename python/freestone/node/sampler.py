"""Samples where the call of an executor spends its time, on a thread beside it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from types import CodeType, FrameType

from freestone import _native

__all__ = ["Sampler"]

MAX_DEPTH = 100
"""Calls deeper in the stack than that are counted for the frame ``(deeper)``."""
_MAX_STACKS = 256
_REPORT_INTERVAL_S = 1.0
_PARK_AFTER = 100
"""After so many turns without a call the thread waits for the next one to begin."""
_MAX_DELAY = 3
"""Of a call's end, what is longer than so many intervals counts, though it was not sampled."""
_WALKS = 5
"""So often a stack is walked until its bottom is found."""
_DEEPER = ("(deeper)", "", 0)
_NATIVE = ("(native code)", "", 0)
_NOT_SAMPLED = ("(not sampled)", "", 0)

Frame = tuple[CodeType, int]
Stack = tuple[Frame, ...]


class Sampler:
    """Adds up where calls spend their time, and reports it to the worker.

    A sample counts for the time since the one before: native code that holds the interpreter's
    lock delays samples, and is then counted in full for the line that called it.

    Parameters
    ----------
    interval_s
        Seconds between two samples.
    bottom
        The function below those of a call: nothing of it is reported.
    """

    def __init__(self, interval_s: float, bottom: CodeType) -> None:
        self._interval_s, self._bottom = interval_s, bottom
        self._main = threading.main_thread().ident
        self._lock = threading.Lock()
        self._stacks: dict[Stack | None, list[int]] = {}
        self._is_running = False
        self._sampled_ns = self._reported_ns = 0
        # Held until the thread is to wake: a lock waits with less work than an event.
        self._wake = _held()
        self._is_parked = False
        self._thread: threading.Thread | None = None
        # A child has no thread but the one that forked, and Python warns of forks beside threads.
        os.register_at_fork(
            before=self._stop, after_in_parent=self._go_on, after_in_child=self._forget
        )

    def begin(self) -> None:
        """Sample the call that this thread runs, until it ends."""
        with self._lock:
            self._is_running = True
            self._sampled_ns = self._reported_ns = time.monotonic_ns()
        if self._thread is None:
            self._start()
        elif self._is_parked:
            self._is_parked = False
            self._wake.release()

    def end(self) -> None:
        """Report what was sampled of the call."""
        with self._lock:
            self._is_running = False
            rest_ns = time.monotonic_ns() - self._sampled_ns
            if rest_ns > _MAX_DELAY * self._interval_s * 1e9:
                # Native code kept the interpreter's lock until the call returned.
                self._count(None, rest_ns)
            self._report()

    def _start(self) -> None:
        self._wake = _held()
        self._is_parked = False
        thread = threading.Thread(
            target=self._run, args=(self._wake,), name="freestone-sampler", daemon=True
        )
        self._thread = thread
        thread.start()

    def _stop(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            # Unless a call that has just begun did so.
            with contextlib.suppress(RuntimeError):
                self._wake.release()
            thread.join()

    def _go_on(self) -> None:
        if self._is_running:
            self._start()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._main = threading.get_ident()
        self._stacks.clear()
        self._is_running = False

    def _run(self, wake: threading.Lock) -> None:
        idle = 0
        while self._thread is threading.current_thread():
            if idle < _PARK_AFTER:
                wake.acquire(timeout=self._interval_s)
            else:
                self._is_parked = True
                # A call that began before `begin` could see that the thread is parked is seen here.
                if not self._is_running:
                    wake.acquire()
                self._is_parked = False
            idle = 0 if self._sample() else idle + 1

    def _sample(self) -> bool:
        """Count the time since the last sample; whether a call runs."""
        with self._lock:
            if not self._is_running:
                return False
            now = time.monotonic_ns()
            stack = self._stack()
            if stack and stack[0][0] in _OWN:
                # The function has not begun, or has ended.
                return True
            self._count(stack, now - self._sampled_ns)
            self._sampled_ns = now
            is_due = now - self._reported_ns >= _REPORT_INTERVAL_S * 1e9
            if is_due or len(self._stacks) >= _MAX_STACKS:
                self._reported_ns = now
                self._report()
        return True

    def _count(self, stack: Stack | None, nanoseconds: int) -> None:
        counts = self._stacks.setdefault(stack, [0, 0])
        counts[0] += nanoseconds
        counts[1] += 1

    def _stack(self) -> Stack:
        """Return the frames of the call, the outermost first."""
        for _ in range(_WALKS):
            frame = sys._current_frames().get(self._main or 0)
            frames, is_whole = _frames(frame, self._bottom)
            if is_whole:
                break
        # One more than is reported tells that there are more.
        return tuple(frames)[: -MAX_DEPTH - 2 : -1]

    def _report(self) -> None:
        if not self._stacks:
            return
        samples = encoded(self._stacks)
        self._stacks.clear()
        # If the worker is gone, nobody asks.
        with contextlib.suppress(OSError):
            _native.executor.report_profile(samples)


_OWN = (Sampler.begin.__code__, Sampler.end.__code__)


def _held() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


def _frames(frame: FrameType | None, bottom: CodeType) -> tuple[list[Frame], bool]:
    """Return frames, innermost first, down to `bottom`, and whether that was found.

    Where the call goes on during the walk, a generator may lose its caller.
    """
    frames: list[Frame] = []
    while frame is not None and frame.f_code is not bottom:
        frames.append((frame.f_code, frame.f_lineno or frame.f_code.co_firstlineno))
        frame = frame.f_back
    return frames, frame is not None


def encoded(stacks: Mapping[Stack | None, list[int]]) -> bytes:
    """Return stacks as JSON: frames, then stacks as their indexes with nanoseconds and samples."""
    known: dict[tuple[str, str, int], int] = {}
    found = []
    for stack, (nanoseconds, samples) in stacks.items():
        indexes = [known.setdefault(frame, len(known)) for frame in _named(stack)]
        found.append([indexes, nanoseconds, samples])
    return json.dumps({"frames": list(known), "stacks": found}).encode()


def _named(stack: Stack | None) -> list[tuple[str, str, int]]:
    if stack is None:
        return [_NOT_SAMPLED]
    if not stack:
        return [_NATIVE]
    frames = [(code.co_qualname, code.co_filename, line) for code, line in stack[:MAX_DEPTH]]
    return [*frames, _DEEPER] if len(stack) > MAX_DEPTH else frames

"""The head of a step: what ranks agree on there, and how resizes go on from one to the next."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from freestone.errors import RegistrationError
from freestone.malleable import registering, timeline, together
from freestone.malleable.arrays import Array, Deal
from freestone.malleable.choosing import Chooser
from freestone.malleable.config import Config
from freestone.malleable.heartbeat import Heartbeat, Word
from freestone.malleable.membership import Membership, next_membership
from freestone.malleable.method import METHODS, Method
from freestone.malleable.path import Once, Path
from freestone.malleable.planning import misplaced
from freestone.malleable.plans import Layout
from freestone.malleable.progress import Progress
from freestone.malleable.record import Replicated, Resized
from freestone.malleable.replicas import unsendable
from freestone.malleable.resize import Resize
from freestone.malleable.spawning import refused_method
from freestone.malleable.targets import Request, agree, first_request, too_many
from freestone.malleable.transfer import Transfer

__all__ = ["UNFINISHED", "Checkpoints", "Leave"]

UNFINISHED = "the resize was not over when the loops were; ask for it some steps earlier"
"""The error of a resize that the end of the job has cut off."""


class Leave(BaseException):
    """Takes a process that leaves out of its loop; never seen by the program."""


class Checkpoints:
    """Carries resizes out at the heads of steps, for a `World`, which has the state."""

    resizes: list[Resized]
    changed: bool
    _config: Config
    _host: str
    _membership: Membership
    _beat: Heartbeat
    _chooser: Chooser
    _progress: Progress
    _arrays: dict[str, Array]
    _layouts: dict[Deal, Layout]
    _replicated: dict[str, Replicated[Any]]
    _results: list[Once]
    # The resize that goes on; one that is asked for again, and what this rank asked for last.
    _resize: Resize | None
    _again: Request | None
    _asked: Request | None
    # Whether rows are to be dealt anew without another number of ranks.
    _is_uneven: bool
    _is_primed: bool
    _has_to_leave: bool
    # All steps there will be, and when the last word was sent.
    _total: int
    _posted: float

    @property
    def rank(self) -> int:
        """The current rank of this process."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The current number of ranks."""
        raise NotImplementedError

    def _take_part(self, membership: Membership, *, is_primed: bool) -> None:
        raise NotImplementedError

    def _begin_anew(self, why: str, *, waits: bool = False) -> None:
        """Call off a resize whose plan is no longer right, and ask for it at the next step.

        With `waits` no step is made meanwhile, in which its plan may become wrong again.
        """
        resize, self._resize = self._resize, None
        if resize is not None:
            self._again = resize.request
            if waits:
                method = replace(resize.blueprint.method, strategy="sync")
                self._again = replace(resize.request, method=method)
            self._write(resize.call_off(f"called off, and begun anew at the next step: {why}"))

    def _checkpoint(self) -> None:
        done = self._progress.done
        if done % self._config.check_every:
            return
        if not self._beat.is_out and not self._is_primed:
            self._beat.post(self._word(done))
        if self._beat.is_out:
            self._act(self._beat.read())
        self._is_primed = False
        self._beat.post(self._word(done + self._config.check_every))

    def _here(self, **fields: Any) -> Word:
        """Return what this rank tells where it is now."""
        return Word(self._progress.done, loop=self._progress.loop, **fields)

    def _word(self, due: int) -> Word:
        """Return what this rank says; `due` is the step at which it will be read."""
        self._posted = time.time()
        resize = self._resize
        if resize is not None:
            ready, failed = resize.test(), resize.has_failed
            return self._here(is_ready=ready, has_failed=failed)
        request = self._again or self._ask(due)
        if self._again is None and (request is None or request.size == self.size):
            request = Request(self.size) if self._is_uneven else None
        self._asked = request
        if request is None:
            return self._here()
        chosen = self._chooser.method(self.size, request.size, self._membership.hosts)
        method = request.method or chosen
        if request.size == self.size:
            # No process is spawned or ends for it, whatever the method of resizes.
            method = replace(method, processes="merge")
        return self._here(size=request.size, method=METHODS.index(method))

    def _ask(self, due: int) -> Request | None:
        given = (self._total, self._membership.hosts, self._config.places, len(self.resizes))
        return first_request(self._config.sources, self.rank, self._progress.status(due, *given))

    def _act(self, word: Word) -> None:
        """Do what all ranks have agreed on, once all of them have come to this step."""
        resize = self._resize
        if not (word.size if resize is None else word.has_failed or word.is_ready):
            return
        self._beat.meet(self._here())
        if resize is None:
            self._begin(word.size, METHODS[word.method])
        elif word.has_failed:
            self._give_up()
        else:
            self._go_on(resize)

    def _path(self) -> Path:
        names = (*self._arrays, *self._replicated)
        return Path(self._progress.loop, names, tuple(self._results))

    def _begin(self, size: int, method: Method) -> None:
        step = self._progress.done
        self._progress.asked, self._progress.since = step, self._posted
        self._again, self._is_uneven = None, False
        data, timeout_s = self._membership.data, self._config.timeout_s
        request = agree(self._asked, size, method, data, timeout_s)
        now = self._membership
        if request.slots is not None:
            are_named = any(source.host() for source in self._config.sources)
            now.find_hosts(request.slots, timeout_s, are_named=are_named)
        error = refused_method(method) or too_many(request, self.size, self._config.places)
        error = error or misplaced(request, method, now.groups, now.hosts)
        error = together.tell(data, error, timeout_s, "the slots of a resize")
        if error:
            self._refuse(size, method, error)
            return
        try:
            resize = Resize(
                self._membership,
                self._arrays,
                self._layouts,
                request,
                method,
                self._config,
                step,
                self._path(),
                self._progress.began,
            )
        except RegistrationError as error:
            self._refuse(size, method, f"RegistrationError: {error}")
            return
        self._resize = resize
        resize.start()
        if not resize.is_overlapped:
            self._go_on(resize)

    def _refuse(self, size: int, method: Method, error: str) -> None:
        began_s = time.time() - self._progress.began
        step = self._progress.done
        self._write(Resized(step, self.size, size, str(method), error, began_s=began_s))

    def _go_on(self, resize: Resize) -> None:
        """Take a resize to its next stage, or to its end."""
        resize.follow(self._path())
        if resize.agree_on_failure():
            self._give_up()
        elif resize.advance(self._progress.done):
            if resize.finish_or_fail():
                self._give_up()
                return
            problem = self._unmovable()
            if problem:
                self._resize = None
                self._write(resize.call_off(problem))
            else:
                self._switch()

    def _unmovable(self) -> str:
        """Return why what the program has made of its data can't be moved; all ranks together."""
        now = self._membership
        problem = registering.unmovable(now, self._config, self._arrays.values())
        values = {name: item.value for name, item in self._replicated.items()}
        if problem or not values:
            return problem
        return unsendable(now.data, values, self._config.timeout_s)

    def _end_resize(self) -> None:
        """Call off a resize that is not over when the loops are; all ranks together."""
        resize, self._resize = self._resize, None
        if resize is not None:
            self._write(resize.call_off(UNFINISHED))

    def _give_up(self) -> None:
        resize, self._resize = self._resize, None
        if resize is not None:
            self._write(resize.fail())

    def _switch(self) -> None:
        """Become the membership that was planned; processes without a place leave."""
        resize, self._resize = self._resize, None
        if resize is None or resize.transfer is None:
            return
        resize.switch()
        transfer, blueprint = resize.transfer, resize.blueprint
        self._share(transfer, resize, self.resizes)
        layouts = {key: plan.after for key, plan in blueprint.plans.items()}
        transfer.take_layout()
        membership = next_membership(
            transfer.bridge,
            transfer.place,
            blueprint,
            self._membership.groups,
            self._host,
            self._config.timeout_s,
        )
        self._membership.free()
        transfer.bridge.Free()
        if membership is None:
            self._has_to_leave = True
            raise Leave
        self._layouts = layouts
        self._take_part(membership, is_primed=True)
        self.changed = True

    def _share(self, transfer: Transfer, resize: Resize | None, resizes: list[Resized]) -> None:
        """Let all on the bridge know where the job is, as its rank 0 knows it."""
        bridge, timeout_s = transfer.bridge, self._config.timeout_s
        moved = together.sum_up(bridge, transfer.sent_nbytes, timeout_s, "the switch")
        state = None
        if resize is not None and bridge.rank == 0:
            record = resize.record(self._progress.done, moved)
            values = {name: item.value for name, item in self._replicated.items()}
            state = (record, resizes, values, self._progress, self._results)
        state = together.tell(bridge, state, timeout_s, "the switch")
        record, before, values, progress, results = state
        for name, item in self._replicated.items():
            item.adopt(values[name])
        if resize is None:
            self.resizes, self._results = list(before), results
            self._progress = progress
        is_first = transfer.place == 0
        self._write(record, is_first)

    def _write(self, record: Resized, is_first: bool | None = None) -> None:
        self.resizes.append(record)
        if self.rank == 0 if is_first is None else is_first:
            timeline.report(self.resizes, self._config)

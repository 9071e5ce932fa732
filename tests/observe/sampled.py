"""Calls that compute for long enough to be sampled, however busy the machine is."""

from __future__ import annotations

import threading
import time

# Some samples' worth: the thread sleeps between them.
SAMPLER_S = 0.001


class Turns:
    """Some processor time of a call, in which the thread that samples has had its turns, too."""

    def __init__(self, seconds: float) -> None:
        (sampler,) = (one for one in threading.enumerate() if one.name == "freestone-sampler")
        assert sampler.ident is not None
        self._sampler = time.pthread_getcpuclockid(sampler.ident)
        self._ends = (time.thread_time() + seconds, time.clock_gettime(self._sampler) + SAMPLER_S)

    def are_over(self) -> bool:
        """Whether the call has computed for long enough."""
        own_s, sampler_s = self._ends
        return time.thread_time() >= own_s and time.clock_gettime(self._sampler) >= sampler_s

"""How a resize is carried out: the paper's methods, and one-sided transfers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal, get_args

from freestone.errors import ConfigurationError, did_you_mean
from freestone.errors.keywords import suggest_keywords

__all__ = ["METHODS", "Method", "Processes", "Redistribution", "Strategy"]

Processes = Literal["merge", "baseline"]
Redistribution = Literal["p2p", "collective", "onesided"]
Strategy = Literal["sync", "nonblocking", "thread"]

_SHORT = {
    "merge": "Merge",
    "baseline": "Baseline",
    "p2p": "P2P",
    "collective": "COL",
    "onesided": "RMA",
    "sync": "S",
    "nonblocking": "A",
    "thread": "T",
}


@suggest_keywords
@dataclass(frozen=True)
class Method:
    """How processes come and go, how data moves, and what goes on meanwhile.

    Attributes
    ----------
    processes : {"merge", "baseline"}
        Spawn or end the difference, or spawn all targets and end all sources (Stage 2).
    redistribution : {"p2p", "collective", "onesided"}
        How rows get to their targets (Stage 3).
    strategy : {"sync", "nonblocking", "thread"}
        Whether the sources stop meanwhile, look at each step whether it is done, or leave it to
        an auxiliary thread.
    """

    processes: Processes = "merge"
    redistribution: Redistribution = "p2p"
    strategy: Strategy = "sync"

    def __post_init__(self) -> None:
        for key, known in _WORDS.items():
            value = getattr(self, key)
            if value not in known:
                hint = did_you_mean(str(value), known) or f"; there are {', '.join(known)}"
                raise ConfigurationError(
                    f"{key} is {value!r}, which there is not{hint}", key=key, origin="method"
                )

    @classmethod
    def parse(cls, text: str) -> Method:
        """Read ``"merge-p2p-sync"``, in any case.

        Examples
        --------
        >>> Method.parse("baseline-collective-thread").label
        'Baseline COLT'
        """
        words = text.lower().split("-")
        if len(words) != len(_WORDS):
            raise ConfigurationError(
                f"method {text!r} is not of the form 'merge-p2p-sync' (processes, "
                "redistribution, strategy)",
                key="method",
                origin="method",
            )
        return cls(*words)  # type: ignore[arg-type]

    @property
    def is_overlapped(self) -> bool:
        """Whether the sources go on while constant data moves."""
        return self.strategy != "sync"

    @property
    def label(self) -> str:
        """The paper's name, such as ``Merge COLA``."""
        short = _SHORT[self.redistribution] + _SHORT[self.strategy]
        return f"{_SHORT[self.processes]} {short}"

    def __str__(self) -> str:
        return f"{self.processes}-{self.redistribution}-{self.strategy}"


_WORDS: dict[str, tuple[str, ...]] = {
    "processes": get_args(Processes),
    "redistribution": get_args(Redistribution),
    "strategy": get_args(Strategy),
}

METHODS: tuple[Method, ...] = tuple(itertools.starmap(Method, itertools.product(*_WORDS.values())))
"""All of them; the paper's twelve and six one-sided ones."""

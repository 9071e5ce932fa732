"""The method of a resize, where the program leaves it open."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from freestone.errors import ConfigurationError
from freestone.malleable.config import Config
from freestone.malleable.method import Method
from freestone.malleable.resize import has_threads

__all__ = ["Chooser"]


# Preferred methods by sizes, on one host and over several.
_Table = dict[bool, list[tuple[int, int, Method]]]


class Chooser:
    """Chooses by network and by what was measured.

    Parameters
    ----------
    config : Config
        Whose ``measurements`` are a table of preferred methods, as ``freestone malleable analyse``
        writes it: by network, a list of entries with ``before``, ``after`` and ``method``; and
        over how many hosts each network was measured, whatever it is called.
    """

    def __init__(self, config: Config) -> None:
        self._method, self._share = config.method, config.share
        self._table: _Table = {}
        if config.measurements is not None:
            self._table = _read(Path(config.measurements))

    def method(self, before: int, after: int, hosts: Sequence[str]) -> Method:
        """Return the settings' method, or else the one that fits sizes, hosts and MPI."""
        if isinstance(self._method, Method):
            return self._method
        return self.choose(before, after, len(set(hosts)), has_threads())

    def choose(self, before: int, after: int, hosts: int, has_threads: bool) -> Method:
        """Return the method for a pair of sizes.

        The nearest pair that was measured on this kind of network counts, by the ratios of its
        sizes. Where nothing was measured: on one host stop and let memory change hands, which is
        done at once; between hosts go on computing while constant data moves point to point.
        """
        entries = self._table.get(hosts == 1, [])
        fitting = [entry for entry in entries if has_threads or not entry[2].is_overlapped]
        if fitting:
            return min(fitting, key=lambda entry: _distance(entry, before, after))[2]
        if (hosts == 1 and self._share) or not has_threads:
            return Method("merge", "p2p", "sync")
        return Method("merge", "p2p", "nonblocking")


def _distance(entry: tuple[int, int, Method], before: int, after: int) -> float:
    def ratio(one: int, other: int) -> float:
        return max(one, other) / min(one, other)

    is_same_way = (entry[0] < entry[1]) == (before < after)
    return ratio(entry[0], before) * ratio(entry[1], after) * (1.0 if is_same_way else 100.0)


def _read(path: Path) -> _Table:
    try:
        content = json.loads(path.read_text("utf-8"))
        hosts, found = content.get("hosts", {}), _Table()
        for network, entries in content["preferred"].items():
            # Tables of earlier versions do not say it.
            is_one = int(hosts.get(network, 1 if network == "host" else 2)) == 1
            found.setdefault(is_one, []).extend(
                (int(entry["before"]), int(entry["after"]), Method.parse(entry["method"]))
                for entry in entries
            )
        return found
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = (
            f"{path} is no table of preferred methods ({type(error).__name__}: {error}); "
            "freestone malleable analyse writes one"
        )
        raise ConfigurationError(problem, key="measurements", origin="config") from error

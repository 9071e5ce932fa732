"""A scheduler that shares slots evenly between the malleable jobs that ask it.

``python -m examples.scheduler.serve /tmp/scheduler.sock --slots 4`` runs until it is interrupted.
A job that has not asked for some seconds counts as ended.
"""

from __future__ import annotations

import argparse
import json
import socketserver
import time
from typing import Any

FORGET_S = 30.0


class Shares:
    """How many processes each job has and may have; no sockets here.

    Parameters
    ----------
    slots : int
        Processes of all jobs together.
    """

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.jobs: dict[str, dict[str, Any]] = {}

    def answer(self, line: dict[str, Any], now: float) -> dict[str, int]:
        """Return the answer to a job's line."""
        name = line["job"]
        living = {
            job: its
            for job, its in self.jobs.items()
            if now - its["asked"] < FORGET_S and job != name
        }
        if line["state"] == "ended":
            self.jobs = living
            return {}
        self.jobs = {**living, name: {"asked": now, "processes": line["processes"]}}
        share = max(1, self.slots // len(self.jobs))
        # A job takes only what the others have left.
        free = self.slots - sum(its["processes"] for its in living.values())
        wanted = min(share, max(free, 1))
        if wanted == line["processes"]:
            return {}
        self.jobs[name]["processes"] = max(wanted, line["processes"])
        return {"processes": wanted}


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", help="of the socket")
    parser.add_argument("--slots", type=int, default=4, help="processes of all jobs, 4")
    options = parser.parse_args()
    shares = Shares(options.slots)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            line = json.loads(self.rfile.readline())
            answer = shares.answer(line, time.monotonic())
            print(f"{line['job']}: {line['state']}, {line['processes']} {answer}", flush=True)
            if line["state"] == "running":
                self.wfile.write(json.dumps(answer).encode() + b"\n")

    with socketserver.UnixStreamServer(options.path, Handler) as server:
        print("ready", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()

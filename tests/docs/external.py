"""Links of a built site that lead to other sites, each asked for: `python -m tests.docs.external`.

LinkChecker asks for them, and what it says of a link is printed with the pages that have it. No
other test leaves the machine: that a site elsewhere is down is no reason to refuse a change.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from tests.docs.links import read

ROOT = Path(__file__).parents[2]
SITE = ROOT / "target/site"
# Each address once, and the pages that it leads to aren't read for more.
OPTIONS = ("--stdin", "--check-extern", "--recursion-level=0", "--no-status", "--output=csv/utf-8")
TIMEOUT_S = 30


def external(folder: Path) -> dict[str, list[str]]:
    """Return the addresses of other sites, with the pages that link to them."""
    found = defaultdict(list)
    for path in sorted(folder.rglob("*.html")):
        for link in sorted(read(path).links):
            if link.startswith(("https://", "http://")):
                found[link.partition("#")[0]].append(str(path.relative_to(folder)))
    return found


def dead(addresses: list[str]) -> dict[str, str]:
    """Return those addresses that lead nowhere, and what was answered.

    Raises
    ------
    RuntimeError
        If LinkChecker itself fails.
    """
    words = [sys.executable, "-m", "linkcheck", *OPTIONS, f"--timeout={TIMEOUT_S}"]
    asked = "\n".join(addresses)
    done = subprocess.run(words, input=asked, capture_output=True, text=True, check=False)
    # 1: some links are dead.
    if done.returncode not in (0, 1):
        raise RuntimeError(f"linkchecker ended with status {done.returncode}:\n{done.stderr}")
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    rows = csv.DictReader(lines, delimiter=";")
    return {row["urlname"]: row["result"] for row in rows if row["valid"] != "True"}


def main() -> int:
    """Ask for all links; the number of those that are dead."""
    pages = external(SITE)
    found = dead(list(pages))
    for address, answer in found.items():
        print(f"{address}: {answer}; linked to by {', '.join(pages[address])}")
    print(f"{len(pages)} links to other sites, {len(found)} of them dead")
    return min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())

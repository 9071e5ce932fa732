"""How many of the public names have types that a checker need not guess: ``make check-types``."""

import json
import os
import subprocess
import sys
from pathlib import Path

WANTED = 0.95
ROOT = Path(__file__).parents[2]


def main() -> int:
    """Print the part; 1 if it is less than is wanted."""
    # Packages are those of the first Python in PATH, but for one that is installed as editable.
    bin_path = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{bin_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "python"),
    }
    command = [str(bin_path / "basedpyright"), "--verifytypes", "freestone"]
    ended = subprocess.run(
        [*command, "--ignoreexternal", "--outputjson"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(ended.stdout)["typeCompleteness"]
    print(f"{found['completenessScore']:.1%} of the public names have types; {WANTED:.0%} wanted")
    if found["completenessScore"] >= WANTED:
        return 0
    for symbol in found["symbols"]:
        for diagnostic in symbol.get("diagnostics", ()):
            print(f"{symbol['name']}: {diagnostic['message']}")
    return 1


if __name__ == "__main__":
    sys.exit(main())

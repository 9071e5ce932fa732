"""Do what a new user does, with a wheel and nothing else: `python -m tests.docs.tried dist`.

In an empty home, without a compiler on the path and away from the checkout: install the wheel, run
each page of the tutorial and each notebook, and print a table of what took how long. As root, with
`--user NAME`, all of it runs under that account.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.docs.test_code_blocks import ROOT, code_of

EXTRAS = "demo,dask,examples,malleable"
BESIDE = ("xarray", "nbclient", "ipykernel")
"""What notebooks need besides, as their README says."""
NAVIGATION = re.compile(r"tutorial/([\w-]+)\.md")
SCRIPT = """x = seq(1.0, 4.0, 1.0);
print("the mean is " + mean(x * $factor));
print(t(x) @ x);
"""
COMPILERS = re.compile(
    r"(.*-)?(cc|gcc|g\+\+|c\+\+|c89|c99|clang|cpp|tcc|as|ld|rustc|cargo|cmake|make)\b.*"
)
"""What a machine of users lacks."""
NOTEBOOK = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, kernel_name="python3", timeout=300).execute()
"""


class Account:
    """A home in which nothing is, and what was done there."""

    def __init__(self, home: Path, user: str | None) -> None:
        self.home = home
        self.user = user
        self.rows: list[tuple[str, float, int]] = []
        (home / "system").mkdir()
        for program in Path("/usr/bin").iterdir():
            if not COMPILERS.fullmatch(program.name):
                (home / "system" / program.name).symlink_to(program)

    def do(self, what: str, words: Sequence[str]) -> None:
        """Run a program there, and note how long it took."""
        environment = {
            "PATH": f"{self.home}/env/bin:{self.home}/system",
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
        }
        environment |= {name: value for name, value in os.environ.items() if "PIP_" in name[:4]}
        start = time.monotonic()
        done = subprocess.run(
            words,
            cwd=self.home,
            env=environment,
            user=self.user,
            group=self.user,
            extra_groups=[] if self.user else None,
            capture_output=True,
            text=True,
            check=False,
        )
        self.rows.append((what, time.monotonic() - start, done.returncode))
        print(f"{what}: {self.rows[-1][1]:.1f} s, status {done.returncode}", file=sys.stderr)
        if done.returncode:
            print(done.stdout[-3000:], done.stderr[-3000:], file=sys.stderr)

    def table(self) -> str:
        """Return what was done, as a table of Markdown."""
        head = "| step | seconds | ended well |\n| --- | --- | --- |\n"
        rows = (f"| {what} | {s:.1f} | {'no' if code else 'yes'} |" for what, s, code in self.rows)
        return head + "\n".join(rows)


def everything(account: Account, wheel: Path, interpreter: str) -> None:
    """Install a wheel, and run all that there is to learn by."""
    python = f"{account.home}/env/bin/python"
    account.do("`python3 -m venv env`", [interpreter, "-m", "venv", "env"])
    wanted = [f"{wheel}[{EXTRAS}]", *BESIDE]
    shown = f"`pip install 'freestone[{EXTRAS}]' {' '.join(BESIDE)}`"
    account.do(shown, [python, "-m", "pip", "install", "--quiet", *wanted])
    for command in ("info", "doctor"):
        account.do(f"`freestone {command}`", [f"{account.home}/env/bin/freestone", command])
    for name in dict.fromkeys(NAVIGATION.findall((ROOT / "mkdocs.yml").read_text("utf-8"))):
        # A page must not have the name of a module that it imports.
        script = account.home / f"page_{name}.py"
        script.write_text(code_of(f"docs/tutorial/{name}.md"))
        account.do(f"tutorial: {name}", [python, script.name])
    (account.home / "hello.daph").write_text(SCRIPT)
    freestone = f"{account.home}/env/bin/freestone"
    account.do("`freestone run hello.daph factor=2`", [freestone, "run", "hello.daph", "factor=2"])
    copy = [freestone, "examples", "copy", "notebooks"]
    account.do("`freestone examples copy notebooks`", copy)
    for notebook in sorted((account.home / "examples/notebooks").glob("*.ipynb")):
        words = [python, "-c", NOTEBOOK, str(notebook)]
        account.do(f"notebook: {notebook.stem}", words)


def main() -> int:
    """Run it; the number of steps that failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.docs.tried", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the wheel is")
    parser.add_argument("--user", help="an account, such as `useradd --create-home ada` makes")
    parser.add_argument("--python", default=sys.executable, help="an interpreter it may run")
    options = parser.parse_args()
    (wheel,) = options.folder.resolve().glob(f"*{platform.machine()}.whl")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        home.chmod(0o777)
        account = Account(home, options.user)
        everything(account, wheel, options.python)
    print(account.table())
    return sum(code != 0 for _, _, code in account.rows)


if __name__ == "__main__":
    sys.exit(main())

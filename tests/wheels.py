"""Check wheels: `python -m tests.wheels dist` installs this machine's where no checkout is near.

Each wheel may need nothing newer than glibc 2.28, which RHEL 8 has. That of this machine is
installed into an empty environment, without a compiler on the path, and used there. With
``--extras`` each extra is installed by itself and its program of `tests/extras` runs, which takes
gigabytes and half an hour; with ``--extras sql root``, these alone. With ``--source`` the source
distribution is built and installed, which needs cargo.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

POLICY = "manylinux_2_28"
PROGRAMS = Path(__file__).parent / "extras"
PIP = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
PROGRAM = """
import freestone as fs

if __name__ == "__main__":
    with fs.Cluster(workers=1, executors=2) as cluster:
        assert fs.reduce(max, cluster.map(abs, [-3, 2])).result() == 3
"""
COMMANDS = (["info"], ["doctor"], ["explain", "closed"], ["examples", "copy", "knn"])


def main() -> int:
    """Check what a folder has."""
    parser = argparse.ArgumentParser(prog="python -m tests.wheels", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--extras", nargs="*", metavar="NAME", help="install each extra, or these, by itself"
    )
    parser.add_argument("--source", action="store_true", help="build and install the source")
    arguments = parser.parse_args()
    wheels = sorted(arguments.folder.resolve().glob("*.whl"))
    for wheel in wheels:
        check_contents(wheel)
        report = run([sys.executable, "-m", "auditwheel", "show", str(wheel)])
        assert POLICY in report, report
        print(f"{wheel.name}: {POLICY}, {wheel.stat().st_size >> 20} MiB")
    (source,) = arguments.folder.resolve().glob("*.tar.gz")
    with tarfile.open(source) as archive:
        check_names(source.name, archive.getnames())
    (own,) = [wheel for wheel in wheels if platform.machine() in wheel.name]
    install(own)
    if arguments.extras is not None:
        for extra in arguments.extras or extras():
            install(own, extra)
    if arguments.source:
        install(source, path=os.environ["PATH"])
    return 0


def check_contents(wheel: Path) -> None:
    """Look for the native module and the examples."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    check_names(wheel.name, names)
    assert "freestone/_native.abi3.so" in names
    assert {name.split("/")[0].partition("-")[0] for name in names} == {
        "freestone",
        "snakemake_executor_plugin_freestone",
    }


def check_names(what: str, names: Sequence[str]) -> None:
    """Look for what every distribution has, and for what none may have."""
    assert any(name.endswith("_share/examples/knn/main.py") for name in names), what
    assert not [name for name in names if "__pycache__" in name], what


def install(distribution: Path, extra: str = "", path: str = "") -> None:
    """Install a distribution where nothing else is, and use it there."""
    with tempfile.TemporaryDirectory() as folder:
        run([sys.executable, "-m", "venv", "env"], folder)
        python, freestone = f"{folder}/env/bin/python", f"{folder}/env/bin/freestone"
        wanted = f"{distribution}[{extra}]" if extra else str(distribution)
        run([python, "-m", "pip", "install", "--quiet", wanted], folder, path)
        if extra:
            shutil.copy(PROGRAMS / f"{extra}.py", f"{folder}/program.py")
        else:
            Path(folder, "program.py").write_text(PROGRAM)
        run([python, "program.py"], folder)
        for words in COMMANDS:
            run([freestone, *words], folder)
        print(f"{distribution.name}{f'[{extra}]' if extra else ''}: installed and used", flush=True)


def extras() -> list[str]:
    """List the extras that there are."""
    with open("pyproject.toml", "rb") as file:
        return sorted(tomllib.load(file)["project"]["optional-dependencies"])


def run(words: Sequence[str], folder: str | None = None, path: str = "") -> str:
    """Run a program, with nothing of the checkout in its environment; `path` has compilers."""
    # What compilers need lies in the home: rustup, and cargo's packages.
    home = os.environ["HOME"] if path else folder or "/"
    own = f"{folder}/env/bin" if folder else str(Path(sys.executable).parent)
    done = subprocess.run(
        words,
        cwd=folder,
        env={"PATH": f"{own}:{path}".rstrip(":"), "HOME": home, "LC_ALL": "C.UTF-8"} | PIP,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{words}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())

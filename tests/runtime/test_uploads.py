"""Modules that are uploaded: by the program that opened the cluster, and by another one."""

from __future__ import annotations

import os
import random
import signal
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import freestone as fs
from freestone.errors import (
    ClosedError,
    FileMissingError,
    FormatError,
    FunctionLoadError,
    UsageError,
)
from tests.waiting import until


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[fs.Cluster]:
    """Two workers, one executor each, that others find as ``lab``."""
    with fs.Cluster(
        workers=2, executors=1, memory="64MiB", disk="64MiB", folder=str(folder)
    ) as cluster:
        cluster.share("lab")
        yield cluster


@pytest.fixture(params=["embedded", "connected"])
def cluster(
    request: pytest.FixtureRequest, served: fs.Cluster, folder: Path
) -> Iterator[fs.Cluster]:
    """The same cluster, as the program has it that opened it, and as another one does."""
    if request.param == "embedded":
        yield served
        return
    with fs.connect("lab", folder=str(folder)) as connected:
        yield connected


@pytest.fixture
def module(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a module's text and return its path."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        return path

    return write


def which() -> int:
    import uploaded_version  # type: ignore[import-not-found]

    number: int = uploaded_version.NUMBER
    return number


def everywhere(cluster: fs.Cluster, function: Callable[..., Any]) -> list[Any]:
    return list(cluster.run(function).values())


def test_a_module_is_imported_on_all_workers(
    cluster: fs.Cluster, module: Callable[[str, str], Path]
) -> None:
    def area(radius: int) -> int:
        from uploaded_shapes import circle  # type: ignore[import-not-found]

        value: int = circle(radius)
        return value

    path = module("uploaded_shapes", "def circle(r):\n    return 3 * r * r\n")
    assert cluster.upload(path) == ("uploaded_shapes",)
    assert cluster.gather(cluster.map(area, range(4))) == [0, 3, 12, 27]
    assert list(cluster.run(area, 2).values()) == [12, 12]
    assert cluster.upload(str(path)) == ("uploaded_shapes",)
    assert fs.reduce(lambda x, y: area(1) + max(x, y), cluster.map(area, range(4))).result() >= 30
    for isolation in ("fork", "process"):
        assert cluster.submit(area, 3, isolation=isolation, pure=False).result() == 27


def test_a_new_version_replaces_the_old_one_for_later_calls(
    cluster: fs.Cluster, module: Callable[[str, str], Path]
) -> None:
    cluster.upload(module("uploaded_version", "NUMBER = 1"))
    before = cluster.submit(which, name="before")
    assert everywhere(cluster, which) == [1, 1]
    first = cluster.map(lambda _: which(), range(20), pure=False)
    cluster.upload(module("uploaded_version", "NUMBER = 2"))
    second = cluster.map(lambda _: which(), range(20), pure=False)
    assert set(cluster.gather(first)) == {1}
    assert set(cluster.gather(second)) == {2}
    # A call with the new version is another call.
    assert (before.result(), cluster.submit(which, name="before").result()) == (1, 2)
    cluster.upload(module("uploaded_version", "NUMBER = 1"))
    assert everywhere(cluster, which) == [1, 1]


def test_programs_have_versions_of_their_own(
    served: fs.Cluster, folder: Path, module: Callable[[str, str], Path]
) -> None:
    names = [f"uploaded_{name}" for name in ("version", "other")]
    with fs.connect("lab", folder=str(folder)) as one, fs.connect("lab", folder=str(folder)) as two:
        with pytest.raises(ModuleNotFoundError):
            one.run(which)
        one.upload(module(names[0], "NUMBER = 10"))
        two.upload(module(names[0], "NUMBER = 20"))
        two.upload(module(names[1], f"import {names[0]}\nNUMBER = {names[0]}.NUMBER + 1"))
        for _ in range(2):
            assert everywhere(one, which) == [10, 10]
            assert everywhere(two, which) == [20, 20]
            assert everywhere(two, lambda: __import__(names[1]).NUMBER) == [21, 21]
        two.upload(module(names[0], "NUMBER = 30"))
        # What imports it is executed again.
        assert everywhere(two, lambda: __import__(names[1]).NUMBER) == [31, 31]
        with pytest.raises(ModuleNotFoundError):
            one.run(lambda: __import__(names[1]))


def test_values_of_its_classes_go_from_call_to_call(
    cluster: fs.Cluster, module: Callable[[str, str], Path]
) -> None:
    def make(count: int) -> Any:
        from uploaded_points import Point  # type: ignore[import-not-found]

        return Point(b"x" * count)

    def is_point(value: Any) -> bool:
        from uploaded_points import Point

        return isinstance(value, Point)

    text = "class Point:\n    def __init__(self, data):\n        self.data = data\n"
    for version in range(3):
        cluster.upload(module("uploaded_points", f"{text}# {version}\nversion = {version}"))
        # One travels in a message, the other one is a block; each goes to the other worker, too.
        points = [cluster.submit(make, count, pure=False) for count in (1, 1 << 17)]
        found = [
            cluster.submit(is_point, point, worker=worker, pure=False)
            for point in points
            for worker in numbers(cluster)
        ]
        assert cluster.gather(found) == [True] * 4
        which_version = cluster.run(lambda: __import__("uploaded_points").version)
        assert set(which_version.values()) == {version}


def numbers(cluster: fs.Cluster) -> list[int]:
    return [int(name.removeprefix("worker-")) for name in cluster.run(abs, -1)]


def test_tasks_that_tasks_submit_import_it(
    cluster: fs.Cluster, module: Callable[[str, str], Path]
) -> None:
    def parent() -> list[int]:
        current = fs.current()
        assert current is not None
        return current.gather(current.map(lambda _: which(), range(4), pure=False))

    cluster.upload(module("uploaded_version", "NUMBER = 5"))
    assert cluster.submit(parent, pure=False).result() == [5] * 4
    with pytest.raises(UsageError, match="do it in the program"):
        cluster.submit(lambda: fs.current().upload("x.py")).result()  # type: ignore[union-attr]


def test_a_module_beside_the_program_is_replaced_for_functions_that_used_it(
    cluster: fs.Cluster, module: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def which_beside() -> int:
        import uploaded_beside  # type: ignore[import-not-found]

        number: int = uploaded_beside.NUMBER
        return number

    path = module("uploaded_beside", "")
    monkeypatch.syspath_prepend(str(path.parent))
    for number in (1, 20, 300):
        path.write_text(f"NUMBER = {number}\n")
        cluster.upload(path)
        assert cluster.submit(which_beside).result() == number


def test_a_package_is_uploaded_whole(cluster: fs.Cluster, tmp_path: Path) -> None:
    package = tmp_path / "uploaded_package"
    (package / "inner").mkdir(parents=True)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "x.pyc").write_bytes(b"")
    (package / "__init__.py").write_text("from uploaded_package.inner.deep import value")
    (package / "inner" / "__init__.py").write_text("")
    (package / "inner" / "deep.py").write_text("value = 7")
    (package / "table.txt").write_text("91.19")

    def read() -> tuple[int, str, bool]:
        from importlib import resources

        import uploaded_package  # type: ignore[import-not-found]

        there = resources.files(uploaded_package)
        return uploaded_package.value, (there / "table.txt").read_text(), there.is_dir()

    assert cluster.upload(package) == ("uploaded_package",)
    assert everywhere(cluster, read) == [(7, "91.19", True)] * 2


def test_a_wheel_is_uploaded(cluster: fs.Cluster, tmp_path: Path) -> None:
    wheel = tmp_path / "uploaded_wheel-1.5-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("uploaded_wheel/__init__.py", "import uploaded_single")
        archive.writestr("uploaded_wheel-1.5.data/purelib/uploaded_single.py", "x = 2")
        archive.writestr("uploaded_wheel-1.5.data/scripts/tool", "")
        meta = "Metadata-Version: 2.1\nName: uploaded_wheel\nVersion: 1.5\n"
        archive.writestr("uploaded_wheel-1.5.dist-info/METADATA", meta)

    def version() -> tuple[str, int]:
        from importlib import metadata

        import uploaded_wheel  # type: ignore[import-not-found]

        return metadata.version("uploaded_wheel"), uploaded_wheel.uploaded_single.x

    assert cluster.upload(wheel) == ("uploaded_single", "uploaded_wheel")
    assert everywhere(cluster, version) == [("1.5", 2)] * 2


def test_what_the_program_has_imported_is_found_elsewhere(
    cluster: fs.Cluster,
    module: Callable[[str, str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    name = f"uploaded_mine_{request.node.callspec.params['cluster']}"
    path = module(name, "def triple(x):\n    return 3 * x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    mine = __import__(name)
    cluster.upload(path)
    assert cluster.submit(mine.triple, 2).result() == 6
    assert cluster.get({"x": 2, "y": (mine.triple, "x")}, "y") == 6
    path.write_text(
        "def triple(x):\n    return 3 * x + 0 * x + 0\n\n\ndef other():\n    return 1\n"
    )
    monkeypatch.delitem(__import__("sys").modules, name)
    mine = __import__(name)
    with pytest.raises(FunctionLoadError, match="or after its upload"):
        cluster.submit(mine.other).result()
    cluster.upload(path)
    assert cluster.submit(mine.other).result() == 1


@pytest.mark.parametrize("count", [1, 20_000, 1_200_000])
def test_workers_that_join_later_have_it(module: Callable[[str, str], Path], count: int) -> None:
    # What goes into a message, into several, and into a block.
    text = f"NUMBER = 3\nTEXT = '{random.Random(0).randbytes(count).hex()}'"
    with fs.Cluster(executors=1, memory="64MiB", disk="64MiB") as cluster:
        cluster.upload(module("uploaded_version", text))
        assert everywhere(cluster, which) == [3]
        if count < 100_000:
            os.kill(cluster.statistics().workers[0].pid, signal.SIGKILL)
            assert until(
                lambda: [one["worker"] for one in cluster.client.workers()] == ["worker-1"]
            )
        cluster.resize(2)
        assert everywhere(cluster, which) == [3, 3]


def test_messages_may_carry_nothing(module: Callable[[str, str], Path]) -> None:
    with fs.Cluster(executors=1, memory="64MiB", disk="64MiB", inline_nbytes=0) as cluster:
        cluster.upload(module("uploaded_version", "NUMBER = 4"))
        assert everywhere(cluster, which) == [4]


@pytest.mark.parametrize(
    ("name", "data", "error", "reason"),
    [
        ("absent.py", None, FileMissingError, "is not there to be uploaded"),
        ("notes.txt", b"x", UsageError, r"give a module \(.py\), the folder of a package, or a"),
        ("json.py", b"", UsageError, "'json' would hide that of Python's standard library"),
        ("numpy.py", b"", UsageError, "'numpy' would hide that of what executors"),
        ("my-script.py", b"", UsageError, "no module in it .* there is my-script.py"),
        ("wrong.py", b"def", SyntaxError, "invalid syntax"),
        ("x.y.py", b"", UsageError, "can be imported by a name; there is x.y.py"),
        ("class.py", b"", UsageError, "can be imported by a name; there is class.py"),
        ("cut.whl", b"PK\5\6" + bytes(18), UsageError, "there is nothing"),
    ],
)
def test_what_is_no_module_is_refused(
    served: fs.Cluster,
    tmp_path: Path,
    name: str,
    data: bytes | None,
    error: type[Exception],
    reason: str,
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(error, match=reason):
        served.upload(tmp_path / name)


def test_folders_and_archives_are_checked(served: fs.Cluster, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no __init__.py, so it is no package's folder"):
        served.upload(tmp_path)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "__init__.py").write_text("")
    (tmp_path / "linked" / "away").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="is a link to a folder; copy that"):
        served.upload(tmp_path / "linked")
    outside, damaged = tmp_path / "outside.zip", tmp_path / "damaged.whl"
    with zipfile.ZipFile(outside, "w") as archive:
        archive.writestr("../evil.py", "")
    with pytest.raises(FormatError, match="outside of its folder"):
        served.upload(outside)
    with zipfile.ZipFile(damaged, "w") as archive:
        archive.writestr("fine.py", "x" * 100)
    damaged.write_bytes(damaged.read_bytes().replace(b"x" * 100, b"y" * 100))
    with pytest.raises(FormatError, match="can't be unpacked"):
        served.upload(damaged)


def test_a_closed_cluster_takes_no_upload(module: Callable[[str, str], Path]) -> None:
    with fs.Cluster(
        executors=0, memory="64MiB", disk="64MiB", listen="tcp://127.0.0.1:0"
    ) as closed:
        pass
    with pytest.raises(ClosedError, match="upload modules"):
        closed.upload(module("uploaded_version", ""))

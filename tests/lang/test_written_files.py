"""A file that a script writes is read as it was written, not as it was before the script ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from freestone import Cluster
from freestone.errors.lang import ScriptRunError
from freestone.lang.front import file_types
from freestone.lang.run.kernels import files
from tests.lang.scripts import both, printed, printed_on

SUMS = "print(nrow(Y)); print(ncol(Y)); print(sum(Y));"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed('write(fill(1.5, 5, 2), "m.csv");')


@pytest.mark.parametrize("path", ["m.csv", "new.csv", "./m.csv", "m.dbdf", "m.npy"])
def test_the_shape_is_the_one_that_was_written(path: str, two_workers: Cluster) -> None:
    name = path.removeprefix("./")
    text = f'write(fill(2.5, 10, 3), "{name}"); Y = readMatrix("{path}"); {SUMS}'
    assert both(text) == "10\n3\n75\n"
    assert printed_on(two_workers, text) == "10\n3\n75\n"


def test_what_is_read_first_is_what_was_there() -> None:
    text = f'Y = readMatrix("m.csv"); write(fill(2, 10, 3), "m.csv"); {SUMS}'
    assert printed(text) == "5\n2\n15\n"
    assert printed(text) == "10\n3\n60\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('if (as.scalar([1]) > 0) { write(fill(2.5, 10, 3), "m.csv"); }', "10\n3\n75\n"),
        ('if (as.scalar([1]) > 2) { write(fill(2.5, 10, 3), "m.csv"); }', "5\n2\n15\n"),
        ('for (i in 1:2) { write(fill(2.5, 10, i), "m.csv"); }', "10\n2\n50\n"),
        ('def f() { write(fill(2.5, 10, 3), "m.csv"); } f();', "10\n3\n75\n"),
        ('write(fill(2, 1, 1), "m.csv"); write(fill(2.5, 10, 3), "m.csv");', "10\n3\n75\n"),
        ('n = as.scalar(["m.csv"]); write(fill(2.5, 10, 3), n);', "10\n3\n75\n"),
    ],
)
def test_who_writes_may_be_anywhere_before(text: str, expected: str) -> None:
    assert printed(f'{text} Y = readMatrix("m.csv"); {SUMS}') == expected
    printed('write(fill(1.5, 5, 2), "m.csv");')
    assert printed(f'{text} Y = readMatrix("m.csv"); {SUMS}', vec=True) == expected


def test_a_round_of_a_loop_reads_what_the_round_before_wrote() -> None:
    body = 'Y = readMatrix("m.csv"); write(rbind(Y, Y), "m.csv"); print(nrow(Y));'
    assert printed(f"for (i in 1:3) {{ {body} }}") == "5\n10\n20\n"


def test_a_function_reads_what_was_written_since_it_was_called() -> None:
    text = 'def f() { return sum(readMatrix("m.csv")); } print(f()); '
    text += (
        'write(fill(2, 3, 3), "m.csv"); print(f()); write(fill(0.5, 1, 1), "m.csv"); print(f());'
    )
    assert printed(text) == "15\n18\n0.5\n"


@pytest.mark.parametrize("suffix", ["csv", "dbdf", "mtx"])
@pytest.mark.parametrize("value", ["as.matrix<bool>([true, false])", "as.ui8([1, 2])"])
def test_cells_have_the_type_that_the_format_keeps(suffix: str, value: str) -> None:
    text = f'write({value}, "x.{suffix}"); print(readMatrix("x.{suffix}"));'
    first = printed(text)
    assert printed(text) == first
    assert printed(f'print(readMatrix("x.{suffix}"));') == first


def test_a_file_that_others_change_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    describe, asked = files.describe, []

    def changed(path: str) -> object:
        asked.append(path)
        return describe(path if len(asked) == 1 else "other.csv")

    printed('write(fill(1.5, 7, 2), "other.csv");')
    for module in (file_types, files):
        monkeypatch.setattr(module, "describe", changed)
    with pytest.raises(ScriptRunError, match=r"is a matrix<f64> 7x2 now, and was a .* 5x2 when"):
        printed('print(readMatrix("m.csv"));')

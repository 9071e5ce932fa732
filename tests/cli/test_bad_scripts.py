"""What bad input gets: its status, a message with the place in the script, nothing printed half."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from freestone.cli import main

FINE, PARSING, COMPILING, RUNNING = range(4)

CASES = {
    "a missing sign": ("print(1;", PARSING, "expected ')'", "^"),
    "an end that is missing": ("x = 1;\nif (x) {", PARSING, "a '}' is missing", None),
    "a string without an end": ('x = "abc', PARSING, "has no end", None),
    "a name that is not there": ("abc = 1;\nx = abd;", PARSING, "did you mean 'abc'?", "abd"),
    "a function that is not there": ("x = sqr(4.0);", PARSING, "did you mean 'sqrt'?", "sqr("),
    "a parameter that is not there": (
        "x = fill(1, numRow=2, numCols=3);", PARSING, "did you mean 'numRows'?", "fill(",
    ),
    "too few arguments": ("x = fill(1, 2);", PARSING, "needs numCols", "fill("),
    "an argument of the script": ("print($n);", PARSING, "the argument $n is missing", "$n"),
    "a wrong type": ('print("a" * 2);', COMPILING, "there is no mul of strings", "* 2"),
    "a matrix where a scalar is needed": (
        "if ([1, 2] > 1) { print(1); }", COMPILING, "only a 1x1 matrix can be a scalar", None,
    ),
    "shapes that do not fit": (
        "a = fill(1, 2, 2);\nprint(a + fill(1, 3, 3));", COMPILING, "2x2 and a 3x3", "+ fill",
    ),
    "a product that does not fit": ("print([1] @ [1, 2]);", COMPILING, "@ of a 1x1", "@"),
    "a position that is known": ("print([1, 2][2, 0]);", COMPILING, "position 2", "2, 0]"),
    "a label that is not there": (
        'f = {"ab": [1]};\nprint(f[, "abc"]);', COMPILING, "did you mean 'ab'?", None,
    ),
    "a file that is not there": (
        'x = readMatrix("no.csv");', RUNNING, "there is no file 'no.csv'", "read",
    ),
    "a division by zero": ("x = 0;\nprint(7 / x);", RUNNING, "integers are divided by zero", "/ x"),
    "a remainder by zero": ("print(7 % 0);", RUNNING, "integers are divided by zero", "% 0"),
    "cells divided by zero": (
        "print([1, 2] / [1, 0]);", RUNNING, "integers are divided by zero", "/ [",
    ),
    "cells divided by zero among others": (
        "X = seq(0, 9);\nY = X * 2;\nZ = Y / X;\nW = Z + 1;\nprint(sum(W));", RUNNING,
        "integers are divided by zero", "/ X",
    ),
    "a position": ("i = as.scalar([2]);\nprint([1, 2][i, 0]);", RUNNING, "row 2 is outside", None),
    "shapes that are known late": (
        "n = as.scalar([3]);\nprint(fill(1, n, n) + fill(1, 2, 2));", RUNNING, "3x3", "+ fill",
    ),
    "a recursion without an end": (
        "def f(n: si64) -> si64 { return f(n + 1); }\nprint(f(1));", RUNNING, "deep", "f(n + 1)",
    ),
    "a matrix that is singular": (
        "print(solve(fill(0.0, 2, 2), [1.0, 2.0]));", RUNNING, "ingular", "solve",
    ),
    "a stop": ('stop("enough of this");', RUNNING, "system stopped: enough of this", "stop"),
    "a stop without a word": ("stop();", RUNNING, "system stopped", "stop"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("options", [(), ("--vec",)], ids=["plain", "fused"])
@pytest.mark.parametrize("name", CASES)
def test_bad_input_gets_its_status_and_its_place(
    name: str, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    text, status, problem, at = CASES[name]
    Path("s.daph").write_text(f'print("before");\n{text}\nprint("after");')
    assert main(["run", *options, "s.daph"]) == status
    out, err = capsys.readouterr()
    assert err == ""
    stage = {PARSING: "parsing", COMPILING: "compiling", RUNNING: "running"}[status]
    # What was checked before anything ran has printed nothing; what ran has printed whole lines.
    before, sign, message = out.partition(f"[error]: While {stage}: ")
    # A file that can't be read is found before anything runs, too.
    has_begun = status == RUNNING and "readMatrix" not in text
    assert before == ("before\n" if has_begun else "")
    assert sign
    assert "\nafter" not in out
    assert problem in message
    place, line, caret = message.splitlines()[-3:]
    number = int(place.split(":")[1])
    assert place.startswith(f"s.daph:{number}:")
    assert line == Path("s.daph").read_text().splitlines()[number - 1]
    assert caret.strip() == "^"
    if at is not None and at != "^":
        assert line.index(at) == caret.index("^")


def test_a_script_that_is_not_there_or_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "none.daph"]) == 2
    assert "none.daph" in capsys.readouterr().err
    Path("s.daph").write_bytes(b"print(1);\xff\xfe")
    assert main(["run", "s.daph"]) == PARSING
    assert "[error]: While parsing: s.daph is no text in UTF-8" in capsys.readouterr().out


def test_a_matrix_that_fails_prints_nothing_of_itself(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.daph").write_text("X = seq(-3, 3);\nprint(X);\nprint(12 / X);")
    assert main(["run", "--vec", "s.daph"]) == RUNNING
    out = capsys.readouterr().out
    assert out.startswith("DenseMatrix(7x1, int64_t)\n-3\n-2\n-1\n0\n1\n2\n3\n[error]: ")
    assert out.count("DenseMatrix") == 1


def test_a_mistake_in_an_imported_script_names_that_script(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("a.daphne").write_text("def f(x) {\n    return x / 0;\n}\n")
    Path("s.daph").write_text('import "a.daphne";\nprint(a.f(1));')
    assert main(["run", "s.daph"]) == RUNNING
    out = capsys.readouterr().out
    assert "a.daphne:2:" in out
    assert "return x / 0;" in out


@pytest.mark.parametrize("options", [(), ("--vec",)], ids=["plain", "fused"])
def test_a_defect_has_a_place_and_no_traceback(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from freestone.lang.front.builtins import BUILTINS
    from freestone.lang.run.kernels import shapes

    def broken(*operands: object) -> None:
        raise KeyError("a defect")

    Path("s.daph").write_text("print(1);\nprint(reverse([1, 2]));")
    monkeypatch.setattr(shapes.reverse, "__code__", broken.__code__)
    assert main(["run", *options, "s.daph"]) == RUNNING
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("1\n[error]: While running: this failed inside of freestone")
    assert "KeyError: 'a defect' in test_bad_scripts.py" in out
    assert "s.daph:2:7" in out
    monkeypatch.setitem(BUILTINS, "reverse", replace(BUILTINS["reverse"], lower=broken))
    assert main(["run", *options, "s.daph"]) == COMPILING
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("[error]: While compiling: this failed inside of freestone")


def test_a_script_that_may_not_be_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    Path("s.daph").write_text("print(1);")
    monkeypatch.setattr(Path, "read_text", refused)
    assert main(["run", "s.daph"]) == PARSING
    assert "s.daph can't be read: Permission denied" in capsys.readouterr().out


STRANGE = {
    "nothing": (b"", FINE, ""),
    "a byte of zero": (b"print(1);\0", PARSING, "unexpected letter '\\x00'"),
    "a letter of another language": ("\u00e9 = 1;".encode(), PARSING, "unexpected letter"),
    "a digit of another language": ("print(\u0661);".encode(), PARSING, "unexpected letter"),
    "a text of other letters": ('print("\u00e9\U0001f600");'.encode(), FINE, "\u00e9\U0001f600"),
    "a deep nest of brackets": (b"x = " + b"(" * 50_000 + b"1;", PARSING, "nested more than 200"),
    "a deep nest of signs": (b"x = " + b"-" * 50_000 + b"1;", PARSING, "nested more than 200"),
    "a deep nest of blocks": (b"{" * 50_000, PARSING, "nested more than 200"),
    "a deep nest of branches": (b"if (1) " * 50_000 + b"x = 1;", PARSING, "nested more than 200"),
    "a long sum": (b"x = 1" + b"+1" * 20_000 + b";", PARSING, "this expression is too long"),
    "a long index": (b"x = [1]" + b"[0,0]" * 20_000 + b";", PARSING, "expression is too long"),
    "a number of many digits": (b"x = " + b"9" * 50_000 + b";", PARSING, "of 50000 digits"),
    "a float of many digits": (b"print(" + b"9" * 50_000 + b".0);", FINE, "inf\n"),
    "a sequence without an end": (
        b"print(sum(seq(0.0, 1e300, 1.0)));", COMPILING, "more numbers than can be counted",
    ),
    "a matrix without an end": (
        b"print(sum(fill(1.0, 9, 9223372036854775807)));", COMPILING, "of memory at",
    ),
    "a name that no file has": (b'print(readMatrix("a\0.csv"));', RUNNING, "there is no file"),
    "a name that no file can have": (b'write([1], "a\0.csv");', RUNNING, "no file can be called"),
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_strange_texts(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text, status, reported = STRANGE[name]
    Path("s.daph").write_bytes(text)
    assert main(["run", "s.daph"]) == status
    out, err = capsys.readouterr()
    assert reported in out
    assert err == ""


def test_a_folder_is_no_script(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.daph").mkdir()
    assert main(["run", "s.daph"]) == 2
    assert "s.daph is a folder; name a script" in capsys.readouterr().err


def test_properties_that_can_not_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.daph").write_text("print(sum([1, 2]));")
    assert main(["run", "--enable-property-recording=none/p.json", "s.daph"]) == RUNNING
    assert "none/p.json can't be written: No such file" in capsys.readouterr().out


def test_scripts_print_utf_8_in_every_locale() -> None:
    Path("s.daph").write_text('print("\u00e9");', encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "freestone", "run", "s.daph"]
    found = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "\u00e9\n".encode(), b"")

"""SQL as DAPHNE has it: texts in double quotes, labels as a query writes them, groups in order."""

from __future__ import annotations

import pytest

from freestone.errors.lang import ScriptCompileError, ScriptError
from freestone.lang.front.queries import expanded, in_input_order, translated
from tests.lang.scripts import printed

pytest.importorskip("duckdb")

FRAME = (
    'registerView("f", createFrame([3, 1, 2, 1], ["a", "b", "it\'s", "b"], "a", "b")); '
    'registerView("g", createFrame([1, 2], [0.5, 1.5], "k", "v")); '
)


def asked(query: str) -> str:
    escaped = query.replace('"', '\\"')
    return printed(f'{FRAME} print(sql("{escaped}"));')


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('SELECT f.a FROM f WHERE f.b <> "b"', "Frame(2x1, [f.a:int64_t])\n3\n2\n"),
        ('SELECT f.a FROM f WHERE f.b = "b"', "Frame(2x1, [f.a:int64_t])\n1\n1\n"),
        ("SELECT f.a FROM f WHERE f.b = 'b'", "Frame(2x1, [f.a:int64_t])\n1\n1\n"),
        ('SELECT a FROM f WHERE b = "it\'s"', "Frame(1x1, [a:int64_t])\n2\n"),
        ('SELECT f."a" AS "n" FROM f WHERE a > 2', "Frame(1x1, [n:int64_t])\n3\n"),
        ("SELECT a / 2 FROM f", "Frame(4x1, [a/2:int64_t])\n1\n0\n1\n0\n"),
        ("SELECT DISTINCT a FROM f", "Frame(3x1, [a:int64_t])\n1\n2\n3\n"),
        ("SELECT g.v FROM f, g AS h WHERE f.a = g.k", "Frame(3x1, [g.v:double])\n0.5\n1.5\n0.5\n"),
        ("SELECT f.b FROM f ORDER BY f.a", "Frame(4x1, [f.b:std::string])\nb\nb\nit's\na\n"),
        ("SELECT * FROM g", "Frame(2x2, [g.k:int64_t, g.v:double])\n1 0.5\n2 1.5\n"),
        (
            "SELECT g.*, k + 1 FROM g WHERE k=1",
            "Frame(1x3, [g.k:int64_t, g.v:double, k+1:int64_t])\n",
        ),
        ("SELECT SUM( k * 2 ) FROM g", "Frame(1x1, [SUM(k*2):int64_t])\n6\n"),
        ("SELECT f.b FROM f WHERE f.b = 'it\\\\'s'", "Frame(1x1, [f.b:std::string])\nit's\n"),
        (
            "SELECT * FROM f, g AS h WHERE f.a = h.k AND f.b = 'a'",
            "Frame(0x4, [f.a:int64_t, f.b:std::string, h.k:int64_t, h.v:double])\n",
        ),
        (
            "SELECT *, COUNT(g.k) AS n FROM f JOIN g ON f.a = g.k GROUP BY f.b",
            "Frame(2x2, [f.b:std::string, n:int64_t])\nb 2\nit's 1\n",
        ),
        ("SELECT * FROM g GROUP BY g.*", "Frame(2x2, [g.k:int64_t, g.v:double])\n1 0.5\n2 1.5\n"),
        (
            "SELECT SUM(a), b FROM f GROUP BY b",
            "Frame(3x2, [SUM(a):int64_t, b:std::string])\n3 a\n",
        ),
        ("SELECT k one, v AS two FROM g LIMIT 1", "Frame(1x2, [one:int64_t, two:double])\n1 0.5\n"),
        ("SELECT a FROM f GROUP BY a LIMIT 2", "Frame(2x1, [a:int64_t])\n1\n2\n"),
        (
            "SELECT DISTINCT COUNT(*) AS n FROM f GROUP BY a ORDER BY n",
            "Frame(2x1, [n:int64_t])\n1\n",
        ),
    ],
)
def test_queries(query: str, expected: str) -> None:
    assert asked(query).startswith(expected)


@pytest.mark.parametrize("query", ["SELECT a, a FROM f", "SELECT k AS x, v AS x FROM g"])
def test_two_columns_with_one_label_are_refused(query: str) -> None:
    with pytest.raises(ScriptCompileError, match="two columns have the label"):
        asked(query)


def test_groups_of_a_large_frame_are_in_order() -> None:
    text = 'registerView("h", createFrame(reverse(seq(0, 299999)), "a"));'
    text += 'r = sql("SELECT a, COUNT(*) AS n FROM h GROUP BY a"); m = as.matrix<si64>(r);'
    assert (
        printed(f"{text} print(nrow(m)); print(sum(m[, 0] == seq(0, 299999)));")
        == "300000\n300000\n"
    )


def test_rows_of_a_join_are_in_the_order_of_its_tables() -> None:
    text = 'registerView("x", createFrame(seq(0, 4), "a")); '
    text += 'registerView("y", createFrame(4 - seq(0, 999) % 5, seq(0, 999), "c", "d")); '
    text += 'r = sql("SELECT x.a, y.d FROM x JOIN y ON x.a = y.c"); m = as.matrix<si64>(r); '
    text += "o = order(m, 0, 1, true, true, false); print(sum(m != o));"
    assert printed(text) == "0\n"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a.x FROM a, b", "SELECT a.x FROM a, b ORDER BY a.rowid, b.rowid"),
        ("SELECT x FROM a k ORDER BY x LIMIT 2", "SELECT x FROM a k ORDER BY x, k.rowid LIMIT 2"),
        ("SELECT SUM(x) FROM a, b", "SELECT SUM(x) FROM a, b"),
        ("SELECT x FROM (SELECT 1 AS x) k, b", "SELECT x FROM (SELECT 1 AS x) k, b"),
        ("SELECT x, y FROM a, b GROUP BY x, y", "SELECT x, y FROM a, b GROUP BY x, y"),
    ],
)
def test_the_order_of_the_input_is_that_of_row_ids(query: str, expected: str) -> None:
    assert in_input_order(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('SELECT "a""b"', "SELECT 'a\"b'"),
        ("SELECT 'say \"x\"'", "SELECT 'say \"x\"'"),
        ('SELECT x AS "n", f . "m" FROM f', 'SELECT x AS "n", f . "m" FROM f'),
        ("SELECT (SELECT 1 GROUP BY 1) FROM f", "SELECT (SELECT 1 GROUP BY 1) FROM f"),
        (r"SELECT 'a\'b', 'tab\t'", "SELECT 'a''b', 'tab\t'"),
        (r"SELECT 'a\\b', '\d'", r"SELECT E'a\\b', E'\\d'"),
    ],
)
def test_translations(query: str, expected: str) -> None:
    assert translated(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT g.*, a FROM f, g", "SELECT g.k, a FROM f, g"),
        ("SELECT DISTINCT * FROM g k LIMIT 1", "SELECT DISTINCT k.k FROM g k LIMIT 1"),
        ("SELECT k.* FROM g AS k", "SELECT k.k FROM g AS k"),
        ("SELECT g.* FROM g AS k", "SELECT k.k FROM g AS k"),
        ("SELECT f.* FROM f, g GROUP BY f.a, g.k", "SELECT f.a FROM f, g GROUP BY f.a, g.k"),
        ("SELECT COUNT(*) FROM f", "SELECT COUNT(*) FROM f"),
        ("SELECT * FROM f JOIN g USING (a)", "SELECT * FROM f JOIN g USING (a)"),
        ("SELECT * FROM f, (SELECT 1) AS s", "SELECT * FROM f, (SELECT 1) AS s"),
        ("SELECT * FROM unknown", "SELECT * FROM unknown"),
    ],
)
def test_stars_stand_for_columns(query: str, expected: str) -> None:
    assert expanded(query, {"f": ["a", "b c"], "g": ["k"]}) == expected


def test_a_frame_that_is_not_known_says_how_it_becomes_so() -> None:
    with pytest.raises(ScriptError, match=r'registerView\("h", frame\).* known are: f, g'):
        asked("SELECT a FROM h")
    with pytest.raises(ScriptError, match="known are: none"):
        printed('print(sql("SELECT a FROM h"));')

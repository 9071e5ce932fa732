"""Whatever stands in a script, it compiles or there is an error with a place."""

import contextlib
import io
import os

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from freestone.errors.lang import ScriptError
from freestone.lang.front.builtins import BUILTINS
from freestone.lang.front.parse.source import Source
from freestone.lang.script import compile_source, run_text
from freestone.lang.settings import Settings

SIGNS = "( ) [ ] [[ ]] { } , ; : = == + - * / ^ % @ < >= && || ? :: -> $ . as as.f64 as.matrix"
WORDS = "if else while do for in def return import x y f matrix<f64> si64 true nan 0 1 2.5 1f 3u"
PIECES = [*SIGNS.split(), *WORDS.split(), '"a"', "x[0, ]", "[1, 2]", "x = 1;", "print(x);"]
LONG = 2000 if os.environ.get("CI") else 300


@settings(max_examples=LONG, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join))
@example("x = [1, 2]; x[x, x[x, ]] = x;")
@example("for (i in 1:2) for (j in i:3) x = i;")
def test_pieces_of_scripts(text: str) -> None:
    with contextlib.suppress(ScriptError):
        compile_source(Source(text, "fuzz"), {}, Settings(vec=True))


@settings(max_examples=LONG, deadline=None)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    with contextlib.suppress(ScriptError):
        compile_source(Source(text, "fuzz"), {}, Settings())


VALUES = ["1", "-2", "0", "2.5", "nan", '"a"', "true", "[1, 2]", "[1.5, 0.5](1, 2)", "[3]"]
VALUES += ['{"a": [1, 2]}', "createList([1])", '["a", "b"]', "fill(1.0, 2, 2)", "fill(0, 0, 3)"]
# Files are not written, and what takes the time of day, or a large number, is left out.
CALLED = sorted(set(BUILTINS) - {"write", "writeMatrix", "writeFrame", "now"})


@settings(max_examples=LONG, deadline=None)
@given(st.sampled_from(CALLED), st.lists(st.sampled_from(VALUES), max_size=6))
def test_calls_of_built_in_functions(name: str, values: list[str]) -> None:
    with contextlib.suppress(ScriptError):
        run_text(f"{name}({', '.join(values)});", out=io.StringIO())
        run_text(f"x = {name}({', '.join(values)}); print(x);", out=io.StringIO())


SQL = (
    "SELECT DISTINCT * f g f.a f.b g.a a b , + - / ( ) SUM( COUNT( MIN( MAX( AVG( AS s FROM JOIN "
    "INNER ON = < >= <> WHERE AND OR NOT BETWEEN GROUP BY HAVING ORDER DESC 1 0 2.5 'x' NULL ; -- "
    "INSERT DROP TABLE LIMIT UNION CASE WHEN THEN END read_csv('x') \\\" \\n"
)
SQL_PIECES = SQL.split()
FRAMES = 'registerView("f", {"a": [1, 2], "b": [0.5, 1.5]}); registerView("g", {"a": ["x", "y"]}); '
WHOLE = [
    "SELECT f.a FROM f",
    "SELECT * FROM f, g",
    "SELECT f.a, SUM(f.b) AS s FROM f GROUP BY f.a HAVING SUM(f.b) > 1 ORDER BY f.a",
    "SELECT COUNT(*) FROM f JOIN g ON f.b < 2",
]


def asked(query: str) -> None:
    """Run a query in a script: it gives a frame, or there is an error with a place."""
    with contextlib.suppress(ScriptError):
        run_text(f'{FRAMES}x = sql("{query}"); print(x);', out=io.StringIO())


queries = st.lists(st.sampled_from(SQL_PIECES), max_size=14).map(" ".join)


@settings(max_examples=LONG // 4, deadline=None)
@given(queries.map("SELECT ".__add__) | queries)
@example("SELECT f.a, f.a FROM f")
@example("SELECT FROM")
@example("SELECT NULL FROM f")
@example("SELECT 1; DROP TABLE f")
def test_pieces_of_queries(query: str) -> None:
    pytest.importorskip("duckdb")
    asked(query)


@settings(max_examples=LONG // 4, deadline=None)
@given(st.sampled_from(WHOLE), st.data())
def test_queries_that_are_nearly_right(query: str, data: st.DataObject) -> None:
    pytest.importorskip("duckdb")
    words = query.split()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(words)))
        words[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.lists(st.sampled_from(SQL_PIECES), max_size=2)
        )
    asked(" ".join(words))


@settings(max_examples=LONG // 4, deadline=None)
@given(st.text(max_size=40))
def test_any_query(text: str) -> None:
    pytest.importorskip("duckdb")
    asked("SELECT " + text.replace("\\", "").replace('"', ""))

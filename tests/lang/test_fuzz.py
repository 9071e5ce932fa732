"""Whatever stands in a script, it compiles or there is an error with a place."""

import contextlib
import io
import os

from hypothesis import example, given, settings
from hypothesis import strategies as st

from freestone.errors.lang import ScriptError
from freestone.lang.builtins import BUILTINS
from freestone.lang.parse.source import Source
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

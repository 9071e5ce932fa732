from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from freestone.functions import encode

FUNCTIONS = """
import dataclasses, enum, functools, math, re, datetime, collections, pathlib, decimal
import numpy as np

CONSTANT = 3
TABLE = {"b": 1, "a": [1, 2.5, None, ("x", b"y")]}
NAMES = {"alpha", "beta", "gamma", "delta"}
FROZEN = frozenset(NAMES)
ARRAY = np.arange(50_000, dtype="f4").reshape(100, 500)
MIXED = np.array(["a", 1, None], dtype=object)
GENERATOR = np.random.default_rng(5)
PATTERN = re.compile("a+b", re.I)

class Colour(enum.Enum):
    RED = 1
    BLUE = 2
    def twice(self):
        return self.value * CONSTANT

class Mode(enum.Flag):
    A = 1
    B = 2

@dataclasses.dataclass(frozen=True)
class Cuts:
    pt: float = 20.0
    tags: tuple[str, ...] = ("a",)
    extra: dict[str, int] = dataclasses.field(default_factory=dict)

CUTS = Cuts(pt=25.0)
Point = collections.namedtuple("Point", "x y")

class Base:
    kind = "base"
    def __init__(self, k=2): self.k = k
    def apply(self, x): return x * self.k + CONSTANT
    @staticmethod
    def static(x): return x
    @classmethod
    def make(cls): return cls(4)
    @property
    def double(self): return self.k * 2
    @functools.cached_property
    def triple(self): return self.k * 3

class Derived(Base):
    __slots__ = ("other",)
    def apply(self, x): return super().apply(x) + len({"p", "q", "r"})

class Callable:
    def __init__(self): self.names = {"u", "v", "w"}
    def __call__(self, x): return x

def traced(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper

def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
def loop(n): return 1 if n == 0 else n * loop(n - 1)
@traced
def decorated(x, *, y=2): return x + y + CONSTANT
@functools.lru_cache(maxsize=10)
def remembered(x): return x + CONSTANT
def outer(a):
    b = a + 1
    def inner(x):
        return [v + b for v in x if (lambda q: q > a)(v)]
    return inner
def consts(x): return x in {"one", "two", "three"} and x not in ("s", ...)
def imports(x):
    import json
    from scipy import optimize
    from sklearn.base import BaseEstimator
    return json.dumps(x)
def everything(x):
    return (TABLE, NAMES, FROZEN, ARRAY, MIXED, PATTERN, Colour.RED, Mode.A | Mode.B, CUTS, Cuts,
            Point(1, 2), Colour, Derived, datetime.date(2020, 1, 1), math.tau, -0.0, 1e400, 2**300)
def random(): return GENERATOR.normal()
def paths(): return pathlib.PurePosixPath("x"), decimal.Decimal("1.50")
async def coroutine(x): return x
def generator(x): yield from x

everything_names = {
    name: function
    for name, function in dict(
        even=even, odd=odd, loop=loop, decorated=decorated, remembered=remembered, inner=outer(3),
        consts=consts, imports=imports, everything=everything, random=random, paths=paths,
        coroutine=coroutine, generator=generator, lambda_=lambda x: x + CONSTANT,
        partial=functools.partial(even, 3), keywords=functools.partial(decorated, y=1, x=2),
        method=Derived().apply, classmethod=Base.make, instance=Callable(), cls=Derived,
        ufunc=np.sin, dot=np.dot, length=len, upper=str.upper, bound=[1, 2].append,
        special=__import__("scipy.special").special.expit, sqrt=math.sqrt,
    ).items()
}
"""
PRINT = """
import sys
sys.path[:0] = ["tests"]
from freestone.functions import encode
for name, function in everything_names.items():
    print(name, encode(function).name.hex())
"""


def names_in_a_process(script: Path, seed: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, str(script)],
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


def test_names_are_equal_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one, two = tmp_path / "one.py", tmp_path / "other" / "two.py"
    one.write_text(FUNCTIONS + PRINT)
    two.write_text("import scipy.stats\n# a comment\n\n\n" + FUNCTIONS + "\n\n" + PRINT)
    first, second = (
        names_in_a_process(one, "1"),
        names_in_a_process(two, "77"),
    )
    assert first == second
    assert len(set(first.values())) == len(first) == 27


def name_of(source: str, file: str = "script.py", **globals_: Any) -> str:
    namespace: dict[str, Any] = {"__name__": "__main__", **globals_}
    exec(compile(textwrap.dedent(source), file, "exec"), namespace)
    return encode(namespace["f"]).name.hex()


CHANGES = {
    "a constant in the code": ("def f(x): return x + 1", "def f(x): return x + 2"),
    "a constant's type": ("def f(x): return 1", "def f(x): return 1.0"),
    "a sign of zero": ("def f(x): return 0.0", "def f(x): return -0.0"),
    "true for one": ("def f(x): return True", "def f(x): return 1"),
    "an operation": ("def f(x): return x + 1", "def f(x): return x - 1"),
    "a called name": ("def f(x): return x.a()", "def f(x): return x.b()"),
    "an argument's name": ("def f(x): return 1", "def f(y): return 1"),
    "a default": ("def f(x=1): return x", "def f(x=2): return x"),
    "a keyword's default": ("def f(*, x=1): return x", "def f(*, x=2): return x"),
    "a default in a list": ("def f(x=[1]): return x", "def f(x=[2]): return x"),
    "a global": ("K = 1\ndef f(): return K", "K = 2\ndef f(): return K"),
    "a global's type": ("K = 1\ndef f(): return K", "K = '1'\ndef f(): return K"),
    "a global in a nested function": (
        "K = 1\ndef f(): return lambda: K",
        "K = 2\ndef f(): return lambda: K",
    ),
    "a helper": (
        "def g(x): return x + 1\ndef f(x): return g(x)",
        "def g(x): return x + 2\ndef f(x): return g(x)",
    ),
    "a helper's global": (
        "K = 1\ndef g(x): return x + K\ndef f(x): return g(x)",
        "K = 2\ndef g(x): return x + K\ndef f(x): return g(x)",
    ),
    "a helper's helper in a cycle": (
        "def g(n): return n and f(n - 1)\ndef f(n): return g(n) + 1",
        "def g(n): return n and f(n - 2)\ndef f(n): return g(n) + 1",
    ),
    "a closure": (
        "def o(k):\n  return lambda: k\nf = o(1)",
        "def o(k):\n  return lambda: k\nf = o(2)",
    ),
    "a method": (
        "class A:\n  def m(self): return 1\ndef f(): return A().m()",
        "class A:\n  def m(self): return 2\ndef f(): return A().m()",
    ),
    "a method of a base": (
        "class B:\n  def m(self): return 1\nclass A(B): pass\ndef f(): return A().m()",
        "class B:\n  def m(self): return 2\nclass A(B): pass\ndef f(): return A().m()",
    ),
    "a class attribute": (
        "class A:\n  k = 1\ndef f(): return A.k",
        "class A:\n  k = 2\ndef f(): return A.k",
    ),
    "a property": (
        "class A:\n  @property\n  def m(self): return 1\ndef f(): return A().m",
        "class A:\n  @property\n  def m(self): return 2\ndef f(): return A().m",
    ),
    "a cached property": (
        "import functools\nclass A:\n  @functools.cached_property\n  def m(self): return 1\n"
        "def f(): return A().m",
        "import functools\nclass A:\n  @functools.cached_property\n  def m(self): return 2\n"
        "def f(): return A().m",
    ),
    "a static method": (
        "class A:\n  @staticmethod\n  def m(): return 1\ndef f(): return A.m()",
        "class A:\n  @staticmethod\n  def m(): return 2\ndef f(): return A.m()",
    ),
    "an attribute of an object": (
        "class A:\n  pass\na = A(); a.k = 1\ndef f(): return a.k",
        "class A:\n  pass\na = A(); a.k = 2\ndef f(): return a.k",
    ),
    "a bound object": (
        "class A:\n  def m(self): return self.k\na = A(); a.k = 1\nf = a.m",
        "class A:\n  def m(self): return self.k\na = A(); a.k = 2\nf = a.m",
    ),
    "a partial's argument": (
        "import functools\ndef g(x): return x\nf = functools.partial(g, 1)",
        "import functools\ndef g(x): return x\nf = functools.partial(g, 2)",
    ),
    "a partial's keyword": (
        "import functools\ndef g(x, y): return x\nf = functools.partial(g, x=1)",
        "import functools\ndef g(x, y): return x\nf = functools.partial(g, y=1)",
    ),
    "a partial's function": (
        "import functools\ndef g(x): return x\nf = functools.partial(g, 1)",
        "import functools\ndef g(x): return -x\nf = functools.partial(g, 1)",
    ),
    "what is decorated": (
        "import functools\ndef d(g):\n  @functools.wraps(g)\n  def w(*a): return g(*a)\n"
        "  return w\n@d\ndef f(x): return x + 1",
        "import functools\ndef d(g):\n  @functools.wraps(g)\n  def w(*a): return g(*a)\n"
        "  return w\n@d\ndef f(x): return x + 2",
    ),
    "what is cached": (
        "import functools\n@functools.lru_cache\ndef f(x): return x + 1",
        "import functools\n@functools.lru_cache\ndef f(x): return x + 2",
    ),
    "an enum's value": (
        "import enum\nclass E(enum.Enum):\n  A = 1\ndef f(): return E.A",
        "import enum\nclass E(enum.Enum):\n  A = 2\ndef f(): return E.A",
    ),
    "an enum's method": (
        "import enum\nclass E(enum.Enum):\n  A = 1\n  def m(self): return 1\ndef f(): return E.A",
        "import enum\nclass E(enum.Enum):\n  A = 1\n  def m(self): return 2\ndef f(): return E.A",
    ),
    "a dataclass's default": (
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n  k: int = 1\ndef f(): return C()",
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n  k: int = 2\ndef f(): return C()",
    ),
    "a dataclass's value": (
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n  k: int\nc = C(1)\n"
        "def f(): return c",
        "import dataclasses\n@dataclasses.dataclass\nclass C:\n  k: int\nc = C(2)\n"
        "def f(): return c",
    ),
    "an array's element": (
        "import numpy as np\na = np.zeros(10**6)\ndef f(): return a",
        "import numpy as np\na = np.zeros(10**6); a[77] = 1\ndef f(): return a",
    ),
    "an array's type": (
        "import numpy as np\na = np.zeros(4, 'i4')\ndef f(): return a",
        "import numpy as np\na = np.zeros(4, 'f4')\ndef f(): return a",
    ),
    "an array's shape": (
        "import numpy as np\na = np.zeros(4)\ndef f(): return a",
        "import numpy as np\na = np.zeros((2, 2))\ndef f(): return a",
    ),
    "an array's fields": (
        "import numpy as np\na = np.zeros(4, [('x', 'f4')])\ndef f(): return a",
        "import numpy as np\na = np.zeros(4, [('y', 'f4')])\ndef f(): return a",
    ),
    "a generator's seed": (
        "import numpy as np\na = np.random.default_rng(1)\ndef f(): return a",
        "import numpy as np\na = np.random.default_rng(2)\ndef f(): return a",
    ),
    "a generator's state": (
        "import numpy as np\na = np.random.default_rng(1)\ndef f(): return a",
        "import numpy as np\na = np.random.default_rng(1); a.normal()\ndef f(): return a",
    ),
    "an installed function": (
        "import numpy as np\ng = np.sin\ndef f(): return g",
        "import numpy as np\ng = np.cos\ndef f(): return g",
    ),
    "a module": (
        "import math as m\ndef f(x): return m.log(x)",
        "import numpy as m\ndef f(x): return m.log(x)",
    ),
    "an import": (
        "def f():\n  import json as m\n  return m.load",
        "def f():\n  import pickle as m\n  return m.load",
    ),
    "the order of a list": ("K = [1, 2]\ndef f(): return K", "K = [2, 1]\ndef f(): return K"),
    "the order of a dict, which a loop sees": (
        "K = {'a': 1, 'b': 2}\ndef f(): return K",
        "K = {'b': 2, 'a': 1}\ndef f(): return K",
    ),
    "a set": ("K = {1, 2}\ndef f(): return K", "K = {1, 3}\ndef f(): return K"),
    "a handler": (
        "def f():\n  try: g()\n  except ValueError: return 1",
        "def f():\n  try: g()\n  except TypeError: return 1",
    ),
    "a name that is defined": ("def f(): return g", "g = 1\ndef f(): return g"),
}

NO_CHANGES = {
    "a comment": ("def f(x): return x", "# hello\ndef f(x):  # there\n    return x"),
    "lines": ("def f(x): return x + 1", "\n\n\ndef f(x):\n\n    return (x\n    + 1)"),
    "another global": ("K = 1\ndef f(): return K", "J = 5\nK = 1\ndef f(): return K"),
    "annotations": ("def f(x): return x", "def f(x: int) -> int: return x"),
    "a method's place": (
        "class A:\n  def m(self): return 1\n  def n(self): return 2\ndef f(): return A()",
        "class A:\n  def n(self): return 2\n  def m(self): return 1\ndef f(): return A()",
    ),
    "the order of attributes": (
        "class A: pass\na = A(); a.x = 1; a.y = 2\ndef f(): return a",
        "class A: pass\na = A(); a.y = 2; a.x = 1\ndef f(): return a",
    ),
    "the order of keywords": (
        "import functools\ndef g(**k): return k\nf = functools.partial(g, a=1, b=2)",
        "import functools\ndef g(**k): return k\nf = functools.partial(g, b=2, a=1)",
    ),
    "the order of a set": (
        "K = {'a', 'b', (1, 'c')}\ndef f(): return K",
        "K = {(1, 'c'), 'b', 'a'}\ndef f(): return K",
    ),
    "where functions are in a cycle through a set": (
        "def f(): return K\ndef g(): return f\nK = {f, g}",
        "def g(): return f\ndef f(): return K\nK = {g, f}",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_gives_another_name(change: str) -> None:
    one, two = CHANGES[change]
    assert name_of(one) != name_of(two)
    assert name_of(one) == name_of(one)


@pytest.mark.parametrize("change", NO_CHANGES)
def test_what_does_not_matter_gives_the_same_name(change: str) -> None:
    one, two = NO_CHANGES[change]
    assert name_of(one) == name_of(two, file="another.py")


def test_many_functions_that_refer_to_each_other_are_walked_once() -> None:
    everyone = ", ".join(f"f{k}" for k in range(50))
    source = "".join(f"def f{k}(): return {everyone}\n" for k in range(50))
    assert len(name_of(source + "f = f0")) == 32


def test_functions_of_equal_text_in_two_modules_have_two_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may reach what their modules have by its name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, cut in (("muons_of_test", 1), ("electrons_of_test", 2)):
        text = f"CUT = {cut}\ndef by_name(name):\n    return globals()[name]\n"
        (tmp_path / f"{name}.py").write_text(text)
    modules = [__import__(name) for name in ("muons_of_test", "electrons_of_test")]
    assert len({encode(module.by_name).name for module in modules}) == 2

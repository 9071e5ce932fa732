from __future__ import annotations

import functools
import gc
import importlib
import importlib.util
import random
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from freestone.errors import NotSerializableError
from freestone.functions import encode, label_of, load
from freestone.functions.identity import IdentityCache

LOCK = threading.Lock()


def in_main(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(source, namespace)
    return namespace


def test_a_function_runs_as_it_did() -> None:
    space = in_main(
        "import math\nK = 2\ndef g(x): return x * K\ndef f(x, y=1): return math.floor(g(x) + y)"
    )
    encoded = encode(space["f"])
    assert load(encoded.definition)(3.5) == 8
    assert encoded.label == "f"
    assert len(encoded.name) == 16


@pytest.mark.parametrize(
    ("function", "argument", "result"),
    [
        (len, "abc", 3),
        (np.sqrt, 4.0, 2.0),
        (functools.partial(max, 5), 3, 5),
        (str.upper, "a", "A"),
        (int, "7", 7),
        ([3, 4].index, 4, 1),
        (lambda x: x + 1, 1, 2),
    ],
)
def test_all_kinds_of_callables_are_sent(
    function: Callable[..., Any], argument: Any, result: Any
) -> None:
    assert load(encode(function).definition)(argument) == result


@pytest.mark.parametrize("method", [np.random.rand, random.random])
def test_methods_of_the_processs_own_generators_are_each_processs_own(
    method: Callable[[], float],
) -> None:
    draws = in_main("def f(): return draw()")
    draws["draw"] = method
    before = [encode(function).name for function in (method, draws["f"])]
    for function in (method, functools.partial(method), draws["f"]):
        loaded = load(encode(function).definition)
        ours = loaded()
        state = np.random.get_state(), random.getstate()
        theirs = loaded()
        np.random.set_state(state[0])
        random.setstate(state[1])
        assert method() == theirs != ours
    # What was drawn here does not change what it is called.
    assert [encode(function).name for function in (method, draws["f"])] == before


def test_a_generator_that_a_function_brings_has_its_state() -> None:
    generator = np.random.default_rng(7)
    loaded = load(encode(generator.random).definition)
    assert loaded() == generator.random()


def test_a_cached_function_of_a_script_is_sent() -> None:
    space = in_main("import functools\n@functools.lru_cache(maxsize=3)\ndef f(x): return x + 1")
    loaded: Any = load(encode(space["f"]).definition)
    assert loaded(1) == 2
    assert loaded.cache_parameters() == {"maxsize": 3, "typed": False}


DISPATCHING = """
import functools

@functools.singledispatch
def shown(value):
    "Show a value."
    return repr(value)

@shown.register
def _(value: list):
    return [shown(item) for item in value]

shown.note = "own"

class Shower:
    @functools.singledispatchmethod
    def show(self, value):
        return "any"

    @show.register
    def _(self, value: int):
        return "int"

def f(value):
    return shown(value), shown.note, shown.__doc__, Shower().show(value), Shower().show(3)
"""


def test_single_dispatch_of_a_script_is_sent() -> None:
    space = in_main(DISPATCHING)
    before = encode(space["f"])
    assert load(before.definition)([1, "a"]) == (["1", "'a'"], "own", "Show a value.", "any", "int")
    assert load(encode(space["shown"]).definition)([1]) == ["1"]
    assert encode(space["f"]) is before
    assert encode(in_main(DISPATCHING)["f"]).name == before.name


def test_what_is_registered_later_is_in_the_name_and_is_sent() -> None:
    space = in_main(DISPATCHING)
    names = {encode(space["f"]).name}
    space["shown"].register(str, lambda value: f"a text: {value}")
    names.add(encode(space["f"]).name)
    assert load(encode(space["f"]).definition)(["a"])[0] == ["a text: a"]
    space["Shower"].show.register(list, lambda self, value: "list")
    names.add(encode(space["f"]).name)
    assert load(encode(space["f"]).definition)([])[3] == "list"
    space["shown"].note = "changed"
    names.add(encode(space["f"]).name)
    assert len(names) == 4


def test_single_dispatch_of_a_module_goes_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = "import threading\nLOCK = threading.Lock()\n"
    body = "@functools.singledispatch\ndef shown(value):\n    return LOCK.locked()\n"
    (tmp_path / "dispatching_module.py").write_text(f"import functools\n{lock}{body}")
    monkeypatch.syspath_prepend(tmp_path)
    shown = importlib.import_module("dispatching_module").shown
    encoded = encode(shown)
    assert load(encoded.definition)(1) is False
    assert b"dispatching_module.py" in encoded.definition


MADE = """
LIMIT = 3

class Kept:
    def value(self):
        return LIMIT

def limit():
    return LIMIT
"""


@pytest.mark.parametrize("has_file", [True, False])
@pytest.mark.parametrize("is_known", [True, False])
def test_modules_that_no_import_finds_elsewhere_travel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_file: bool, is_known: bool
) -> None:
    name = "made_at_run_time"
    if has_file:
        (tmp_path / "other_name.py").write_text(MADE)
        spec = importlib.util.spec_from_file_location(name, tmp_path / "other_name.py")
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
    else:
        made = ModuleType(name)
    if is_known:
        monkeypatch.setitem(sys.modules, name, made)
    if has_file:
        spec.loader.exec_module(made)
    else:
        exec(MADE, vars(made))
    space = in_main(
        "def read(): return made.LIMIT\n"
        "def call(): return made.limit()\n"
        "def instance(): return made.Kept().value()\n"
    )
    space["made"] = made
    functions = [
        space["read"],
        space["call"],
        space["instance"],
        made.limit,
        lambda: kind().value(),
    ]
    kind = made.Kept
    before = [encode(function) for function in functions]
    monkeypatch.delitem(sys.modules, name, raising=False)
    assert [load(encoded.definition)() for encoded in before] == [3] * 5
    if is_known:
        monkeypatch.setitem(sys.modules, name, made)
    made.LIMIT = 4
    after = [encode(function) for function in functions]
    assert not {one.name for one in before} & {one.name for one in after}
    assert [load(encoded.definition)() for encoded in after] == [4] * 5


def test_the_error_for_a_context_variable_says_what_to_do() -> None:
    space = in_main("import contextvars\nv = contextvars.ContextVar('v')\ndef f(): return v.get()")
    with pytest.raises(NotSerializableError, match=r"global 'v' .*pass what its get\(\) returns"):
        encode(space["f"])


def test_the_error_for_a_future_of_another_pool_says_what_to_do() -> None:
    space = in_main("import concurrent.futures as c\nv = c.Future()\ndef f(): return v.result()")
    with pytest.raises(NotSerializableError, match=r"global 'v' .*send its value, future.result\("):
        encode(space["f"])


def test_the_main_module_of_a_spawned_child_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("__mp_main__")
    exec("K = 2\nclass C: k = 3\ndef g(x): return x * K + C.k\ndef f(x): return g(x)", vars(module))
    monkeypatch.setitem(sys.modules, "__mp_main__", module)
    encoded = encode(module.f)
    monkeypatch.delitem(sys.modules, "__mp_main__")
    assert load(encoded.definition)(5) == 13


def test_the_same_function_is_encoded_once() -> None:
    space = in_main("K = 1\ndef f(): return K")
    assert encode(space["f"]) is encode(space["f"])


@pytest.mark.parametrize(
    ("source", "change"),
    [
        ("K = 1\ndef f(): return K", "K = 2"),
        ("K = [1]\ndef f(): return K", "K.append(2)"),
        ("K = {'a': 1}\ndef f(): return K", "K['a'] = 2"),
        ("import numpy as np\nK = np.zeros(5)\ndef f(): return K", "K[2] = 7"),
        ("def g(): return 1\ndef f(): return g()", "def g(): return 2"),
        ("K = 1\ndef g(): return K\ndef f(): return g()", "K = 2"),
        ("class A:\n  k = 1\ndef f(): return A().k", "class A:\n  k = 2"),
        ("class A: pass\na = A()\ndef f(): return a.k", "a.k = 2"),
        ("def f(): return missing", "missing = 1"),
        ("def f(): return 1\ndef g(): return 2", "f.__code__ = g.__code__"),
        ("def f(): return g()\ndef g(): return 2\ndef h(): return 3", "g.__code__ = h.__code__"),
        (
            "def o():\n  k = 1\n  def f(): return k\n  def s():\n    nonlocal k\n    k = 2\n"
            "  return f, s\nf, s = o()",
            "s()",
        ),
    ],
)
def test_what_changes_between_submissions_is_noticed(source: str, change: str) -> None:
    space = in_main(source)
    before = encode(space["f"])
    assert encode(space["f"]) is before
    exec(change, space)
    after = encode(space["f"])
    assert after.name != before.name
    assert after.definition != before.definition
    assert encode(space["f"]) is after


def test_changing_back_gives_the_first_name_again() -> None:
    space = in_main("K = 1\ndef f(): return K")
    first = encode(space["f"])
    space["K"] = 2
    second = encode(space["f"])
    space["K"] = 1
    assert encode(space["f"]).name == first.name != second.name


def test_a_function_that_is_gone_leaves_nothing_behind() -> None:
    space = in_main("def o():\n  def f(n): return n and f(n - 1)\n  return f\nf = o()")
    encoded = encode(space["f"])
    functions, gone = weakref.ref(space.pop("f")), weakref.ref(encoded)
    del encoded
    gc.collect()
    assert functions() is None
    assert gone() is None


@pytest.mark.parametrize(
    ("source", "where"),
    [
        ("def f(): return LOCK", "global 'LOCK' of function 'f'"),
        ("T = {'a': [1, LOCK]}\ndef f(): return T", "global 'T', item 'a', item 1 of function 'f'"),
        ("def f(x=LOCK): return x", "default 1 of function 'f'"),
        (
            "def o(lock):\n  def g(): return lock\n  return g\nf = o(LOCK)",
            "closure variable 'lock' of function 'o.<locals>.g'",
        ),
        (
            "class A: pass\na = A(); a.lock = LOCK\ndef g(): return a\ndef f(): return g()",
            "global 'a', attribute 'lock' of function 'g'",
        ),
        ("import functools\nf = functools.partial(print, LOCK)", "argument 1 of partial"),
        ("G = (x for x in [])\ndef f(): return G", "global 'G' of function 'f'"),
    ],
)
def test_what_can_not_be_sent_is_named(source: str, where: str) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__", "LOCK": LOCK}
    exec(source, namespace)
    with pytest.raises(NotSerializableError) as caught:
        encode(namespace["f"])
    assert caught.value.where == where
    assert caught.value.kind in ("_thread.lock", "generator")
    assert caught.value.what == "function"
    assert where in str(caught.value)


def test_data_that_is_nested_too_deeply_is_refused() -> None:
    space = in_main("K = []\nfor _ in range(5000): K = [K]\ndef f(): return K")
    with pytest.raises(NotSerializableError, match="nested too deeply"):
        encode(space["f"])


def test_hoisting_does_not_change_the_name() -> None:
    space = in_main("def f():\n  import json\n  return json")
    with_, without = encode(space["f"]), encode(space["f"], hoist=False)
    assert with_.name == without.name
    assert len(without.definition) < len(with_.definition)


def test_labels() -> None:
    class Thing:
        def act(self) -> None: ...

        def __call__(self) -> None: ...

    def local() -> None: ...

    assert label_of(Thing().act) == "Thing.act"
    assert label_of(Thing()) == "Thing"
    assert label_of(local) == "local"
    assert label_of(functools.partial(local)) == "local"
    assert label_of(np.sin) == "sin"


def test_the_cache_does_not_hold_or_compare_its_keys() -> None:
    class Odd:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise AssertionError

    cache: IdentityCache[Any, int] = IdentityCache()
    key = Odd()
    assert cache.put(key, 1)
    assert cache.get(key) == 1
    assert cache.get(Odd()) is None
    del key
    gc.collect()
    assert len(cache) == 0
    assert not cache.put((), 1)

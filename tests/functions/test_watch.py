import enum
from functools import cache
from types import ModuleType
from typing import ClassVar, NamedTuple

import pytest

from freestone.functions import encode, load, watch


def one():
    return 1


def two():
    return 2


TABLE = {"a": one, "b": [one, (two, 3)]}
CYCLE: list = [one]
CYCLE.append(CYCLE)


FACTOR = 2


@cache
def cached():
    return FACTOR


CACHED = {"a": cached}


def use_cached():
    return CACHED["a"]()


def test_what_a_function_with_a_cache_uses_is_watched(monkeypatch):
    before = encode(use_cached)
    assert encode(use_cached) is before
    monkeypatch.setattr("freestone.functions.watch.digest", None)
    assert encode(use_cached) is before
    monkeypatch.undo()
    monkeypatch.setitem(globals(), "FACTOR", 3)
    assert encode(use_cached).name != before.name


def use_table():
    return TABLE["a"]()


def use_cycle():
    return CYCLE[0]()


def test_a_table_of_functions_is_known_again():
    assert encode(use_table) is encode(use_table)


@pytest.mark.parametrize(
    "change",
    [
        {"a": two, "b": [one, (two, 3)]},
        {"a": one, "b": [one, (two, 4)]},
        {"a": one, "b": [one, (two, 3)], "c": 1},
        {"b": [one, (two, 3)], "a": one},
        {"a": one, "c": [one, (two, 3)]},
    ],
)
def test_a_change_in_a_table_of_functions_is_noticed(change, monkeypatch):
    before = encode(use_table).name
    saved = dict(TABLE)
    try:
        TABLE.clear()
        TABLE.update(change)
        assert encode(use_table).name != before
    finally:
        TABLE.clear()
        TABLE.update(saved)
    assert encode(use_table).name == before


def test_a_list_inside_itself_is_watched():
    before = encode(use_cycle)
    assert encode(use_cycle) is before
    CYCLE[0] = two
    try:
        assert encode(use_cycle).name != before.name
    finally:
        CYCLE[0] = one


class Pair(NamedTuple):
    one: int
    two: int


class Table(dict):
    """A class that can be changed."""


def make_pair():
    return Pair(1, 2)


def test_a_named_tuple_is_watched_without_hashing(monkeypatch):
    encode(make_pair)
    hashed = []
    monkeypatch.setattr(watch, "digest", hashed.append)
    assert encode(make_pair) is encode(make_pair)
    assert hashed == []


@pytest.mark.parametrize(
    ("method", "constant"),
    [(tuple.__new__, True), (dict.fromkeys, True), (Table.fromkeys, False), ([].append, False)],
)
def test_methods_of_types_that_nobody_can_change_are_constant(method, constant):
    assert watch._is_constant(method) is constant


def make_adder(step):
    def add(value):
        return value + step

    def rebind(other):
        nonlocal step
        step = other

    def empty():
        nonlocal step
        del step

    return add, rebind, empty


def test_cells_are_watched():
    add, rebind, empty = make_adder(1)
    before = encode(add)
    assert encode(add) is before
    rebind(2)
    assert encode(add).name != before.name
    rebind(1)
    assert encode(add).name == before.name
    empty()
    assert encode(add).name != before.name
    rebind(int)
    assert encode(add).name != before.name


def test_what_is_in_a_class_is_watched():
    class Known:
        limit = 1
        table: ClassVar = {"a": [1]}

        @property
        def half(self):
            return self.limit / 2

        @staticmethod
        def plain():
            return 1

    def use():
        return Known

    def is_seen(change):
        before = encode(use)
        assert encode(use) is before
        change()
        return encode(use).name != before.name

    assert is_seen(lambda: setattr(Known, "limit", 2))
    assert is_seen(lambda: Known.table["a"].append(2))
    assert is_seen(lambda: setattr(Known, "half", property(one)))
    assert is_seen(lambda: setattr(Known, "plain", staticmethod(two)))
    assert is_seen(lambda: setattr(Known, "more", 2))
    assert is_seen(lambda: delattr(Known, "more"))
    assert is_seen(lambda: setattr(use, "note", 1))
    assert is_seen(lambda: setattr(use, "__kwdefaults__", {"by": 1}))
    assert not is_seen(Known().plain)


def test_an_enumeration_is_known_again_until_it_changes(monkeypatch):
    class Shade(enum.Enum):
        DARK = 1
        LIGHT = 2

        def depth(self):
            return self.value

    def use_shade():
        return Shade.DARK.depth()

    before = encode(use_shade)
    assert encode(use_shade) is before
    # What Python notes in members, as they are used, is no change of what the call sees.
    vars(Shade.DARK)["_noted_"] = 1
    assert encode(use_shade).name == before.name
    Shade.DARK.weight = 3
    heavy = encode(use_shade).name
    Shade.DARK.weight = 4
    assert len({before.name, heavy, encode(use_shade).name}) == 3
    del Shade.DARK.weight
    monkeypatch.setattr(Shade, "depth", lambda self: 0)
    assert encode(use_shade).name not in {before.name, heavy}
    monkeypatch.undo()
    assert encode(use_shade).name == before.name


settings = ModuleType("replaced_by_the_test")


def read_setting():
    return settings.CUT


def call_setting():
    return settings.cut()


def all_settings():
    return vars(settings)


def test_modules_that_go_by_value_are_watched(monkeypatch):
    settings = ModuleType("settings_of_no_file")
    exec("CUT = 10\nLIMITS = [1]\ndef cut(): return CUT", vars(settings))
    monkeypatch.setitem(globals(), "settings", settings)
    functions = (read_setting, call_setting, all_settings)
    before = [encode(function).name for function in functions]
    assert [encode(function).name for function in functions] == before
    settings.CUT = 20
    after = [encode(function).name for function in functions]
    assert not set(after) & set(before)
    assert [load(encode(function).definition)() for function in functions[:2]] == [20, 20]
    settings.LIMITS.append(2)
    assert encode(read_setting).name == after[0]
    assert encode(all_settings).name != after[2]

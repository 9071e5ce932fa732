"""Classes of the program in calls: they go by value, and what they have changes meanwhile."""

from __future__ import annotations

import abc
import dataclasses
import datetime
import enum
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import freestone as fs

from .conftest import Opened


@pytest.fixture(scope="module")
def cluster(opened: Opened) -> Iterator[fs.Cluster]:
    with opened(executors=1, memory="32MiB", disk="32MiB") as cluster:
        yield cluster


def settings() -> Any:
    class Settings:
        limit = 1
        nested: dict[str, int] = {"a": 1}  # noqa: RUF012

        def limited(self, x: int) -> int:
            return x * self.limit

        @classmethod
        def of_class(cls) -> int:
            return cls.limit

    return Settings


@pytest.mark.parametrize("pure", [True, False])
def test_calls_see_a_class_as_it_was_then(cluster: fs.Cluster, pure: bool) -> None:
    kind = settings()

    def by_class(x: int) -> int:
        return x * int(kind.limit)

    def by_class_method() -> int:
        return int(kind.of_class())

    def by_instance(x: int) -> int:
        return int(kind().limited(x))

    def by_nested() -> int:
        return int(kind.nested["a"])

    def results() -> list[int]:
        calls = [(by_class, 2), (by_class_method,), (by_instance, 3), (by_nested,)]
        return [cluster.submit(f, *args, pure=pure).result() for f, *args in calls]  # type: ignore[operator]

    assert results() == [2, 1, 3, 1]
    kind.limit = 7
    kind.nested["a"] = 8
    assert results() == [14, 7, 21, 8]
    kind.of_class = classmethod(lambda cls: -cls.limit)
    kind.limit = 1
    assert results() == [2, -1, 3, 8]


def test_a_call_that_runs_late_has_the_class_of_its_time(cluster: fs.Cluster) -> None:
    kind, gate = settings(), cluster.queue("gate")

    def late(before: None) -> int:
        return int(kind.limit)

    def now() -> int:
        return int(kind.limit) * 100

    first = cluster.submit(late, cluster.submit(gate.get, pure=False), pure=False)
    kind.limit = 7
    assert cluster.submit(now, pure=False).result() == 700
    gate.put(None)
    assert first.result() == 1
    assert cluster.submit(now, pure=False).result() == 700
    assert cluster.submit(late, None, pure=False).result() == 7


def test_what_comes_back_leaves_the_programs_class_alone(cluster: fs.Cluster) -> None:
    kind = settings()
    made = cluster.submit(kind, pure=False)
    put = cluster.put([kind(), kind()])
    given = cluster.submit(lambda x: x, kind(), pure=False)
    kind.limit = 9
    assert [type(x) for x in (made.result(), *put.result(), given.result())] == [kind] * 4
    assert kind.limit == 9


def test_attributes_and_defaults_of_functions_may_change(cluster: fs.Cluster) -> None:
    def scaled(x: int, by: int = 2) -> Any:
        return x * by, getattr(scaled, "offset", 0)

    assert cluster.submit(scaled, 1).result() == (2, 0)
    scaled.__defaults__ = (5,)
    scaled.offset = 3  # type: ignore[attr-defined]
    assert cluster.submit(scaled, 1).result() == (5, 3)


def test_classes_with_slots(cluster: fs.Cluster) -> None:
    @dataclasses.dataclass(slots=True)
    class Point:
        x: int
        y: int = 2

    class Hidden:
        __slots__ = ("_Hidden__value", "__weakref__", "open")

        def __init__(self, value: int) -> None:
            self.__value, self.open = value, -value

        def value(self) -> int:
            return self.__value

    assert cluster.submit(lambda: Point(1)).result() == Point(1)
    assert cluster.submit(lambda p: Point(p.y, p.x), Point(3)).result() == Point(2, 3)
    hidden = cluster.submit(lambda h: Hidden(h.value() + 1), Hidden(4)).result()
    assert (type(hidden), hidden.value(), hidden.open) == (Hidden, 5, -5)
    with pytest.raises(AttributeError):
        cluster.submit(lambda: setattr(Point(1), "z", 3)).result()


def test_what_is_deleted_from_a_class_is_gone(cluster: fs.Cluster) -> None:
    kind = settings()
    assert cluster.submit(lambda: kind.limit).result() == 1
    del kind.limit
    with pytest.raises(AttributeError, match="limit"):
        cluster.submit(lambda: kind.limit).result()


def test_named_tuples_and_subclasses_of_numbers(cluster: fs.Cluster) -> None:
    class Named(NamedTuple):
        a: int
        b: str = "x"

    class Whole(int):
        __slots__ = ()

    for made in (Named(1), Whole(4)):
        found = cluster.submit(lambda made: type(made), made).result()
        assert (found, type(cluster.submit(lambda x: x, made).result())) == (type(made), found)


def test_enums_and_classes_made_in_calls(cluster: fs.Cluster) -> None:
    class Colour(enum.Enum):
        RED = 1
        BLUE = 2

    def make() -> Any:
        class Local:
            count = 3

        return Local()

    assert cluster.submit(lambda: Colour.BLUE).result() is Colour.BLUE
    made = cluster.submit(make).result()
    assert made.count == 3
    assert cluster.submit(lambda x: type(x).count, made).result() == 3


def planets() -> Any:
    class Planet(enum.Enum):
        EARTH = (1, 2)
        MARS = (3, 4)
        TERRA = (1, 2)

        def __init__(self, mass: int, radius: int) -> None:
            self.mass, self.radius = mass, radius

    return Planet


def test_what_members_of_an_enumeration_have_is_seen(cluster: fs.Cluster) -> None:
    planet = planets()

    def seen() -> Any:
        earth = planet.EARTH
        return vars(earth), getattr(planet, "scale", None), planet["TERRA"] is planet(earth.value)

    def found() -> tuple[Any, Any, bool]:
        attributes, scale, is_one = cluster.submit(seen).result()
        own = {key: value for key, value in attributes.items() if not key.startswith("_")}
        return own, scale, is_one

    assert found() == ({"mass": 1, "radius": 2}, None, True)
    planet.EARTH.mass, planet.EARTH.twin, planet.scale = 10, planet.MARS, 7
    assert found() == ({"mass": 10, "radius": 2, "twin": planet.MARS}, 7, True)
    del planet.EARTH.twin
    planet.scale = 8
    assert found() == ({"mass": 10, "radius": 2}, 8, True)
    assert planet.EARTH.mass == 10


def test_members_that_a_new_of_the_program_has_made(cluster: fs.Cluster) -> None:
    class Axis(bytes, enum.Enum):
        def __new__(cls, value: int, unit: str) -> Axis:
            made = bytes.__new__(cls, [value])
            made._value_, made.unit = value, unit  # type: ignore[attr-defined]
            return made

        X = (4, "m")
        Y = (5, "s")

    class Holiday(datetime.date, enum.Enum):
        NEW_YEAR = 2013, 1, 1

    @dataclasses.dataclass
    class Legs:
        count: int

    class Animal(Legs, enum.Enum):
        DOG = 4

    class Access(enum.Flag):
        READ = 1
        WRITE = 2
        BOTH = 3

    class Pick(enum.Enum):
        LENGTH = enum.member(len)

    def seen() -> tuple[Any, ...]:
        axis: Any = Axis(5)
        of_axis = axis is Axis.Y, bytes(axis), axis.unit, axis.value
        both = Access["BOTH"] == Access.READ | Access.WRITE, repr(Access.BOTH)
        dog, length = Animal.DOG, Pick.LENGTH.value([1])
        return of_axis, dog.count, dog.value.count, both, length, Holiday.NEW_YEAR.isoformat()

    expected = ((True, b"\x05", "s", 5), 4, 4, (True, "<Access.BOTH: 3>"), 1, "2013-01-01")
    assert cluster.submit(seen).result() == seen() == expected
    assert cluster.submit(lambda: Axis.X).result() is Axis.X


def test_bases_that_change_are_seen(cluster: fs.Cluster) -> None:
    class One:
        def number(self) -> int:
            return 1

    class Two:
        def number(self) -> int:
            return 2

    class Below(One):
        pass

    def number() -> int:
        return Below().number()

    assert cluster.submit(number).result() == 1
    Below.__bases__ = (Two,)
    assert cluster.submit(number).result() == 2
    Below.__bases__ = (One, Two)
    assert cluster.submit(number).result() == 1


def test_hooks_of_subclasses_are_not_called_again(cluster: fs.Cluster) -> None:
    registered: list[tuple[str, str]] = []

    class Base:
        subclasses: list[type] = []  # noqa: RUF012
        by_key: dict[str, type] = {}  # noqa: RUF012

        def __init_subclass__(cls, *, key: str) -> None:
            super().__init_subclass__()
            if key in Base.by_key:
                raise ValueError(f"{key} twice")
            registered.append((key, cls.__name__))
            Base.subclasses.append(cls)
            Base.by_key[key] = cls

    class Sub(Base, key="a"):
        pass

    def register(key: str) -> list[str]:
        class Other(Base, key=key):
            pass

        return [each.__name__ for each in Base.subclasses]

    for _ in range(3):
        assert type(cluster.submit(lambda x: x, Sub(), pure=False).result()) is Sub
        assert cluster.submit(lambda: Base.by_key["a"] is Sub, pure=False).result()
    assert cluster.submit(lambda: len(Base.subclasses)).result() == 1
    assert (Base.subclasses, Base.by_key, registered) == ([Sub], {"a": Sub}, [("a", "Sub")])
    assert cluster.submit(register, "b").result() == ["Sub", "Other"]


def test_metaclasses_are_not_called_here_for_results(cluster: fs.Cluster) -> None:
    class Meta(type):
        made: list[str] = []  # noqa: RUF012

        def __init__(cls, *args: Any) -> None:
            super().__init__(*args)
            Meta.made.append(cls.__name__)

    class One(metaclass=Meta):
        pass

    for _ in range(2):
        assert type(cluster.submit(lambda x: x, One(), pure=False).result()) is One
    assert Meta.made == ["One"]


@pytest.mark.parametrize("pure", [True, False])
def test_what_methods_refer_to_is_seen_as_it_was_then(cluster: fs.Cluster, pure: bool) -> None:
    number, numbers = 1, [1]

    def helper() -> int:
        return number

    class Plain:
        def value(self) -> int:
            return helper()

        @property
        def half(self) -> float:
            return number / 2

        @staticmethod
        def first() -> int:
            return numbers[0]

    class Colour(enum.Enum):
        RED = 1

        def scaled(self) -> int:
            return int(self.value) * helper()

    class Pair(NamedTuple):
        a: int

        def scaled(self) -> int:
            return self.a * helper()

    def in_calls() -> tuple[int, float, int, int, int]:
        plain = Plain()
        return plain.value(), plain.half, plain.first(), Colour.RED.scaled(), Pair(1).scaled()

    def of_arguments(plain: Plain, colour: Colour, pair: Pair) -> tuple[int, int, int]:
        return plain.value(), colour.scaled(), pair.scaled()

    def results() -> tuple[Any, Any]:
        made = cluster.submit(of_arguments, Plain(), Colour.RED, Pair(1), pure=pure)
        return cluster.submit(in_calls, pure=pure).result(), made.result()

    assert results() == ((1, 0.5, 1, 1, 1), (1, 1, 1))
    number, numbers[0] = 2, 3
    assert results() == ((2, 1.0, 3, 2, 2), (2, 2, 2))

    helper = lambda: 5  # noqa: E731, F811
    assert results() == ((5, 1.0, 3, 5, 5), (5, 5, 5))


def test_virtual_subclasses_are_seen(cluster: fs.Cluster) -> None:
    class Shape(abc.ABC):  # noqa: B024
        pass

    class Circle:
        pass

    def is_shape() -> bool:
        return isinstance(Circle(), Shape)

    assert not cluster.submit(is_shape).result()
    Shape.register(Circle)
    assert cluster.submit(is_shape).result()


def test_a_class_made_in_a_call_is_the_programs_that_has_it(cluster: fs.Cluster) -> None:
    def make() -> Any:
        class Local:
            count = 3

        return Local()

    made = cluster.submit(make).result()
    kind = type(made)
    kind.count = 5
    kind.added = "new"

    def by_class() -> tuple[int, str]:
        return kind.count, kind.added

    assert cluster.submit(by_class).result() == (5, "new")
    assert cluster.submit(lambda x: (x.count, x.added), made).result() == (5, "new")
    assert cluster.submit(lambda x: x, made).result() is not made
    assert (kind.count, type(cluster.submit(lambda x: x, made).result())) == (5, kind)
    del kind.added
    kind.count = 6
    assert cluster.submit(lambda x: (x.count, hasattr(x, "added")), made).result() == (6, False)


def test_what_calls_set_in_a_class_stays_until_the_program_changes_it(
    cluster: fs.Cluster,
) -> None:
    class Counter:
        count = 0

    def increment() -> int:
        Counter.count += 1
        return Counter.count

    def get() -> int:
        return Counter.count

    def get_again() -> int:
        return int(Counter.count)

    def results() -> list[int]:
        calls = [increment, increment, get, get_again, increment]
        return [cluster.submit(call, pure=False).result() for call in calls]

    assert results() == [1, 2, 2, 2, 3]
    Counter.count = 10
    assert results() == [11, 12, 12, 12, 13]
    Counter.count = 0
    assert results() == [1, 2, 2, 2, 3]


AGAIN = """
import freestone as fs

CELL = '''
import dataclasses
import enum

@dataclasses.dataclass
class Point:
    x: int = 1

class Corner(Point):
    pass

class Colour(enum.Enum):
    RED = 1

class Odd(ValueError):
    pass

def made():
    return Point(), Corner(), Colour.RED

def kinds(values):
    point, corner, colour = values
    return isinstance(point, Point), isinstance(corner, Point), colour is Colour.RED

def failing():
    raise Odd
'''

with fs.Cluster(executors=1, memory="32MiB", disk="32MiB") as cluster:
    for cell in (CELL, CELL, CELL.replace("x: int = 1", "x: int = 2"), CELL):
        exec(cell)
        future = cluster.submit(made)
        values = future.result()
        assert values == (Point(), Corner(), Colour.RED), values
        assert kinds(values) == (True, True, True)
        assert cluster.submit(kinds, future).result() == (True, True, True)
        assert cluster.submit(kinds, values).result() == (True, True, True)
        try:
            cluster.submit(failing).result()
        except Odd:
            print("caught")
"""


def test_a_cell_of_a_notebook_that_runs_again_defines_the_same_classes(tmp_path: Path) -> None:
    (tmp_path / "notebook.py").write_text(AGAIN)
    command = [sys.executable, str(tmp_path / "notebook.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("caught\n" * 4, "")

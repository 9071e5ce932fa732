"""Options of calls and settings of clusters: what is of a wrong type is refused with a sentence."""

from __future__ import annotations

import re
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.client.options import CallOptions, check_types
from freestone.config import KEYS, Config
from freestone.errors import ConfigurationError

WRONG: list[Any] = [
    3, -1, 1.5, True, "text", "", b"x", None, [1], ["x"], (), {"a": 1}, {1: "a"}, object(), print,
    10**30, float("nan"), float("inf"),
]  # fmt: skip
# What values fit which types; one that is not here has to be added with what fits it.
FITTING: dict[Any, tuple[type, ...]] = {
    bool: (bool,),
    float: (int, float),
    fs.File: (),
    int: (int,),
    Mapping: (dict,),
    str: (str,),
    type(None): (type(None),),
}


def hints() -> dict[str, Any]:
    from freestone.client.environments import Prepared

    names = {"File": fs.File, "Prepared": Prepared}
    FITTING[Prepared] = ()
    return typing.get_type_hints(CallOptions, localns=names)


def fitting(hint: Any) -> set[type]:
    if typing.get_origin(hint) is typing.Literal:
        return {str}
    parts = typing.get_args(hint) if hint not in FITTING else ()
    if typing.get_origin(hint) in FITTING:
        return set(FITTING[typing.get_origin(hint)])
    if parts:
        return set().union(*map(fitting, parts))
    return set(FITTING[hint])


def add(x: int) -> int:
    return x + 1


@pytest.mark.parametrize("option", CallOptions.__annotations__)
def test_values_of_other_types_are_refused(cluster: fs.Cluster, option: str) -> None:
    right = fitting(hints()[option])
    wrong = [value for value in WRONG if type(value) not in right]
    assert len(wrong) > len(WRONG) // 2
    sentence = rf"{option}=.* \(\w+\): give (a|True|'|what fs\.)"
    for value in wrong:
        with pytest.raises(TypeError, match=sentence):
            check_types({option: value})
    for value in WRONG:
        if type(value) in right:
            check_types({option: value})
    for call in (
        lambda given: cluster.submit(add, 1, **given),
        lambda given: cluster.map(add, [1], **given),
        lambda given: fs.task(**given)(add),
        lambda given: fs.task(add).options(**given),
    ):
        with pytest.raises(TypeError, match=sentence):
            call({option: wrong[0]})


def test_what_to_give_is_in_the_sentence() -> None:
    for options, sentence in [
        ({"tag": 3}, "tag=3 (int): give a text"),
        ({"priority": "high"}, "priority='high' (str): give a whole number"),
        ({"timeout_s": "5"}, "timeout_s='5' (str): give a number"),
        ({"hoist": 1}, "hoist=1 (int): give True or False"),
        ({"keep": 1}, "keep=1 (int): give 'task', 'session', 'worker' or 'forever'"),
        ({"env": "A=1"}, "env='A=1' (str): give a dict, such as {'OMP_NUM_THREADS': '1'}"),
        (
            {"environment": "env.tar"},
            "environment='env.tar' (str): give what fs.file() returns or what fs.prepare() returns",
        ),
    ]:
        with pytest.raises(TypeError, match=re.escape(sentence)):
            check_types(options)


def test_numbers_of_numpy_are_numbers(cluster: fs.Cluster) -> None:
    options: Any = {"priority": np.int64(2), "timeout_s": np.float32(60), "retries": np.uint8(1)}
    memory = {"memory": np.int64(1 << 20), "cores": np.int64(1)}
    assert cluster.submit(add, 1, **options, resources=memory).result() == 2
    assert Config.load({"workers": np.int64(2), "memory": np.int64(1 << 20)}, {}).workers == 2


@pytest.mark.parametrize("amount", [1.5, True, None, [1], "much", -1])
@pytest.mark.parametrize("resource", ["cores", "gpus", "memory", "disk", "licence"])
def test_amounts_of_resources_are_checked(resource: str, amount: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=resource):
        fs.task(resources={resource: amount})(add)


@pytest.mark.parametrize("key", KEYS)
def test_settings_are_taken_or_refused_with_a_sentence(key: str) -> None:
    for value in WRONG:
        problem = refusal(key, value)
        if problem is None:
            assert value is None or type(value) in (int, float, str, bool, list, tuple, dict)
            assert value != 10**30
        else:
            assert re.match(rf"{key} is .* and must be .* \(given by keyword\)$", problem)


def refusal(key: str, value: Any) -> str | None:
    try:
        Config.load({key: value}, {})
    except ConfigurationError as error:
        return str(error)
    return None

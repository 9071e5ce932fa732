"""Options of calls, in the form in which they travel."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cache, lru_cache
from operator import index
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from freestone import _native
from freestone.config import parse_nbytes
from freestone.enumerations import Isolation, Keep
from freestone.errors import did_you_mean
from freestone.errors.habits import OF_CALL
from freestone.units import COUNTED, parse_resources

if TYPE_CHECKING:
    from freestone.client.environments import Prepared
    from freestone.client.files import File

__all__ = [
    "DEFAULTS",
    "CallOptions",
    "Categories",
    "Isolation",
    "Keep",
    "changed",
    "check_options",
    "check_types",
    "native_options",
]


class CallOptions(TypedDict, total=False):
    """The options of calls; `Cluster.submit` says what each means."""

    name: str | None
    priority: int
    resources: Mapping[str, int | str] | None
    retries: int | None
    timeout_s: float | None
    isolation: Isolation
    keep: Keep
    pure: bool
    hoist: bool
    worker: int | None
    replicas: int
    environment: File | Prepared | None
    env: Mapping[str, str] | None
    tag: str | None
    category: str | None


# What a call has where `Cluster.submit` is given nothing else.
DEFAULTS: dict[str, Any] = {
    "name": None,
    "priority": 0,
    "resources": None,
    "retries": None,
    "timeout_s": None,
    "isolation": "shared",
    "keep": "task",
    "pure": True,
    "hoist": True,
    "worker": None,
    "replicas": 1,
}
_Amounts = tuple[tuple[str, int | str], ...]
_Options = tuple[tuple[str, Any], ...]
# What other parts of the runtime read, so that it does not travel with a call.
_ELSEWHERE = {"name", "hoist", "environment", "env", "category", "resources"}
_INTERNAL = {"near", "category", "kills", "rerun"}
_NAMES = tuple(CallOptions.__annotations__)
# How types of options are written in a sentence, and what makes values of those that are ours.
_WORDS = {
    bool: "True or False",
    float: "a number",
    int: "a whole number",
    str: "a text",
    Mapping: "a dict",
}
_MAKERS = {"File": "file", "Prepared": "prepare"}
_EXAMPLES = {"env": "{'OMP_NUM_THREADS': '1'}", "resources": "{'cores': 2}"}


class Categories:
    """Numbers the categories of calls: the calls of one need about as much memory each."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, category: str, resources: Mapping[str, int | str]) -> int:
        """Return the number of a category, from 1.

        Raises
        ------
        ValueError
            If the resources name an amount of memory, which the category is to find out.
        """
        if "memory" in resources:
            raise ValueError(
                f"category={category!r} finds out how much memory is needed: give it, or "
                f"resources={{'memory': {resources['memory']!r}}}, not both"
            )
        return self._numbers.setdefault(category, len(self._numbers) + 1)


def native_options(amounts: _Amounts, outputs: int, options: _Options) -> _native.manager.Options:
    """Make the options of calls; the same object for the same ones.

    Raises
    ------
    TypeError, ValueError
        If an option or a resource is unknown, or has a wrong value.
    """
    try:
        return _checked(amounts, outputs, options)
    except TypeError:
        for key, value in (*amounts, *options):
            if not isinstance(value, Hashable):
                kind = type(value).__name__
                raise TypeError(f"{key}={value!r} ({kind}): a {kind} is no value for it") from None
        raise


@lru_cache(maxsize=1024)
def _checked(amounts: _Amounts, outputs: int, options: _Options) -> _native.manager.Options:
    _check_names(key for key, _ in options if key not in _INTERNAL)
    known = {key: amount for key, amount in amounts if key in COUNTED}
    parsed: dict[str, Any] = {key: _amount(key, amount) for key, amount in known.items()}
    parsed["custom"] = parse_resources({key: n for key, n in amounts if key not in known})
    for key, value in options:
        try:
            _native.manager.Options(**{key: value})
        except OverflowError:
            least = -(2**31) if key == "priority" else 0
            problem = f"{key}={value!r}: give a whole number from {least:,} to {2**31 - 1:,}"
            raise ValueError(problem) from None
        except (TypeError, ValueError) as error:
            raise type(error)(f"{key}={value!r} ({type(value).__name__}): {error}") from None
    return _native.manager.Options(**parsed, outputs=outputs, **dict(options))


def _amount(key: str, amount: int | str) -> int:
    number = _number(key, amount)
    try:
        given: dict[str, Any] = {key: number}
        _native.manager.Options(**given)
    except OverflowError:
        problem = f"resources={{{key!r}: {amount!r}}}: {key} can't be below 0 or that large"
        raise ValueError(problem) from None
    return number


def _number(key: str, amount: Any) -> int:
    try:
        if isinstance(amount, bool):
            raise TypeError
        if key in ("memory", "disk"):
            return parse_nbytes(amount)
        return int(amount) if isinstance(amount, str) else index(amount)
    except (TypeError, ValueError):
        wanted = (
            "bytes, or a text such as '2GiB'" if key in ("memory", "disk") else "a whole number"
        )
        given = f"resources={{{key!r}: {amount!r:.80}}} ({type(amount).__name__})"
        raise ValueError(f"{given}: give {wanted}") from None


def changed(options: Mapping[str, Any]) -> list[str]:
    """Return the options that are not what they are by default."""
    return [key for key, value in options.items() if value != DEFAULTS.get(key)]


def check_types(options: Mapping[str, Any]) -> None:
    """Refuse the value of an option that is not of the type that `CallOptions` says.

    Raises
    ------
    TypeError
        For the first one.
    """
    misfit = _misfit(tuple((key, type(value)) for key, value in options.items()))
    if misfit is not None:
        key, wanted = misfit
        value = options[key]
        raise TypeError(f"{key}={value!r:.80} ({type(value).__name__}): give {wanted}")


@lru_cache(maxsize=1024)
def _misfit(given: tuple[tuple[str, type], ...]) -> tuple[str, str] | None:
    """Return the first option whose value is of a wrong type, and what to give instead."""
    hints = _hints()
    for key, kind in given:
        wanted = _alternatives(hints.get(key, Any))
        if not any(_fits(kind, one) for one in wanted):
            texts = dict.fromkeys(_described(one) for one in wanted if one is not NoneType)
            example = f", such as {_EXAMPLES[key]}" if key in _EXAMPLES else ""
            return key, " or ".join(texts) + example
    return None


@cache
def _hints() -> dict[str, Any]:
    from freestone.client.environments import Prepared
    from freestone.client.files import File

    return get_type_hints(CallOptions, localns={"File": File, "Prepared": Prepared})


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _fits(kind: type, hint: Any) -> bool:
    """Tell whether values of a class may be given for a type; NumPy's scalars are numbers, too."""
    if hint is Any:
        return True
    if hint is bool:
        return kind is bool or kind.__name__ in ("bool_", "bool")
    if hint is int:
        return kind is not bool and hasattr(kind, "__index__")
    if hint is float:
        return kind is not bool and (hasattr(kind, "__float__") or hasattr(kind, "__index__"))
    return issubclass(kind, str if get_origin(hint) is Literal else get_origin(hint) or hint)


def _described(hint: Any) -> str:
    if get_origin(hint) is Literal:
        *first, last = map(repr, get_args(hint))
        return f"{', '.join(first)} or {last}"
    return _WORDS.get(get_origin(hint) or hint) or f"what fs.{_MAKERS[hint.__name__]}() returns"


def check_options(options: Mapping[str, Any]) -> None:
    """Check options before there is a call.

    Raises
    ------
    TypeError, ValueError
        As `check_types` and `native_options` do.
    """
    _check_names(options)
    check_types(options)
    given = {key: value for key, value in options.items() if key not in _ELSEWHERE}
    if given.get("retries", 0) is None:
        del given["retries"]
    native_options(amounts_of(options.get("resources")), 1, tuple(given.items()))


def amounts_of(resources: Any) -> _Amounts:
    """Return what ``resources=`` names and how much of each."""
    if resources is None:
        return ()
    if not isinstance(resources, Mapping):
        kind = type(resources).__name__
        raise TypeError(f"resources={resources!r} ({kind}): give a dict, such as {{'cores': 2}}")
    return tuple(resources.items())


def _check_names(options: Iterable[str]) -> None:
    for option in options:
        if option not in _NAMES:
            habit = f"; {OF_CALL[option]}" if option in OF_CALL else ""
            advice = (
                habit
                or did_you_mean(option, _NAMES)
                or (
                    f": there are {', '.join(_NAMES)}. An argument that is the same for all calls "
                    f"goes to the function by functools.partial(f, {option}=...)"
                )
            )
            raise TypeError(f"a call has no option {option!r}{advice}")

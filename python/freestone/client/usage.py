"""Checks of how the client is used: each error says what was given and what to write instead."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Never

from freestone import functions
from freestone.errors import did_you_mean
from freestone.errors.habits import OF_CALL, OF_FUTURE, missing_attribute

__all__ = [
    "NotAValue",
    "check_function",
    "refuse_ambiguous",
    "refuse_coroutines",
    "refuse_method",
    "refuse_unknown",
    "rows",
]


def check_function(function: object, *, may_yield: bool = False) -> None:
    """Refuse what can't be called, and, unless it `may_yield`, an async function that does.

    Raises
    ------
    TypeError
        In both cases.
    """
    if not callable(function):
        raise TypeError(
            "a call takes a function, then its arguments, as in submit(f, x); it got "
            f"{_shown(function)}, which can't be called. Was the function called first, as in "
            "submit(f(x))?"
        )
    inner = function.func if isinstance(function, functools.partial) else function
    if not may_yield and inspect.isasyncgenfunction(inner):
        raise TypeError(
            f"{_name_of(inner)} is an async function that yields: what its call gives stays in the "
            f"process that made it. For its elements write cluster.stream({_name_of(inner)}), or "
            "return a list: "
            f"async def f(*args): return [x async for x in {_name_of(inner)}(*args)]"
        )


def refuse_coroutines(call: str, function: object) -> None:
    """Refuse an async function where one value is made of others, in a row.

    Raises
    ------
    TypeError
        If it is one.
    """
    if functions.is_coroutine_function(function):
        name = _name_of(function)
        raise TypeError(
            f"{call} takes a plain function, and {name} is async: write one that runs it to its "
            f"end, def f(x, y): return asyncio.run({name}(x, y))"
        )


def refuse_ambiguous(
    function: Callable[..., Any], options: Iterable[str], given: int, call: str = "submit"
) -> None:
    """Refuse a keyword that is both an option of a method and a parameter of the function.

    Parameters
    ----------
    function
        What is to be called.
    options
        The keywords that were taken for options.
    given
        How many of the function's parameters have a value by position.
    call
        The method.

    Raises
    ------
    TypeError
        If one of them is also a parameter that has no value yet.
    """
    parameters = _parameters(function)[given:]
    for option in options:
        if option in parameters:
            name = _name_of(function)
            other = f"; for the call, fs.task({option}=...)({name})(...)"
            raise TypeError(
                f"{option}= is an option of {call} and a parameter of {name}: for the function, "
                f"write {call}(functools.partial({name}, {option}=...), ...)"
                f"{other if call == 'submit' else ''}"
            )


def refuse_unknown(
    function: Callable[..., Any],
    keywords: Iterable[str],
    options: Iterable[str],
    *,
    call: str = "submit",
    hints: Mapping[str, str] = OF_CALL,
) -> None:
    """Refuse keywords that the function does not take, and that were meant for options.

    These are options in other libraries, and misspelt options or parameters. Others fail where the
    function is called, with Python's own message.

    Raises
    ------
    TypeError
        For the first one.
    """
    parameters = _keywords(function)
    if parameters is None:
        return
    for key in keywords:
        if key in parameters:
            continue
        known = f"; {hints[key]}" if key in hints else ""
        if advice := known or did_you_mean(key, [*parameters, *options]):
            name = _name_of(function)
            raise TypeError(f"{key}= is no option of {call} and no parameter of {name}{advice}")


def _keywords(function: Callable[..., Any]) -> Sequence[str] | None:
    """Name the parameters of a function; None if it takes any keyword, or does not say which."""
    code = getattr(function, "__code__", None)
    if isinstance(code, CodeType):
        return None if code.co_flags & inspect.CO_VARKEYWORDS else _parameters(function)
    if isinstance(function, type) and type(function).__call__ is type.__call__:
        # Read at each submission: `inspect.signature` takes 20 µs.
        made_by: object = function.__init__  # type: ignore[misc]
        if isinstance(made_by, FunctionType):
            found = _keywords(made_by)
            return found and found[1:]
    if not isinstance(function, BuiltinFunctionType | type):
        return None
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    return None if takes_any else [*parameters]


def _parameters(function: Callable[..., Any]) -> Sequence[str]:
    """Name the parameters of a function or method; of what has no code of Python's, none."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return ()
    first = int(isinstance(function, MethodType))
    return code.co_varnames[first : code.co_argcount + code.co_kwonlyargcount]


def rows(iterables: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
    """Zip the arguments of a `map`.

    Raises
    ------
    TypeError
        If there are none, or one can't be iterated over.
    """
    if not iterables:
        raise TypeError(
            "map takes a function and at least one iterable of arguments, as in map(f, xs)"
        )
    iterators = []
    for position, iterable in enumerate(iterables, 1):
        if isinstance(iterable, NotAValue):
            raise TypeError(
                f"map over a Future (argument {position}): how many values it will have is not "
                "known here. Give map(f, future.result()), or submit one call that takes them all"
            )
        try:
            iterators.append(iter(iterable))
        except TypeError:
            raise TypeError(
                f"map takes iterables, one value for each call: argument {position} is "
                f"{_shown(iterable)}. For one call write submit(f, x); for a value that is the "
                "same in all calls, itertools.repeat(x) or functools.partial(f, x)"
            ) from None
    return zip(*iterators, strict=False)


def refuse_method(function: Callable[..., Any], instance: object) -> Never:
    """Refuse a task that is called as a method: it would not be given its object.

    Raises
    ------
    TypeError
        Always.
    """
    name, kind = _name_of(function), type(instance).__name__
    raise TypeError(
        f"{name} is a task in the class {kind}, and a task is no method: it would not get its "
        "object. Make it a function beside the class that takes the object, or a @staticmethod "
        "over @fs.task; to submit a method as it is, cluster.submit(object.method, x)"
    )


if TYPE_CHECKING:
    # A task may be given a future of each of its arguments: checkers take what inherits from Any
    # for a value of any type.
    class _Value(Any):  # type: ignore[misc]
        ...
else:

    class _Value:
        __slots__ = ()


class NotAValue(_Value):
    """Refuses to be used as the value that it will have, and says what to do instead."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        raise missing_attribute("a Future", name, self, OF_FUTURE, _INSTEAD)

    def __bool__(self) -> bool:
        return True


_INSTEAD = (
    ": it stands for a value that may not be there yet. Wait for the value with .result(), or pass "
    "the future to another call: cluster.submit(f, future)"
)
_OPERATORS = (
    "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor "
    "radd rsub rmul rmatmul rtruediv rfloordiv rmod rdivmod rpow rlshift rrshift rand ror rxor "
    "lt le gt ge neg pos abs invert getitem setitem delitem contains len call "
    "int float complex round"
)


def _refusal(operator: str) -> Callable[..., Never]:
    def refuse(self: NotAValue, *_: object) -> Never:
        raise TypeError(f"a Future can't be used as a value (by __{operator}__){_INSTEAD}")

    return refuse


def _is_same(future: NotAValue, other: object) -> bool:
    """Compare two futures, or one with None, as objects; refuse what is meant as a value."""
    if other is None or isinstance(other, NotAValue):
        return future is other
    raise TypeError(
        f"a Future can't be compared with {_shown(other)}: it stands for a value that may not be "
        "there yet. Wait for the value with .result(), as in future.result() == 1; two futures are "
        "equal if they are the same object"
    )


def _differs(future: NotAValue, other: object) -> bool:
    return not _is_same(future, other)


# In the body of the class they would take its hash away.
setattr(NotAValue, "__eq__", _is_same)  # noqa: B010
setattr(NotAValue, "__ne__", _differs)  # noqa: B010
for _operator in _OPERATORS.split():
    setattr(NotAValue, f"__{_operator}__", _refusal(_operator))


def _name_of(function: object) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return str(name).rpartition("<locals>.")[2]


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"

"""Exceptions come as they were raised: their constructors are not called a second time."""

# ruff: noqa: N818

from __future__ import annotations

import io
import itertools
import pickle
import threading
from typing import Any

import pytest

from freestone.errors import TaskRaisedError
from freestone.functions import dumps_failure
from freestone.functions.raised import described


class Prefixed(Exception):
    def __init__(self, msg: str = "default", code: int = 7) -> None:
        super().__init__(f"[{code}] {msg}")
        self.code = code


class Http(Exception):
    def __init__(self, status: int, url: str) -> None:
        super().__init__(f"{status} for {url}")
        self.status, self.url = status, url


class Keyword(Exception):
    def __init__(self, *, why: str) -> None:
        self.why = why


class Slots(Exception):
    __slots__ = ("__hidden", "q", "unset")

    def __init__(self, q: object, hidden: int) -> None:
        super().__init__()
        self.q, self.__hidden = q, hidden

    def hidden(self) -> int:
        return self.__hidden


class Disk(OSError):
    def __init__(self, path: str) -> None:
        super().__init__(28, "No space", path)


class Line(SyntaxError):
    def __init__(self, line: int) -> None:
        super().__init__("bad line")
        self.lineno = line


class Missing(ImportError):
    def __init__(self, package: str) -> None:
        super().__init__(f"install {package}", name=package)


class Code(UnicodeDecodeError):
    def __init__(self, data: bytes) -> None:
        super().__init__("utf-8", data, 0, 1, "bad start")


class Silent(UnicodeDecodeError):
    def __init__(self, data: bytes) -> None:
        pass


class Exit(SystemExit):
    def __init__(self, *, status: int) -> None:
        super().__init__(status)


class Stop(StopIteration):
    def __init__(self, *, value: int) -> None:
        super().__init__(value)


class Mixed(Http, KeyError):
    pass


class Refusing(Exception):
    def __new__(cls, *, why: str) -> Refusing:
        return super().__new__(cls, why)

    def __init__(self, *, why: str) -> None:
        super().__init__(why)


class Group(ExceptionGroup[Exception]):
    def __new__(cls, errors: list[Exception], code: int) -> Group:
        self = super().__new__(cls, f"code {code}", errors)
        self.code = code
        return self

    code: int


class Both(ExceptionGroup[Exception]):
    def __init__(self, msg: str, errors: list[Exception]) -> None:
        super().__init__(msg, errors)
        self.count = len(errors)


def sent(error: BaseException) -> Any:
    found = pickle.loads(dumps_failure(error))
    assert type(found) is type(error)
    assert (str(found), repr(found), repr(found.args)) == (
        str(error),
        repr(error),
        repr(error.args),
    )
    return found


def test_a_message_is_not_made_twice() -> None:
    found = sent(Prefixed("msg", 3))
    assert (str(found), found.code) == ("[3] msg", 3)


@pytest.mark.parametrize(
    "error",
    [Http(404, "u"), Keyword(why="w"), Mixed(5, "u"), Prefixed(), Refusing(why="x")],
    ids=lambda error: type(error).__name__,
)
def test_a_constructor_that_refuses_its_own_args_is_not_asked(error: BaseException) -> None:
    error.add_note("a note")
    error.added = [1]  # type: ignore[attr-defined]
    assert vars(sent(error)) == vars(error)


def test_slots_come_along() -> None:
    found = sent(Slots(None, 9))
    assert (found.q, found.hidden()) == (None, 9)
    assert not hasattr(found, "unset")


def test_what_the_built_in_base_keeps_in_itself_comes_along() -> None:
    disk = sent(Disk("/full"))
    assert (disk.errno, disk.strerror, disk.filename) == (28, "No space", "/full")
    assert (sent(Line(7)).lineno, sent(Line(7)).msg) == (7, "bad line")
    assert sent(Missing("numpy")).name == "numpy"
    code = sent(Code(b"\xff"))
    assert (code.encoding, code.object, code.end, code.reason) == ("utf-8", b"\xff", 1, "bad start")
    assert sent(Silent(b"\xff")).args == (b"\xff",)
    assert (sent(Exit(status=3)).code, sent(Stop(value=4)).value) == (3, 4)


def test_so_does_what_is_in_groups_and_arguments() -> None:
    found = sent(ExceptionGroup("two", [Http(1, "u"), ExceptionGroup("in", [Prefixed("m", 2)])]))
    assert found.exceptions[0].status == 1
    assert str(found.exceptions[1].exceptions[0]) == "[2] m"
    assert sent(ValueError(Http(2, "u"))).args[0].url == "u"
    both = sent(Both("both", [Http(3, "u")]))
    assert (both.count, both.exceptions[0].status) == (1, 3)
    made = sent(Group([Http(4, "u")], 6))
    assert (made.code, made.exceptions[0].status, made.message) == (6, 4, "code 6")


def test_so_does_a_class_that_is_in_a_function() -> None:
    class Local(Exception):
        def __init__(self, first: int, second: int) -> None:
            super().__init__(first)
            self.second = second

    found = pickle.loads(dumps_failure(Local(1, 2)))
    assert (found.args, found.second) == ((1,), 2)


def test_an_exception_that_is_part_of_itself_is_sent() -> None:
    error = Prefixed("me", 1)
    error.me = error  # type: ignore[attr-defined]
    found = pickle.loads(dumps_failure(error))
    assert found.me is found


@pytest.mark.parametrize(
    "error",
    [KeyError(("a", None)), FileNotFoundError(2, "No", "x"), SyntaxError("m", ("f", 1, 2, "t"))],
)
def test_built_in_ones_come_as_ever(error: BaseException) -> None:
    plain = io.BytesIO()
    pickler = pickle.Pickler(plain, protocol=5)
    # Whatever packages have put into `copyreg`.
    pickler.dispatch_table = {}  # type: ignore[assignment]
    pickler.dump(error)
    assert dumps_failure(error) == plain.getvalue()
    sent(error)


class Closed(Exception):
    """Takes itself apart, without what it does not know of."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __reduce__(self) -> Any:
        return Closed, (self.path,)


def linked(*errors: Exception) -> Exception:
    """Raise each exception from the one before it, and return the last."""
    for cause, error in itertools.pairwise(errors):
        error.__cause__ = error.__context__ = cause
    return errors[-1]


def chain_of(error: BaseException | None) -> list[BaseException]:
    found = []
    while error is not None:
        found.append(error)
        error = error.__cause__
    return found


def test_what_led_to_it_comes_along() -> None:
    first = Http(404, "u")
    first.add_note("a note")
    error = sent(linked(first, Prefixed("m", 2), KeyError("k")))
    second = error.__cause__
    assert (str(second), str(second.__cause__)) == ("[2] m", "404 for u")
    assert error.__context__ is second
    assert second.__cause__.__notes__ == ["a note"]
    assert error.__suppress_context__


def test_contexts_are_hidden_or_shown_as_they_were() -> None:
    shown, hidden = ValueError("shown"), ValueError("hidden")
    shown.__context__ = hidden.__context__ = KeyError("before")
    hidden.__suppress_context__ = True
    for error in (shown, hidden):
        found = sent(error)
        assert repr(found.__context__) == "KeyError('before')"
        assert found.__cause__ is None
        assert found.__suppress_context__ == error.__suppress_context__


def test_a_class_that_takes_itself_apart_loses_nothing_by_it() -> None:
    error = linked(KeyError("k"), Closed("/x"))
    error.add_note("a note")
    found = sent(error)
    assert (found.path, found.__notes__, repr(found.__cause__)) == (
        "/x",
        ["a note"],
        "KeyError('k')",
    )


def test_members_of_groups_have_their_causes() -> None:
    found = sent(ExceptionGroup("two", [linked(KeyError("k"), Http(1, "u"))]))
    assert repr(found.exceptions[0].__cause__) == "KeyError('k')"


def test_one_that_cannot_be_sent_is_its_text_and_spoils_no_other() -> None:
    class Local(Exception):
        pass

    odd = Local("odd")
    odd.lock = threading.Lock()  # type: ignore[attr-defined]
    error, stand_in, first = chain_of(sent(linked(KeyError("k"), odd, Local("last"))))
    assert isinstance(stand_in, TaskRaisedError)
    assert stand_in.text == "odd"
    assert "cannot pickle '_thread.lock' object" in str(stand_in)
    assert str(stand_in).startswith(f"{stand_in.kind}: odd (the exception itself can't be sent")
    assert (str(error), repr(first)) == ("last", "KeyError('k')")


def test_one_that_is_not_known_here_is_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    pickled = dumps_failure(linked(KeyError("k"), Http(1, "u"), ValueError("v")))
    monkeypatch.delattr(f"{__name__}.Http")
    _, stand_in, first = chain_of(pickle.loads(pickled))
    assert "can't be unpickled here: AttributeError" in str(stand_in)
    assert repr(first) == "KeyError('k')"


def test_a_chain_is_bounded_and_says_where_it_ends() -> None:
    found = chain_of(sent(linked(*map(ValueError, range(1000)))))
    assert [error.args[0] for error in found[:17]] == list(range(999, 982, -1))
    assert len(found) == 18
    assert "982 (the exception itself is not sent: 16 later ones are)" in str(found[-1])
    large = ValueError(b"x" * 3_000_000)
    other = ValueError(b"y" * 3_000_000)
    kept, left_out, small = chain_of(sent(linked(OSError("s"), other, large, KeyError("k"))))[1:]
    assert kept.args == large.args
    assert "is too large to be sent: it takes 2.86 MiB" in str(left_out)
    assert repr(small) == "OSError('s')"


def test_a_chain_that_comes_back_to_itself_ends() -> None:
    first, second = KeyError("k"), ValueError("v")
    first.__cause__, second.__cause__ = second, first
    found = sent(first)
    assert str(found.__cause__) == "v"
    assert str(found.__cause__.__cause__) == str(first)
    assert found.__cause__.__cause__.__cause__ is found.__cause__


def test_texts_that_are_no_unicode_come_as_they_can_be_shown() -> None:
    pickled, name, message, shown = described(ValueError("caf\udce9.txt"))
    assert pickle.loads(pickled).args == ("caf\udce9.txt",)
    assert (name, message) == ("ValueError", r"caf\udce9.txt")
    assert r"caf\udce9.txt" in shown


def test_an_exception_whose_message_can_not_be_made_has_its_type() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    _, name, message, _ = described(Mute())
    assert name.endswith("Mute")
    assert "its message can't be made: RuntimeError('no')" in message

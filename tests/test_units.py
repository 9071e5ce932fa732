from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freestone.units import format_nbytes, format_seconds, parse_nbytes, parse_resources


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("2GiB", 2 * 2**30),
        ("2 gib", 2 * 2**30),
        ("2G", 2 * 10**9),
        ("1.5KiB", 1536),
        (".5 MB", 500_000),
        ("17", 17),
        ("0B", 0),
        (12, 12),
    ],
)
def test_parse_nbytes(text: str | int, nbytes: int) -> None:
    assert parse_nbytes(text) == nbytes


@pytest.mark.parametrize("text", ["", "GiB", "2 XB", "-3", "1e3", -1, True, None, 2.5])
def test_what_is_no_amount_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="amount of bytes"):
        parse_nbytes(text)  # type: ignore[arg-type]


@given(st.integers(0, 2**58))
def test_what_is_written_is_read_again_to_a_hundredth(nbytes: int) -> None:
    text = format_nbytes(nbytes).replace(" bytes", "").replace(" byte", "")
    assert parse_nbytes(text) == pytest.approx(nbytes, rel=0.006)


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [(0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1 KiB"), (1023 * 1024, "1 MiB")],
)
def test_format_nbytes(nbytes: int, text: str) -> None:
    assert format_nbytes(nbytes) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (3e-8, "30 ns"),
        (0.00042, "420 µs"),
        (0.9999, "1 s"),
        (12.345, "12.3 s"),
        (59.96, "1 min"),
        (75, "1 min 15 s"),
        (3600, "1 h"),
        (90061, "1 d 1 h"),
        (-2, "-2 s"),
    ],
)
def test_format_seconds(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_a_resource_with_two_amounts_is_refused() -> None:
    with pytest.raises(ValueError, match="'tape' has two amounts in 'tape=1,tape=2'"):
        parse_resources("tape=1,tape=2")

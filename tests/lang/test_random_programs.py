"""What `fuzz` makes of random scripts with few outputs."""

from __future__ import annotations

import random

import pytest

from tests.lang import fuzz
from tests.lang.mixed_programs import MixedWriter
from tests.lang.random_programs import Writer


@pytest.mark.parametrize("writer", [Writer, MixedWriter])
def test_most_scripts_end_without_an_error(writer: type[Writer]) -> None:
    texts = [writer(seed).script() for seed in random.Random(1).sample(range(10_000), 40)]
    failed = [text for text in texts if "\nscript:" in fuzz.run(text, {})]
    assert len(failed) < 10


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1 2\n", "1 2\n", True),
        ("1 nan\n", "1 -nan\n", True),
        ("0.333333\n", "0.333334\n", True),
        ("1 2\n", "1 3\n", False),
        ("DenseMatrix(1x1, float)\n1\n", "DenseMatrix(1x1, double)\n1\n", False),
        ("1\n", "1\n1\n", False),
    ],
)
def test_outputs_agree_up_to_the_last_digits(one: str, other: str, same: bool) -> None:
    assert fuzz.agree(one, other) == same

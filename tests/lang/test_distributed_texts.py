"""The same script here and on a cluster: the same text, for all examples and built-ins."""

import pytest

from freestone import Cluster
from freestone.lang.settings import Settings
from tests.lang.examples import ARGUMENTS, FOLDER, example
from tests.lang.scripts import printed_on
from tests.lang.test_builtins import CASES

IMPORTED = {"trees"}


def test_every_example_is_run() -> None:
    assert set(ARGUMENTS) | IMPORTED == {path.stem for path in FOLDER.glob("*.daph")}


@pytest.mark.parametrize("csr", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_examples(two_workers: Cluster, name: str, csr: bool) -> None:
    here = Settings(vec=True, select_matrix_repr=csr)
    there = Settings(vec=True, select_matrix_repr=csr, distributed=True, distributed_bytes=0)
    assert example(name, there, two_workers) == example(name, here)


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in CASES])
def test_builtins(two_workers: Cluster, text: str, expected: str) -> None:
    assert printed_on(two_workers, f"print({text});") == expected

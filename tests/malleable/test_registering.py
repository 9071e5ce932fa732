"""What may be registered, and what is refused, in one process."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from freestone.errors import RegistrationError
from freestone.malleable import Array, Config
from freestone.malleable.membership import Membership
from freestone.malleable.registering import register

ROWS = 6


class Alone:
    """A communicator of one rank."""

    size, rank = 1, 0

    def allgather(self, value: Any) -> list[Any]:
        """Return what all ranks give."""
        return [value]

    def exscan(self, value: int) -> None:
        """Return what is before rank 0."""

    def Barrier(self) -> None:  # noqa: N802
        """Wait for nobody."""


class Measured(np.ndarray):
    """Numbers with a unit that NumPy does not know of."""


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what registers an array in a job of one rank."""
    monkeypatch.setattr("freestone.malleable.together.meet", lambda *_: None)
    monkeypatch.setattr("freestone.malleable.together.gather_all", lambda _comm, value, *_: [value])

    def register_it(whole: Any) -> Array:
        membership = Membership(None, None, Alone(), [0])
        return register(
            membership, Config(share=False), "v", "variable", lambda *_: whole, ROWS, {}
        )[0]

    return register_it


@pytest.mark.parametrize(
    "whole",
    [
        np.array([(k, k) for k in range(ROWS)], dtype=[("x", "f8"), ("id", "i4")]),
        np.zeros(ROWS, np.dtype([("a", "u1"), ("b", "f8", (2,))], align=True)),
        np.zeros((ROWS, 0)),
        np.zeros((ROWS, 0, 3), "i2"),
        np.arange(ROWS).astype("M8[ns]"),
        np.full(ROWS, "h\u00e9llo"),
        np.arange(ROWS, dtype=">f8"),
        np.arange(ROWS, dtype=np.longdouble),
        np.asfortranarray(np.arange(6.0 * ROWS).reshape(ROWS, 2, 3)),
    ],
    ids=lambda whole: str(whole.dtype) + str(whole.shape),
)
def test_arrays_of_any_type_are_what_they_were(registered: Any, whole: Any) -> None:
    local = registered(whole).local
    assert local.dtype == whole.dtype
    assert np.array_equal(local, whole)


@pytest.mark.parametrize(
    ("whole", "problem"),
    [
        (sp.csc_matrix(np.eye(ROWS)), "is a csc_matrix in the form 'csc'; give its .tocsr()"),
        (sp.coo_array(np.eye(ROWS)), "is a coo_array in the form 'coo'; give its .tocsr()"),
        (sp.csr_array(np.arange(ROWS)), r"is a csr_array of shape \(6,\); give it 2 axes"),
        (np.ma.masked_greater(np.arange(ROWS), 3), "is a masked array, whose mask would be lost"),
        (np.zeros(ROWS).view(Measured), "is a Measured, of which only the numbers would be kept"),
        (np.array([None] * ROWS), "holds Python objects"),
        (5.0, "has shape"),
    ],
)
def test_what_would_not_be_kept_is_refused(registered: Any, whole: Any, problem: str) -> None:
    with pytest.raises(RegistrationError, match="rank 0: 'v' " + problem):
        registered(whole)


def test_a_limit_on_virtual_memory_is_reported(registered: Any) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    whole = np.broadcast_to(np.float64(1), (ROWS, 1 << 26))
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), hard))
    try:
        with pytest.raises(
            RegistrationError, match=r"addresses for all rows .* for 3072 MiB, whose"
        ):
            registered(whole)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_a_run_is_written_as_local_is_and_rows_are_asked_for_by_number(registered: Any) -> None:
    x = registered(np.arange(6.0))
    (run,) = x.runs
    run.local += 1
    run.local = run.local * 2
    assert x.local.tolist() == [2, 4, 6, 8, 10, 12]
    with pytest.raises(TypeError, match="Cannot cast"):
        registered(np.arange(6)).local = x.local / 4
    assert (run.start, run.stop) == tuple(run)[:2] == (0, ROWS)
    assert x.rank_of(5) == 0
    assert x.rank_of([[0, 5]]).tolist() == [[0, 0]]
    for wrong in ("a", 2.5, True, None, [1.0]):
        with pytest.raises(IndexError, match="give a whole number, or an array of such"):
            x.rank_of(wrong)

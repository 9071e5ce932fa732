"""The scheme passes freestone's kit, and cuts rows as it says."""

from itertools import islice

from freestone_hybrid import HYBRID

from freestone.testing import check_scheme


def test_the_scheme_passes_the_kit() -> None:
    check_scheme("HYBRID")


def test_the_first_tasks_are_shares_of_three_quarters() -> None:
    assert list(islice(HYBRID.sizes(6_400, 2), 4)) == [2_400, 2_400, 150, 150]

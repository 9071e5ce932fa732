"""Pages that are made from the sources say what these say."""

from types import ModuleType

import pytest

from tests.docs import event_settings, messages, mistakes, settings


@pytest.mark.parametrize(
    "made", [event_settings, messages, mistakes, settings], ids=lambda made: made.__name__
)
def test_a_page_is_up_to_date(made: ModuleType) -> None:
    found = made.PAGE.read_text(encoding="utf-8")
    assert found == made.page(), f"run `python -m {made.__name__}`"

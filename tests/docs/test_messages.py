"""The page of errors is what its sources say."""

from tests.docs.messages import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.docs.messages`"

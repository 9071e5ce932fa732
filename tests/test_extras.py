"""Each extra has a program that uses it, which `make wheels EXTRAS=1` runs with that alone."""

from tests import wheels


def test_every_extra_has_a_program() -> None:
    assert sorted(path.stem for path in wheels.PROGRAMS.glob("*.py")) == wheels.extras()

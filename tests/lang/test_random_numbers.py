"""Sparse random matrices have the numbers of a program in C++ that draws as DAPHNE does."""

from typing import Any

import numpy as np
import pytest

from freestone.lang.run.kernels.scattered import RANGE, Minimal, StoredDrawing
from tests.lang.scripts import printed

EXPECTED: list[tuple[tuple[Any, ...], str]] = [
    (
        ("f64", (4, 5), 1.0, 9.0, 0.3, 7),
        "0 2 8.3661161357223381, 0 3 2.6844073858497257, 1 4 5.2617144353494023, "
        "2 0 7.0164241449289708, 2 4 5.3428021737962039, 3 2 6.0873168369991477",
    ),
    (
        ("f64", (3, 4), -1.0, 1.0, 0.75, -12),
        "0 0 0.8953953905918941, 0 1 -0.33840211050887092, 0 2 -0.50334698126230837, "
        "0 3 0.13816453028638631, 1 0 0.044913665028794014, 1 3 0.68933804763604112, "
        "2 0 0.44684623163111836, 2 1 0.52479690694911763, 2 3 0.8768290211517682",
    ),
    (
        ("f32", (3, 4), -1.0, 1.0, 0.25, 123456789012345),
        "0 2 -0.21277916431427002, 1 1 -0.17889195680618286, 2 3 -0.63664203882217407",
    ),
    (("si64", (3, 4), -5, 5, 0.4, 42), "0 0 -5, 0 3 0, 1 1 3, 1 3 -3, 2 0 -1"),
    (
        ("si64", (3, 2), -5_000_000_000, 5_000_000_000, 0.5, 1),
        "0 1 -4717524752, 2 0 2427394595, 2 1 -234821437",
    ),
    # Rows that are full take no more.
    (
        ("f64", (6, 1), 0.0, 1.0, 0.5, 3),
        "0 0 0.39461336414760451, 3 0 0.37595039560399801, 4 0 0.6568775591030982",
    ),
    (
        ("f64", (4, 2), 0.0, 1.0, 0.5, 5),
        "1 0 0.65768894055644833, "
        "2 0 0.29325065965043745, 2 1 0.094795931528056071, 3 0 0.39432358416908897",
    ),
]


@pytest.mark.parametrize("step", [1, 2, 9])
@pytest.mark.parametrize(("how", "expected"), EXPECTED)
def test_cells_are_those_of_another_implementation(
    how: tuple[Any, ...], expected: str, step: int
) -> None:
    drawing, found = StoredDrawing(*how), []
    for first in range(0, how[1][0], step):
        part = drawing.rows(step)
        places = zip(part.rows, part.columns, part.cells, strict=True)
        found += [f"{row + first} {column} {float(cell):.17g}" for row, column, cell in places]
    assert ", ".join(found) == expected


def test_the_generator_draws_the_published_number() -> None:
    generator = Minimal(1)
    generator.jump(9999)
    # The C++ standard names the ten-thousandth.
    assert generator.draw(1) + 1 == 1_043_618_065


def test_numbers_beyond_the_range_of_one_draw() -> None:
    found = Minimal(5).below(1000, 3 * RANGE)
    assert len(np.unique(found // RANGE)) == 3
    assert found.max() < 3 * RANGE


def test_a_copy_goes_on_from_the_same_row() -> None:
    drawing = StoredDrawing("f64", (100, 20), 0.0, 1.0, 0.2, 9)
    drawing.rows(33)
    one, other = drawing.copy().rows(50), drawing.rows(50)
    np.testing.assert_array_equal(one.toarray(), other.toarray())


def test_a_tall_matrix_takes_the_memory_of_its_cells() -> None:
    drawing = StoredDrawing("f64", (4_000_000_000, 3), 1.0, 2.0, 1e-8, 5)
    assert len(drawing.rows(4_000_000_000).cells) == 120


@pytest.mark.parametrize("memory", [0, 60_000])
@pytest.mark.parametrize("share", ["0.2", "0.01"])
def test_scripts_draw_the_same_in_one_piece_and_in_strips(share: str, memory: int) -> None:
    text = f"X = rand(1000, 40, 1.0, 9.0, {share}, 7); print(sum(X, 1)); print(sum(X));"
    whole = printed(text, select_matrix_repr=True)
    assert printed(text, select_matrix_repr=True, memory_bytes=memory, vec=True) == whole
    stored = StoredDrawing("f64", (1000, 40), 1.0, 9.0, float(share), 7).rows(1000)
    head, *sums = whole.splitlines()[1].split()
    np.testing.assert_allclose(
        [float(head), *map(float, sums)], stored.toarray().sum(0), rtol=1e-5, atol=1e-9
    )

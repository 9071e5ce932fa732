"""SQL of more than two tables that are too large to be sent gives what DuckDB gives."""

from __future__ import annotations

import random
import warnings
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import freestone as fs
from tests.collections.tables.drawing import limits
from tests.collections.tables.test_sql_parts import expected_of

BY_PARTS = [
    "select count(*) n from a, b, c where a.k = b.k and b.m = c.m",
    "select a.x, b.y, c.z from a join b on a.k = b.k join c on c.m = b.m order by all",
    "select x, y, z from c, a, b where a.k = b.k and b.m = c.m and z > 1 and y < 5 order by all",
    "select b.m, sum(x) s, max(z) t from a join b using (k) join c using (m) group by b.m "
    "order by all",
    "select m, sum(x) s, max(z) t from a join b using (k) join c using (m) group by m "
    "having count(*) > 1 order by s desc, m, t",
    "select a.x, b.y, c.z from a left join b on a.k = b.k left join c on c.m = b.m order by all",
    "select a.x, c.z from a left join b on a.k = b.k join c on c.m = b.m and c.z > x order by all",
    "select a.k, d.w from a, b, c, d where a.k = b.k and b.m = c.m and c.z = d.w and d.w < 6 "
    "order by all",
    "select sum(d.w) w, count(distinct a.k) from a, b, c, d "
    "where a.k = b.k and b.m = c.m and c.m = d.m",
    "select x, sum(z) over (partition by x order by z, y) s from a join b on a.k = b.k "
    "join c on c.m = b.m order by all",
    "select a.x, y, (select max(w) from d) q from a join b on a.k = b.k join c on c.m = b.m "
    "order by all",
    "select a.x from a semi join b on a.k = b.k join c on c.m = a.x order by all",
    "select a.x, c.z from a full join b on a.k = b.k full join c on c.m = b.m order by all",
    "select distinct a.x, z from a join b on a.k = b.k join c on c.m = b.m order by x, z limit 4",
    "select c.*, d.w, y from b, c, d where b.m = c.m and c.z = d.w and 1 = 2",
    "select x, median(y) m from a join b using (k) group by x order by x",
    "select m, sum(w) s from d where w > (select avg(z) from c) group by m "
    "having sum(w) > (select avg(w) from d) order by m",
    "select one.x, two.x as x2, z from a one, a two, c where one.k = two.k and two.x = c.m "
    "order by all",
]
AT_ONCE = [
    "select x as y, y as x from a join b on a.k = b.k join c on c.m = b.m order by x, y",
    "select count(*) n from a, b, c where a.k < b.k and b.m < c.m",
    "select a.x from a, b, c where a.k = b.k and b.m = c.m "
    "and exists (select 1 from d where d.m = a.k and d.w > b.y) order by all",
]


def tables(seed: int, rows: int = 50) -> dict[str, pl.DataFrame]:
    dice = random.Random(seed)

    def column() -> pl.Series:
        return pl.Series(
            [dice.choice([None, *range(rows // 3)]) for _ in range(rows)], dtype=pl.Int64
        )

    names = {"a": "kx", "b": "kmy", "c": "mz", "d": "mw"}
    return {name: pl.DataFrame({each: column() for each in of}) for name, of in names.items()}


def answered(query: str, given: dict[str, pl.DataFrame], part_nbytes: int = 1 << 10) -> Any:
    frames = {name: fs.Frame.from_polars(table, 13) for name, table in given.items()}
    with limits(small_nbytes=0, part_nbytes=part_nbytes, broadcast_nbytes=100):
        return fs.sql(query, **frames).to_polars()


@pytest.mark.parametrize("query", BY_PARTS)
def test_by_parts_without_a_warning(query: str) -> None:
    for seed in range(2):
        given = tables(seed)
        assert_frame_equal(answered(query, given), expected_of(query, given))


@pytest.mark.parametrize("query", AT_ONCE)
def test_at_once_with_a_warning(query: str) -> None:
    given = tables(1)
    with pytest.warns(RuntimeWarning, match="one call, on one worker, gets all .* to answer"):
        found = answered(query, given, 256)
    assert_frame_equal(found, expected_of(query, given))


def drawn(dice: random.Random) -> str:
    """Draw a query of three or four tables."""
    links = {"a": ["k", "x"], "b": ["k", "m", "y"], "c": ["m", "z"], "d": ["m", "w"]}
    order = dice.sample(list(links), dice.choice([3, 3, 4]))
    source, conditions = order[0], []
    for place, name in enumerate(order[1:], 1):
        other = dice.choice(order[:place])
        on = f"{other}.{dice.choice(links[other])} = {name}.{dice.choice(links[name])}"
        if dice.random() < 0.3:
            on += f" and {name}.{dice.choice(links[name])} > {dice.randint(0, 4)}"
        if dice.random() < 0.5:
            source, conditions = f"{source} cross join {name}", [*conditions, on]
        else:
            source += f" {dice.choice(['join', 'join', 'left join', 'full join'])} {name} on {on}"
    shown = [f"{name}.{dice.choice(links[name])}" for name in order]
    if dice.random() < 0.4:
        conditions.append(f"{dice.choice(shown)} is not null")
    where = f" where {' and '.join(conditions)}" if conditions else ""
    if dice.random() < 0.5:
        key, *others = shown
        items = [f"{dice.choice(['sum', 'max', 'count', 'avg'])}({one}) v{n}"
                 for n, one in enumerate(others)]  # fmt: skip
        return f"select {key} g, {', '.join(items)} from {source}{where} group by {key} order by g"
    named = ", ".join(f"{one} v{place}" for place, one in enumerate(shown))
    return f"select {named} from {source}{where} order by all"


@pytest.mark.parametrize("seed", range(60))
def test_drawn_queries(seed: int) -> None:
    dice = random.Random(seed)
    given, query = tables(seed, 24), drawn(dice)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = answered(query, given)
    assert_frame_equal(found, expected_of(query, given), check_exact=False)

"""What to write for methods of pandas and polars that a Frame does not have."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from reprlib import repr as shown
from typing import Any

import numpy as np

from freestone.errors import did_you_mean

__all__ = [
    "INSTEAD",
    "OF_GROUPS",
    "is_test",
    "missing",
    "missing_of_groups",
    "not_an_index",
    "not_iterated",
    "refuse_mask",
]

OF_GROUPS = ("any", "arg_max", "arg_min", "count", "implode", "mode", "product", "std", "var")
"""Aggregates of groups that are methods of polars' expressions."""

INSTEAD = {
    **dict.fromkeys(("agg", "aggregate"), 'x.select(pl.col("a").sum(), pl.col("b").max())'),
    **dict.fromkeys(("append", "extend", "vstack"), "fs.Frame.concat([x, x])"),
    **dict.fromkeys(
        ("apply", "map_batches", "map_partitions", "map_rows", "transform"),
        "x.map_blocks(lambda table: table)",
    ),
    **dict.fromkeys(
        ("assign", "eval", "insert", "with_column"), 'x.with_columns(c=pl.col("a") * 2)'
    ),
    "astype": 'x.cast({"a": pl.Float64})',
    **dict.fromkeys(("at", "iat", "iloc", "loc"), 'x.filter(pl.col("a") > 1).select("a"), x[0:2]'),
    "size": "len(x)",
    "drop_duplicates": 'x.unique(["a"])',
    "dropna": "x.drop_nulls()",
    "dtypes": "x.schema",
    "fillna": "x.fill_null(0)",
    **dict.fromkeys(("get_column", "getitem", "pop"), 'x.select("a")'),
    "groupby": 'x.group_by("a").agg(pl.col("b").sum())',
    **dict.fromkeys(("height", "shape", "width"), "len(x), len(x.columns)"),
    **dict.fromkeys(("index", "reset_index", "set_index"), 'x.with_row_index("n")'),
    **dict.fromkeys(("isin", "query"), 'x.filter(pl.col("a").is_in([1, 2]))'),
    **dict.fromkeys(("isna", "isnull"), "x.null_count()"),
    **dict.fromkeys(
        ("items", "iter_rows", "iterrows", "itertuples", "rows"), "x.to_polars().rows()"
    ),
    "lazy": 'x.filter(pl.col("a") > 1)',
    "melt": 'x.unpivot(["a", "b"])',
    "merge": 'x.join(x, on="a", how="left")',
    **dict.fromkeys(("n_unique", "nunique"), "x.select(pl.all().n_unique())"),
    "nlargest": 'x.top_k(2, by="a")',
    "nsmallest": 'x.bottom_k(2, by="a")',
    "npartitions": "len(x.blocks)",
    "plot": "x.to_polars()",
    "pivot_table": 'x.pivot("a", index="b", aggregate_function="len", values="a")',
    "repartition": "x.rechunk(2)",
    "resample": 'x.group_by_dynamic("a", every="1i").agg(pl.col("b").sum())',
    "round": "x.with_columns(pl.selectors.numeric().round(1))",
    **dict.fromkeys(("sort_index", "sort_values"), 'x.sort("a")'),
    **dict.fromkeys(("sink_csv", "to_csv", "write_csv"), 'fs.write(x, "x.csv")'),
    **dict.fromkeys(("sink_parquet", "to_parquet", "write_parquet"), 'fs.write(x, "x.parquet")'),
    **dict.fromkeys(("to_dict", "to_dicts", "to_list", "to_pydict"), "x.to_polars().to_dicts()"),
    **dict.fromkeys(("to_numpy", "values"), "x.to_polars().to_numpy()"),
    **dict.fromkeys(
        ("abs", "cum_max", "cum_min", "cum_sum", "diff", "pct_change", "rank", "round"),
        'x.with_columns(pl.col("b").{name}())',
    ),
    **dict.fromkeys(("clip", "replace"), 'x.with_columns(pl.col("b").{name}(0, 1))'),
    "cumsum": 'x.with_columns(pl.col("b").cum_sum())',
    **dict.fromkeys(("ffill", "pad"), 'x.fill_null(strategy="forward")'),
    "bfill": 'x.fill_null(strategy="backward")',
    **dict.fromkeys(("corr", "cov"), 'x.select(pl.{name}("a", "b"))'),
    "duplicated": "x.select(pl.struct(pl.all()).is_duplicated())",
    **dict.fromkeys(("is_duplicated", "is_unique"), "x.select(pl.struct(pl.all()).{name}())"),
    **dict.fromkeys(("product", "skew"), "x.select(pl.all().{name}())"),
    **dict.fromkeys(
        ("all_horizontal", "any_horizontal"),
        'x.select(pl.{name}(pl.col("a") > 1, pl.col("b") > 1))',
    ),
    **dict.fromkeys(
        ("max_horizontal", "mean_horizontal", "min_horizontal", "sum_horizontal"),
        'x.select(pl.{name}("a", "b"))',
    ),
    **dict.fromkeys(("item", "row"), "x.head(1).to_polars().row(0)"),
    **dict.fromkeys(("empty", "is_empty"), "len(x) == 0"),
    **dict.fromkeys(("glimpse", "info", "show"), "x.head(5).to_polars()"),
    **dict.fromkeys(("estimated_size", "memory_usage"), "x.nbytes"),
    "collect_schema": "x.schema",
    **dict.fromkeys(("collect_batches", "iter_slices"), "x.iter_blocks()"),
    **dict.fromkeys(("get_dummies", "to_dummies"), 'x.to_polars().to_dummies("a")'),
    "hstack": 'x.with_row_index("n").join(x.with_row_index("n"), on="n")',
    "partition_by": 'x.group_by("a").all()',
    "sql": 'fs.sql("select a from x", x=x)',
    "transpose": "x.to_polars().transpose()",
    "update": 'x.join(x, on="a", how="left").with_columns(b=pl.coalesce("b_right", "b"))',
    **dict.fromkeys(("sink_ipc", "write_ipc"), 'fs.write(x, "x.arrow")'),
    "with_row_count": 'x.with_row_index("n")',
}
"""What does the same, or comes next to it, for a frame `x` of columns ``a`` and ``b``."""


def is_test(key: Any) -> bool:
    """Tell whether what a frame is indexed by is an expression that chooses rows.

    Whether it is one of booleans is for `filter` to say.
    """
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(key, polars.Expr)


def not_an_index(key: Any) -> str:
    """Return what is said of what a frame can't be indexed by."""
    if isinstance(key, str):
        return (
            f"a Frame has no columns that are there by themselves, as x[{key!r}]: in what is done "
            f"to it write pl.col({key!r}), as in x.filter(pl.col({key!r}) > 0) or "
            f"x.select(pl.col({key!r}).sum()). x.select({key!r}) is a Frame of it, and "
            f"x.to_polars()[{key!r}] has its values, here"
        )
    kind = type(key).__name__
    if hasattr(key, "dtype") or (isinstance(key, list) and key and isinstance(key[0], bool)):
        return (
            f"a Frame is not indexed by what is of type {kind}, as x[mask]: x.filter(pl.col('a') "
            "> 0) takes the rows for which an expression of columns is true, and x.filter(mask) "
            "those of a mask with a boolean for each row, a list or an array of NumPy's, by one "
            f"call that gets all rows{_as_numpys(key, '; of this one it is x.filter({})')}"
        )
    return (
        f"a Frame is indexed by rows, x[start:stop], or by a list of columns, x[['a', 'b']], not "
        f"by {shown(key)}; x.filter(pl.col('a') > 0) takes rows, and x.select('a', 'b') columns"
    )


def _as_numpys(mask: Any, form: str = "{}") -> str:
    """Return the code that makes an array of NumPy's of a mask; nothing if it is one, or a list."""
    if hasattr(mask, "compute"):
        return form.format("mask.compute()")
    return "" if isinstance(mask, list | np.ndarray) else form.format("mask.to_numpy()")


def refuse_mask(predicate: Any, columns: Collection[str] = ()) -> None:
    """Raise `TypeError` for what polars does not take to filter by; it says no more than that.

    A text is taken for one of the columns.
    """
    kind = type(predicate)
    if isinstance(predicate, str) and predicate not in columns:
        raise TypeError(
            f"filter({predicate!r}): a text is the name of a column; write an expression, as in "
            'x.filter(pl.col("a") > 1), or SQL, as in fs.sql("select * from x where a > 1", x=x)'
        )
    if callable(predicate) and not hasattr(predicate, "meta"):
        raise TypeError(
            "filter() takes expressions of columns, pl.col('a') > 0, and no functions; "
            "x.map_blocks(lambda table: ...) calls one with the rows of each block"
        )
    if hasattr(predicate, "compute") or kind.__module__.startswith("pandas"):
        made = _as_numpys(predicate)
        raise TypeError(
            f"filter() takes expressions of columns, pl.col('a') > 0, not what is of type "
            f"{kind.__name__}; for a boolean for each row write x.filter({made}), "
            "and x.compute() for a value"
        )


def missing(name: str, known: Iterable[str] = ()) -> str:
    """Return what is said of a name that a Frame does not have, but perhaps one like it."""
    if name in INSTEAD:
        code = INSTEAD[name].replace("{name}", name)
        return f"a Frame has no {name!r}; write, say, {code}"
    close = did_you_mean(name, known)
    return (
        f"a Frame has no {name!r}{close or ';'} x.select({name!r}) takes a column, x.to_polars() "
        "all of it"
    )


def not_iterated(made_by: str) -> str:
    """Return what is said of a loop over groups of rows."""
    return (
        f"what {made_by}() makes is not iterated over, since rows of a group are in several "
        f"blocks: agg(pl.col('b').sum()) makes a row of each group, and all() lists of its values; "
        f"x.to_polars().{made_by}(...) is iterated over, here"
    )


def missing_of_groups(name: str, made_by: str) -> str:
    """Return what is said of a name that groups of rows do not have."""
    if name in OF_GROUPS:
        return f"{made_by}() has no {name!r}; write agg(pl.col('b').{name}()) after it, say"
    if name in ("head", "tail"):
        return f"{made_by}() has no {name!r}; write agg(pl.col('b').{name}(5)), which makes lists"
    if name == "having":
        return f"{made_by}() has no {name!r}; filter what agg() makes"
    return f"{made_by}() has no {name!r}; agg() takes expressions, and len() counts rows"

"""Some of the queries of TPC-H on dask.dataframe, which has no expressions like polars'."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

__all__ = ["QUERIES"]

Tables = Mapping[str, Any]


def _revenue(lines: Any) -> Any:
    return lines.assign(revenue=lines.l_extendedprice * (1 - lines.l_discount))


def q1(t: Tables) -> Any:
    """Price a summary of what was shipped."""
    lines = t["lineitem"]
    lines = _revenue(lines[lines.l_shipdate <= datetime(1998, 9, 2)])
    lines = lines.assign(charge=lines.revenue * (1 + lines.l_tax))
    groups = lines.groupby(["l_returnflag", "l_linestatus"])
    return groups.agg(
        {
            "l_quantity": ["sum", "mean"],
            "l_extendedprice": ["sum", "mean"],
            "revenue": "sum",
            "charge": "sum",
            "l_discount": "mean",
            "l_orderkey": "count",
        }
    )


def q3(t: Tables) -> Any:
    """Rank orders that are not shipped yet by what they bring."""
    day = datetime(1995, 3, 15)
    customers = t["customer"]
    customers = customers[customers.c_mktsegment == "BUILDING"][["c_custkey"]]
    orders, lines = t["orders"], t["lineitem"]
    orders = orders[orders.o_orderdate < day]
    orders = orders[["o_orderkey", "o_custkey", "o_orderdate", "o_shippriority"]]
    orders = orders.merge(customers, left_on="o_custkey", right_on="c_custkey")
    lines = _revenue(lines[lines.l_shipdate > day])[["l_orderkey", "revenue"]]
    found = lines.merge(orders, left_on="l_orderkey", right_on="o_orderkey")
    groups = found.groupby(["l_orderkey", "o_orderdate", "o_shippriority"])
    return groups.revenue.sum().reset_index().nlargest(10, "revenue")


def q4(t: Tables) -> Any:
    """Count orders of a quarter with a late line, by priority."""
    lines, orders = t["lineitem"], t["orders"]
    late = lines[lines.l_commitdate < lines.l_receiptdate][["l_orderkey"]].drop_duplicates()
    within = (orders.o_orderdate >= datetime(1993, 7, 1)) & (
        orders.o_orderdate < datetime(1993, 10, 1)
    )
    orders = orders[within][["o_orderkey", "o_orderpriority"]]
    found = orders.merge(late, left_on="o_orderkey", right_on="l_orderkey")
    return found.groupby("o_orderpriority").o_orderkey.count()


def q6(t: Tables) -> Any:
    """Say what more would have been earned without some discounts."""
    lines = t["lineitem"]
    lines = lines[
        (lines.l_shipdate >= datetime(1994, 1, 1))
        & (lines.l_shipdate < datetime(1995, 1, 1))
        & (lines.l_discount >= 0.05 - 1e-9)
        & (lines.l_discount <= 0.07 + 1e-9)
        & (lines.l_quantity < 24)
    ]
    return (lines.l_extendedprice * lines.l_discount).sum()


def q10(t: Tables) -> Any:
    """Rank customers by what they returned."""
    orders, lines = t["orders"], t["lineitem"]
    within = (orders.o_orderdate >= datetime(1993, 10, 1)) & (
        orders.o_orderdate < datetime(1994, 1, 1)
    )
    orders = orders[within][["o_orderkey", "o_custkey"]]
    lines = _revenue(lines[lines.l_returnflag == "R"])[["l_orderkey", "revenue"]]
    lost = lines.merge(orders, left_on="l_orderkey", right_on="o_orderkey")
    lost = lost.groupby("o_custkey").revenue.sum().reset_index()
    found = lost.merge(t["customer"], left_on="o_custkey", right_on="c_custkey")
    found = found.merge(t["nation"], left_on="c_nationkey", right_on="n_nationkey")
    return found.nlargest(20, "revenue")


def q12(t: Tables) -> Any:
    """Count late lines of urgent and other orders, by how they are shipped."""
    lines, orders = t["lineitem"], t["orders"][["o_orderkey", "o_orderpriority"]]
    lines = lines[
        lines.l_shipmode.isin(["MAIL", "SHIP"])
        & (lines.l_commitdate < lines.l_receiptdate)
        & (lines.l_shipdate < lines.l_commitdate)
        & (lines.l_receiptdate >= datetime(1994, 1, 1))
        & (lines.l_receiptdate < datetime(1995, 1, 1))
    ][["l_orderkey", "l_shipmode"]]
    found = orders.merge(lines, left_on="o_orderkey", right_on="l_orderkey")
    high = found.o_orderpriority.isin(["1-URGENT", "2-HIGH"]).astype(int)
    found = found.assign(high=high, low=1 - high)
    return found.groupby("l_shipmode")[["high", "low"]].sum()


def q14(t: Tables) -> Any:
    """Say the revenue of a month's parts, promoted and all."""
    lines = t["lineitem"]
    lines = lines[
        (lines.l_shipdate >= datetime(1995, 9, 1)) & (lines.l_shipdate < datetime(1995, 10, 1))
    ]
    lines = _revenue(lines)[["l_partkey", "revenue"]]
    found = lines.merge(
        t["part"][["p_partkey", "p_type"]], left_on="l_partkey", right_on="p_partkey"
    )
    promoted = found.revenue.where(found.p_type.str.startswith("PROMO"), 0.0)
    return 100.0 * promoted.sum() / found.revenue.sum()


def q18(t: Tables) -> Any:
    """List the largest orders."""
    sums = t["lineitem"].groupby("l_orderkey").l_quantity.sum().reset_index()
    large = sums[sums.l_quantity > 300]
    orders = t["orders"][["o_orderkey", "o_custkey", "o_orderdate", "o_totalprice"]]
    found = orders.merge(large, left_on="o_orderkey", right_on="l_orderkey")
    customers = t["customer"][["c_custkey", "c_name"]]
    found = found.merge(customers, left_on="o_custkey", right_on="c_custkey")
    return found.nlargest(100, "o_totalprice")


QUERIES: dict[str, Callable[[Tables], Any]] = {
    query.__name__: query for query in (q1, q3, q4, q6, q10, q12, q14, q18)
}

"""The 22 queries of TPC-H, with the values that its specification validates by.

Each takes the tables by name and returns a frame, lazily; tables are `freestone.Frame`, or polars'
LazyFrame, whose methods are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import polars as pl
from polars import col

__all__ = ["QUERIES"]

Tables = Mapping[str, Any]

REVENUE = col("l_extendedprice") * (1 - col("l_discount"))


def q1(t: Tables) -> Any:
    """Price a summary of what was shipped."""
    charged = REVENUE * (1 + col("l_tax"))
    return (
        t["lineitem"]
        .filter(col("l_shipdate") <= date(1998, 9, 2))
        .group_by("l_returnflag", "l_linestatus")
        .agg(
            col("l_quantity").sum().alias("sum_qty"),
            col("l_extendedprice").sum().alias("sum_base_price"),
            REVENUE.sum().alias("sum_disc_price"),
            charged.sum().alias("sum_charge"),
            col("l_quantity").mean().alias("avg_qty"),
            col("l_extendedprice").mean().alias("avg_price"),
            col("l_discount").mean().alias("avg_disc"),
            pl.len().alias("count_order"),
        )
        .sort("l_returnflag", "l_linestatus")
    )


def q2(t: Tables) -> Any:
    """Find the cheapest suppliers of parts in a region."""
    offers = (
        t["part"]
        .filter(col("p_size") == 15, col("p_type").str.ends_with("BRASS"))
        .join(t["partsupp"], left_on="p_partkey", right_on="ps_partkey")
        .join(_suppliers_in(t, "EUROPE"), left_on="ps_suppkey", right_on="s_suppkey")
    )
    cheapest = offers.group_by("p_partkey").agg(col("ps_supplycost").min())
    columns = ["s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr"]
    return (
        offers.join(cheapest, on=["p_partkey", "ps_supplycost"])
        .select(*columns, "s_address", "s_phone", "s_comment")
        .sort("s_acctbal", "n_name", "s_name", "p_partkey", descending=[True, False, False, False])
        .head(100)
    )


def _suppliers_in(t: Tables, region: str) -> Any:
    nations = (
        t["region"]
        .filter(col("r_name") == region)
        .join(t["nation"], left_on="r_regionkey", right_on="n_regionkey")
        .select("n_nationkey", "n_name")
    )
    return t["supplier"].join(nations, left_on="s_nationkey", right_on="n_nationkey")


def q3(t: Tables) -> Any:
    """Rank orders that are not shipped yet by what they bring."""
    day = date(1995, 3, 15)
    customers = t["customer"].filter(col("c_mktsegment") == "BUILDING").select("c_custkey")
    orders = (
        t["orders"]
        .filter(col("o_orderdate") < day)
        .join(customers, left_on="o_custkey", right_on="c_custkey", how="semi")
        .select("o_orderkey", "o_orderdate", "o_shippriority")
    )
    return (
        t["lineitem"]
        .filter(col("l_shipdate") > day)
        .join(orders, left_on="l_orderkey", right_on="o_orderkey")
        .group_by("l_orderkey", "o_orderdate", "o_shippriority")
        .agg(REVENUE.sum().alias("revenue"))
        .select("l_orderkey", "revenue", "o_orderdate", "o_shippriority")
        .sort("revenue", "o_orderdate", descending=[True, False])
        .head(10)
    )


def q4(t: Tables) -> Any:
    """Count orders of a quarter with a late line, by priority."""
    late = t["lineitem"].filter(col("l_commitdate") < col("l_receiptdate")).select("l_orderkey")
    return (
        t["orders"]
        .filter(col("o_orderdate").is_between(date(1993, 7, 1), date(1993, 9, 30)))
        .join(late, left_on="o_orderkey", right_on="l_orderkey", how="semi")
        .group_by("o_orderpriority")
        .agg(pl.len().alias("order_count"))
        .sort("o_orderpriority")
    )


def q5(t: Tables) -> Any:
    """Sum what suppliers earn by customers of their own nation."""
    suppliers = _suppliers_in(t, "ASIA").select("s_suppkey", "s_nationkey", "n_name")
    orders = (
        t["orders"]
        .filter(col("o_orderdate").is_between(date(1994, 1, 1), date(1994, 12, 31)))
        .join(t["customer"], left_on="o_custkey", right_on="c_custkey")
        .select("o_orderkey", "c_nationkey")
    )
    keys = {"left_on": ["l_suppkey", "c_nationkey"], "right_on": ["s_suppkey", "s_nationkey"]}
    return (
        t["lineitem"]
        .join(orders, left_on="l_orderkey", right_on="o_orderkey")
        .join(suppliers, **keys)
        .group_by("n_name")
        .agg(REVENUE.sum().alias("revenue"))
        .sort("revenue", descending=True)
    )


def q6(t: Tables) -> Any:
    """Say what more would have been earned without some discounts."""
    return (
        t["lineitem"]
        .filter(
            col("l_shipdate").is_between(date(1994, 1, 1), date(1994, 12, 31)),
            col("l_discount").is_between(0.05 - 1e-9, 0.07 + 1e-9),
            col("l_quantity") < 24,
        )
        .select((col("l_extendedprice") * col("l_discount")).sum().alias("revenue"))
    )


def q7(t: Tables) -> Any:
    """Sum what is shipped between two nations, by year."""
    nations = t["nation"].filter(col("n_name").is_in(["FRANCE", "GERMANY"]))
    nations = nations.select("n_nationkey", "n_name")
    suppliers = t["supplier"].join(nations, left_on="s_nationkey", right_on="n_nationkey")
    suppliers = suppliers.select("s_suppkey", supp_nation="n_name")
    customers = t["customer"].join(nations, left_on="c_nationkey", right_on="n_nationkey")
    orders = (
        t["orders"]
        .join(customers, left_on="o_custkey", right_on="c_custkey")
        .select("o_orderkey", cust_nation="n_name")
    )
    return (
        t["lineitem"]
        .filter(col("l_shipdate").is_between(date(1995, 1, 1), date(1996, 12, 31)))
        .join(suppliers, left_on="l_suppkey", right_on="s_suppkey")
        .join(orders, left_on="l_orderkey", right_on="o_orderkey")
        .filter(col("supp_nation") != col("cust_nation"))
        .group_by("supp_nation", "cust_nation", l_year=col("l_shipdate").dt.year())
        .agg(REVENUE.sum().alias("revenue"))
        .sort("supp_nation", "cust_nation", "l_year")
    )


def q8(t: Tables) -> Any:
    """Say a nation's share of the market for a part, by year."""
    parts = t["part"].filter(col("p_type") == "ECONOMY ANODIZED STEEL").select("p_partkey")
    american = t["region"].filter(col("r_name") == "AMERICA")
    american = t["nation"].join(american, left_on="n_regionkey", right_on="r_regionkey")
    customers = t["customer"].join(
        american.select("n_nationkey"), left_on="c_nationkey", right_on="n_nationkey", how="semi"
    )
    orders = (
        t["orders"]
        .filter(col("o_orderdate").is_between(date(1995, 1, 1), date(1996, 12, 31)))
        .join(customers, left_on="o_custkey", right_on="c_custkey", how="semi")
        .select("o_orderkey", "o_orderdate")
    )
    nations = t["nation"].select("n_nationkey", "n_name")
    suppliers = t["supplier"].join(nations, left_on="s_nationkey", right_on="n_nationkey")
    lines = (
        t["lineitem"]
        .join(parts, left_on="l_partkey", right_on="p_partkey", how="semi")
        .join(orders, left_on="l_orderkey", right_on="o_orderkey")
        .join(suppliers.select("s_suppkey", "n_name"), left_on="l_suppkey", right_on="s_suppkey")
        .select("n_name", volume=REVENUE, o_year=col("o_orderdate").dt.year())
    )
    of_brazil = col("volume").filter(col("n_name") == "BRAZIL").sum()
    return (
        lines.group_by("o_year")
        .agg((of_brazil / col("volume").sum()).alias("mkt_share"))
        .sort("o_year")
    )


def q9(t: Tables) -> Any:
    """Sum the profit on a line of parts, by nation and year."""
    parts = t["part"].filter(col("p_name").str.contains("green", literal=True)).select("p_partkey")
    nations = t["nation"].select("n_nationkey", "n_name")
    suppliers = t["supplier"].join(nations, left_on="s_nationkey", right_on="n_nationkey")
    offers = (
        t["partsupp"]
        .join(parts, left_on="ps_partkey", right_on="p_partkey", how="semi")
        .join(
            suppliers.select("s_suppkey", nation="n_name"),
            left_on="ps_suppkey",
            right_on="s_suppkey",
        )
        .select("ps_partkey", "ps_suppkey", "ps_supplycost", "nation")
    )
    keys = {"left_on": ["l_partkey", "l_suppkey"], "right_on": ["ps_partkey", "ps_suppkey"]}
    lines = t["lineitem"].join(offers, **keys)
    lines = lines.select(
        "l_orderkey", "nation", amount=REVENUE - col("ps_supplycost") * col("l_quantity")
    )
    return (
        t["orders"]
        .select("o_orderkey", o_year=col("o_orderdate").dt.year())
        .join(lines, left_on="o_orderkey", right_on="l_orderkey")
        .group_by("nation", "o_year")
        .agg(col("amount").sum().alias("sum_profit"))
        .sort("nation", "o_year", descending=[False, True])
    )


def q10(t: Tables) -> Any:
    """Rank customers by what they returned."""
    orders = (
        t["orders"]
        .filter(col("o_orderdate").is_between(date(1993, 10, 1), date(1993, 12, 31)))
        .select("o_orderkey", "o_custkey")
    )
    lost = (
        t["lineitem"]
        .filter(col("l_returnflag") == "R")
        .join(orders, left_on="l_orderkey", right_on="o_orderkey")
        .group_by("o_custkey")
        .agg(REVENUE.sum().alias("revenue"))
    )
    nations = t["nation"].select("n_nationkey", "n_name")
    return (
        t["customer"]
        .join(lost, left_on="c_custkey", right_on="o_custkey")
        .join(nations, left_on="c_nationkey", right_on="n_nationkey")
        .select(
            "c_custkey",
            "c_name",
            "revenue",
            "c_acctbal",
            "n_name",
            "c_address",
            "c_phone",
            "c_comment",
        )
        .sort("revenue", "c_custkey", descending=[True, False])
        .head(20)
    )


def q11(t: Tables) -> Any:
    """Find the parts that are most of a nation's stock."""
    nation = t["nation"].filter(col("n_name") == "GERMANY").select("n_nationkey")
    suppliers = t["supplier"].join(
        nation, left_on="s_nationkey", right_on="n_nationkey", how="semi"
    )
    stock = t["partsupp"].join(
        suppliers.select("s_suppkey"), left_on="ps_suppkey", right_on="s_suppkey", how="semi"
    )
    value = (col("ps_supplycost") * col("ps_availqty")).sum().alias("value")
    total = stock.select(least=value * (0.0001 / t["scale"]))
    return (
        stock.group_by("ps_partkey")
        .agg(value)
        .join(total, how="cross")
        .filter(col("value") > col("least"))
        .select("ps_partkey", "value")
        .sort("value", "ps_partkey", descending=[True, False])
    )


def q12(t: Tables) -> Any:
    """Count late lines of urgent and other orders, by how they are shipped."""
    lines = t["lineitem"].filter(
        col("l_shipmode").is_in(["MAIL", "SHIP"]),
        col("l_commitdate") < col("l_receiptdate"),
        col("l_shipdate") < col("l_commitdate"),
        col("l_receiptdate").is_between(date(1994, 1, 1), date(1994, 12, 31)),
    )
    is_urgent = col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    return (
        t["orders"]
        .join(lines.select("l_orderkey", "l_shipmode"), left_on="o_orderkey", right_on="l_orderkey")
        .group_by("l_shipmode")
        .agg(is_urgent.sum().alias("high_line_count"), (~is_urgent).sum().alias("low_line_count"))
        .sort("l_shipmode")
    )


def q13(t: Tables) -> Any:
    """Count customers by how many orders they have."""
    orders = (
        t["orders"]
        .filter(~col("o_comment").str.contains("special.*requests"))
        .group_by("o_custkey")
        .agg(pl.len().alias("c_count"))
    )
    return (
        t["customer"]
        .select("c_custkey")
        .join(orders, left_on="c_custkey", right_on="o_custkey", how="left")
        .select(col("c_count").fill_null(0))
        .group_by("c_count")
        .agg(pl.len().alias("custdist"))
        .sort("custdist", "c_count", descending=True)
    )


def q14(t: Tables) -> Any:
    """Say the share of promoted parts in a month's revenue."""
    promoted = REVENUE.filter(col("p_type").str.starts_with("PROMO")).sum()
    return (
        t["lineitem"]
        .filter(col("l_shipdate").is_between(date(1995, 9, 1), date(1995, 9, 30)))
        .join(t["part"].select("p_partkey", "p_type"), left_on="l_partkey", right_on="p_partkey")
        .select((100.0 * promoted / REVENUE.sum()).alias("promo_revenue"))
    )


def q15(t: Tables) -> Any:
    """Find the supplier with the largest revenue of a quarter."""
    revenue = (
        t["lineitem"]
        .filter(col("l_shipdate").is_between(date(1996, 1, 1), date(1996, 3, 31)))
        .group_by("l_suppkey")
        .agg(REVENUE.sum().round(4).alias("total_revenue"))
    )
    largest = revenue.select(most=col("total_revenue").max())
    return (
        revenue.join(largest, how="cross")
        .filter(col("total_revenue") >= col("most"))
        .join(t["supplier"], left_on="l_suppkey", right_on="s_suppkey")
        .select(
            "s_name",
            "s_address",
            "s_phone",
            "total_revenue",
            s_suppkey="l_suppkey",
        )
        .select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
        .sort("s_suppkey")
    )


def q16(t: Tables) -> Any:
    """Count suppliers by kinds of parts."""
    complained = t["supplier"].filter(col("s_comment").str.contains("Customer.*Complaints"))
    parts = t["part"].filter(
        col("p_brand") != "Brand#45",
        ~col("p_type").str.starts_with("MEDIUM POLISHED"),
        col("p_size").is_in([49, 14, 23, 45, 19, 3, 36, 9]),
    )
    keys = ["p_brand", "p_type", "p_size"]
    return (
        t["partsupp"]
        .join(parts, left_on="ps_partkey", right_on="p_partkey")
        .join(complained, left_on="ps_suppkey", right_on="s_suppkey", how="anti")
        .group_by(keys)
        .agg(col("ps_suppkey").n_unique().alias("supplier_cnt"))
        .sort("supplier_cnt", *keys, descending=[True, False, False, False])
    )


def q17(t: Tables) -> Any:
    """Say what small orders of some parts bring a year."""
    parts = t["part"].filter(col("p_brand") == "Brand#23", col("p_container") == "MED BOX")
    lines = (
        t["lineitem"]
        .select("l_partkey", "l_quantity", "l_extendedprice")
        .join(parts.select("p_partkey"), left_on="l_partkey", right_on="p_partkey", how="semi")
    )
    small = lines.group_by("l_partkey").agg((0.2 * col("l_quantity").mean()).alias("small"))
    return (
        lines.join(small, on="l_partkey")
        .filter(col("l_quantity") < col("small"))
        .select((col("l_extendedprice").sum() / 7.0).alias("avg_yearly"))
    )


def q18(t: Tables) -> Any:
    """List the largest orders."""
    large = (
        t["lineitem"]
        .group_by("l_orderkey")
        .agg(col("l_quantity").sum().alias("sum_qty"))
        .filter(col("sum_qty") > 300)
    )
    customers = t["customer"].select("c_custkey", "c_name")
    return (
        t["orders"]
        .join(large, left_on="o_orderkey", right_on="l_orderkey")
        .join(customers, left_on="o_custkey", right_on="c_custkey")
        .select(
            "c_name",
            col("o_custkey").alias("c_custkey"),
            "o_orderkey",
            "o_orderdate",
            "o_totalprice",
            "sum_qty",
        )
        .sort("o_totalprice", "o_orderdate", "o_orderkey", descending=[True, False, False])
        .head(100)
    )


def q19(t: Tables) -> Any:
    """Sum the discounted revenue of three kinds of parts."""

    def matches(brand: str, boxes: str, least: int, largest: int) -> pl.Expr:
        containers = [f"{boxes} {each}" for each in _CONTAINERS[boxes]]
        return (
            (col("p_brand") == brand)
            & col("p_container").is_in(containers)
            & col("l_quantity").is_between(least, least + 10)
            & col("p_size").is_between(1, largest)
        )

    return (
        t["lineitem"]
        .filter(
            col("l_shipmode").is_in(["AIR", "AIR REG"]),
            col("l_shipinstruct") == "DELIVER IN PERSON",
        )
        .join(t["part"], left_on="l_partkey", right_on="p_partkey")
        .filter(
            matches("Brand#12", "SM", 1, 5)
            | matches("Brand#23", "MED", 10, 10)
            | matches("Brand#34", "LG", 20, 15)
        )
        .select(REVENUE.sum().alias("revenue"))
    )


_CONTAINERS = {
    "SM": ["CASE", "BOX", "PACK", "PKG"],
    "MED": ["BAG", "BOX", "PKG", "PACK"],
    "LG": ["CASE", "BOX", "PACK", "PKG"],
}


def q20(t: Tables) -> Any:
    """List suppliers that have too much of some parts."""
    parts = t["part"].filter(col("p_name").str.starts_with("forest")).select("p_partkey")
    shipped = (
        t["lineitem"]
        .filter(col("l_shipdate").is_between(date(1994, 1, 1), date(1994, 12, 31)))
        .join(parts, left_on="l_partkey", right_on="p_partkey", how="semi")
        .group_by("l_partkey", "l_suppkey")
        .agg((0.5 * col("l_quantity").sum()).alias("half"))
    )
    keys = {"left_on": ["ps_partkey", "ps_suppkey"], "right_on": ["l_partkey", "l_suppkey"]}
    over = t["partsupp"].join(shipped, **keys).filter(col("ps_availqty") > col("half"))
    nation = t["nation"].filter(col("n_name") == "CANADA").select("n_nationkey")
    return (
        t["supplier"]
        .join(nation, left_on="s_nationkey", right_on="n_nationkey", how="semi")
        .join(over.select("ps_suppkey"), left_on="s_suppkey", right_on="ps_suppkey", how="semi")
        .select("s_name", "s_address")
        .sort("s_name")
    )


def q21(t: Tables) -> Any:
    """Rank suppliers that alone kept orders waiting."""
    lines = t["lineitem"].select(
        "l_orderkey", "l_suppkey", is_late=col("l_receiptdate") > col("l_commitdate")
    )
    nation = t["nation"].filter(col("n_name") == "SAUDI ARABIA").select("n_nationkey")
    suppliers = t["supplier"].join(
        nation, left_on="s_nationkey", right_on="n_nationkey", how="semi"
    )
    orders = t["orders"].filter(col("o_orderstatus") == "F").select("o_orderkey")
    several = (
        lines.group_by("l_orderkey")
        .agg(
            col("l_suppkey").min().alias("first"),
            col("l_suppkey").max().alias("last"),
            col("l_suppkey").filter(col("is_late")).min().alias("first late"),
            col("l_suppkey").filter(col("is_late")).max().alias("last late"),
        )
        .filter(col("first") != col("last"), col("first late") == col("last late"))
        .join(orders, left_on="l_orderkey", right_on="o_orderkey", how="semi")
        .select("l_orderkey")
    )
    return (
        lines.filter("is_late")
        .join(suppliers.select("s_suppkey", "s_name"), left_on="l_suppkey", right_on="s_suppkey")
        .join(several, on="l_orderkey", how="semi")
        .group_by("s_name")
        .agg(pl.len().alias("numwait"))
        .sort("numwait", "s_name", descending=[True, False])
        .head(100)
    )


def q22(t: Tables) -> Any:
    """Count rich customers without orders, by country."""
    codes = ["13", "31", "23", "29", "30", "18", "17"]
    customers = (
        t["customer"]
        .select("c_custkey", "c_acctbal", cntrycode=col("c_phone").str.slice(0, 2))
        .filter(col("cntrycode").is_in(codes))
    )
    rich = customers.filter(col("c_acctbal") > 0).select(mean=col("c_acctbal").mean())
    orders = t["orders"].select("o_custkey")
    return (
        customers.join(rich, how="cross")
        .filter(col("c_acctbal") > col("mean"))
        .join(orders, left_on="c_custkey", right_on="o_custkey", how="anti")
        .group_by("cntrycode")
        .agg(pl.len().alias("numcust"), col("c_acctbal").sum().alias("totacctbal"))
        .sort("cntrycode")
    )


QUERIES: dict[str, Callable[[Tables], Any]] = {
    query.__name__: query
    for query in (
        *(q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11),
        *(q12, q13, q14, q15, q16, q17, q18, q19, q20, q21, q22),
    )
}

"""What is written in the language for functions of NumPy's that are not lazy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["instead_of", "refusal"]

ROUNDED = "x.round(), or (x * 100.0).round() / 100.0; halves are rounded away from zero"

FUNCTIONS: dict[str, str | tuple[str, str, str]] = {
    "all": "np.all(x)",
    "any": "np.any(x)",
    "argmax": (
        "x.idxMax(1), for each column",
        "x.idxMax(0), for each row",
        "x.reshape(1, -1).idxMax(0), or x.idxMax(0) for each row",
    ),
    "argmin": (
        "x.idxMin(1), for each column",
        "x.idxMin(0), for each row",
        "x.reshape(1, -1).idxMin(0), or x.idxMin(0) for each row",
    ),
    "argsort": "x.order(0, True, True), by a column",
    "around": ROUNDED,
    "column_stack": "x.cbind(y)",
    "concatenate": ("x.rbind(y)", "x.cbind(y)", "x.rbind(y), or x.cbind(y)"),
    "count_nonzero": ("np.sum(x != 0, axis=0)", "np.sum(x != 0, axis=1)", "np.sum(x != 0)"),
    "cumprod": (
        "x.cumProd(), down the columns",
        "x.t().cumProd().t(), along the rows",
        "x.reshape(-1, 1).cumProd(), or x.cumProd() down the columns",
    ),
    "cumsum": (
        "x.cumSum(), down the columns",
        "x.t().cumSum().t(), along the rows",
        "x.reshape(-1, 1).cumSum(), or x.cumSum() down the columns",
    ),
    "diag": "x.diagVector(), or x.diagMatrix() of a column",
    "dot": "x @ y",
    "flatten": "x.reshape(1, -1), a row",
    "flip": ("x[::-1]", "x[:, ::-1]", "x[::-1, ::-1]"),
    "fliplr": "x[:, ::-1]",
    "flipud": "x[::-1]",
    "floor_divide": "(x / y).floor(), of integers (x * 1.0 / y).floor()",
    "hstack": "x.cbind(y)",
    "log10": "x.log(10.0)",
    "log2": "x.log(2.0)",
    "logical_not": "x == 0",
    "logical_xor": "(x != 0) ^ (y != 0)",
    "prod": (
        "x.cumProd()[-1], of each column",
        "x.t().cumProd()[-1], of each row",
        "x.reshape(-1, 1).cumProd()[-1], or x.cumProd()[-1] of each column",
    ),
    "outer": "x.outerMul(y.t()), of columns",
    "ravel": "x.reshape(1, -1), a row",
    "remainder": "x - y * (x / y).floor(), of integers x - y * (x * 1.0 / y).floor()",
    "rint": ROUNDED,
    "round": ROUNDED,
    "solve": "x.solve(y)",
    "sort": "x.order(0, True, False), rows by a column",
    "squeeze": "x.compute().squeeze()",
    "square": "x * x",
    "std": "np.std(x)",
    "transpose": "x.T",
    "vstack": "x.rbind(y)",
    "where": "np.where(mask, x, y), or, for positions, np.nonzero(mask.compute())",
}
"""What is written instead; three ways are those of NumPy's axes 0 and 1, and of none."""

METHODS = {
    "reduce": "np.sum(x, axis=0), np.min or np.max",
    "accumulate": "x.cumSum(), x.cumMin() or x.cumMax(), down the columns",
    "outer": "x.outerAdd(y.t()), of columns, or another of outerSub, outerMul, ...",
    "at": "y = x.compute(), and np.add.at(y, places, values)",
}

KEYWORDS = {
    "where": "np.where(mask, np.add(x, y), x)",
    "dtype": 'np.add(x, y).asType("f32")',
    "out": "z = np.add(x, y): nothing is written into a lazy matrix; out= takes NumPy's arrays",
}
OF_REDUCTIONS = {
    "where": "np.sum(np.where(mask, x, 0))",
    "dtype": 'np.sum(x.asType("f32"))',
    "out": "s = np.sum(x): nothing is written into a lazy matrix; out= takes NumPy's arrays",
    "initial": "np.sum(x) + initial, or np.maximum(np.max(x), initial)",
    "ddof": "np.var(x) * (n / (n - ddof)), and np.sqrt of it for a deviation",
    "correction": "np.var(x) * (n / (n - correction)), and np.sqrt of it for a deviation",
}


def refusal(
    name: str,
    lazy: Iterable[str],
    *,
    method: str = "",
    args: Sequence[Any] = (),
    keywords: Mapping[str, Any] | None = None,
    reduces: bool = False,
) -> TypeError:
    """Make the error of a function that the language has no operation for.

    Parameters
    ----------
    name : str
        NumPy's name of it.
    lazy : iterable of str
        The functions that are lazy.
    method : str, optional
        Which method of it is called.
    args : sequence, optional
        What it is given.
    keywords : mapping, optional
        The keywords that it is given.
    reduces : bool
        Whether it is a reduction.
    """
    words = dict(keywords or {})
    known = [*lazy]
    given = " with " + ", ".join(f"{word}=" for word in words) if words else ""
    called = f"{name}.{method}" if method else name
    if called in known and not words:
        given = f" with {len(args)} argument{'s' * (len(args) != 1)}"
    hints = OF_REDUCTIONS if reduces else KEYWORDS
    found = [METHODS.get(method), *(hints.get(word) for word in words)]
    if not method:
        found.append(instead_of(name, words.get("axis", args[1] if len(args) > 1 else None)))
    instead = next(filter(None, found), "")
    way = f"write {instead}" if instead else "use an operation of the language, as x.sqrt()"
    listed = "" if called in known else f". Lazy are numpy.{', '.join(known)}"
    return TypeError(
        f"numpy.{called}{given} does not take lazy matrices; {way}, or compute "
        f"them first, by x.compute(){listed}"
    )


def instead_of(name: str, axis: Any = None) -> str:
    """Return what is written instead of a function, along an axis if it is given."""
    ways = FUNCTIONS.get(name, "")
    if isinstance(ways, str):
        return ways
    return ways[axis % 2 if isinstance(axis, int) and -2 <= axis < 2 else 2]

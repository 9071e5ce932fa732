"""What is written in the language for functions of NumPy's that are not lazy."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["refusal"]

FUNCTIONS = {
    "argmax": "x.idxMax(0), for each row",
    "argmin": "x.idxMin(0), for each row",
    "argsort": "x.order(0, True, True), by a column",
    "around": "x.round()",
    "concatenate": "x.rbind(y), or x.cbind(y)",
    "count_nonzero": "(x != 0).sum()",
    "cumprod": "x.cumProd(), down the columns",
    "cumsum": "x.cumSum(), down the columns",
    "diag": "x.diagVector(), or x.diagMatrix() of a column",
    "dot": "x @ y",
    "flip": "x.reverse()",
    "floor_divide": "(x / y).floor()",
    "hstack": "x.cbind(y)",
    "log10": "x.log(10.0)",
    "log2": "x.log(2.0)",
    "prod": "x.cumProd()[-1], of each column",
    "outer": "x.outerMul(y.t()), of columns",
    "ravel": "x.reshape(1, -1), a row",
    "rint": "x.round()",
    "round": "x.round()",
    "solve": "x.solve(y)",
    "sort": "x.order(0, True, False), by a column",
    "squeeze": "x.compute().squeeze()",
    "square": "x * x",
    "vstack": "x.rbind(y)",
}

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


def refusal(
    name: str, lazy: Iterable[str], *, method: str = "", keywords: Iterable[str] = ()
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
    keywords : iterable of str
        The keywords that it is given.
    """
    words = list(keywords)
    given = " with " + ", ".join(f"{word}=" for word in words) if words else ""
    called = f"{name}.{method}" if method else name
    hints = [METHODS.get(method), *(KEYWORDS.get(word) for word in words)]
    if not method and not words:
        hints = [FUNCTIONS.get(name)]
    instead = next(filter(None, hints), "")
    way = f"write {instead}" if instead else "use an operation of the language, as x.sqrt()"
    return TypeError(
        f"numpy.{called}{given} does not take lazy matrices; {way}, or compute "
        f"them first, as np.median(x.compute()). Lazy are numpy.{', '.join(lazy)}"
    )

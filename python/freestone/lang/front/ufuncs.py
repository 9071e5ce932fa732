"""What NumPy's functions of cells are called in the language."""

from __future__ import annotations

__all__ = ["COMPARISONS", "EXTREMES", "NUMBERS", "REALS"]

COMPARISONS = {
    "equal": "eq",
    "not_equal": "neq",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "logical_and": "and",
    "logical_or": "or",
}
"""Of cells of any type; their results are truth values."""

NUMBERS = {"add": "add", "subtract": "sub", "multiply": "mul"}
"""Of all numbers, with the same results as NumPy's."""

EXTREMES = {"minimum": "min", "maximum": "max"}
"""With the same results for integers; NaN is another matter."""

REALS = {
    "divide": "div",
    "fmod": "mod",
    "power": "pow",
    "negative": "minus",
    "absolute": "abs",
    "exp": "exp",
    "log": "ln",
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
}
"""With the same results for real numbers."""

"""The built-in functions: what each takes, checks and makes; how it runs is in ``kernels``.

See docs/decisions/034-built-ins-are-declared-apart-from-their-kernels.md
"""

from freestone.lang.front.builtins import (
    aggregation,
    algebra,
    elementwise,
    generation,
    io,
    lending,
    lists,
    meta,
    neural,
    other,
    profiling,
    relational,
    reorganisation,
)
from freestone.lang.front.builtins.composing import call, make_builtin
from freestone.lang.front.builtins.table import (
    BUILTINS,
    Builtin,
    all_names,
    find,
    instead_of,
    lower,
)

__all__ = [
    "BUILTINS",
    "Builtin",
    "aggregation",
    "algebra",
    "all_names",
    "call",
    "elementwise",
    "find",
    "generation",
    "instead_of",
    "io",
    "lending",
    "lists",
    "lower",
    "make_builtin",
    "meta",
    "neural",
    "other",
    "profiling",
    "relational",
    "reorganisation",
]

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
from freestone.lang.front.builtins.table import BUILTINS, Builtin, lower

__all__ = [
    "BUILTINS",
    "Builtin",
    "aggregation",
    "algebra",
    "elementwise",
    "generation",
    "io",
    "lending",
    "lists",
    "lower",
    "meta",
    "neural",
    "other",
    "profiling",
    "relational",
    "reorganisation",
]

"""Lazy matrices, frames and scalars from Python, with DaphneLib's vocabulary.

Every operation only adds to a typed graph, the one that scripts are compiled to; types and
shapes are checked at once. ``compute()`` runs it, fused.

    from freestone.lang.daphnelib import DaphneContext

    context = DaphneContext()
    x = context.from_numpy(array)
    print(((x * 2 + 1) / 3 > 0.5).sum().compute())

Arrays come in without a copy where they have no gaps, and are never changed.
"""

from freestone.lang.daphnelib.context import DaphneContext
from freestone.lang.daphnelib.values import Action, Frame, List, Matrix, Scalar

__all__ = ["Action", "DaphneContext", "Frame", "List", "Matrix", "Scalar"]

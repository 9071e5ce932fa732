"""The function passes freestone's kit, and is used from Python."""

import numpy as np

from freestone.lang.daphnelib import DaphneContext
from freestone.testing import check_builtin

X = np.linspace(-20.0, 900.0, 21).reshape(7, 3)


def test_the_function_passes_the_kit() -> None:
    cases = [((X,), np.logaddexp(X, 0)), ((X, 2.0), np.logaddexp(2 * X, 0) / 2)]
    check_builtin("softplus", cases)


def test_it_is_a_method_of_lazy_matrices() -> None:
    found = DaphneContext().from_numpy(X).softplus().compute()
    np.testing.assert_allclose(found, np.logaddexp(X, 0), atol=1e-12)

"""Sparse matrices from their entries, as CSR or as COO."""

from __future__ import annotations

from typing import Any

from freestone.errors import UsageError

__all__ = ["form_of", "in_form"]

FORMS = ("csr", "coo")


def form_of(sparse: Any) -> str:
    """Return what the option `sparse` asks for: ``csr`` unless it says ``coo``."""
    if sparse is None or sparse is True:
        return FORMS[0]
    if sparse not in FORMS:
        raise UsageError(f"sparse={sparse!r}: sparse matrices are read as 'csr' or as 'coo'")
    return str(sparse)


def in_form(matrix: Any, form: str) -> Any:
    """Return a SciPy matrix as CSR, where entries of one place are added up, or as COO."""
    return matrix.tocoo() if form == "coo" else matrix.tocsr()

"""Certificates of clusters and runs."""

__all__ = [
    "make_identity",
]

def make_identity(days: int) -> tuple[str, str]: ...

"""Certificates of clusters and runs."""

__all__ = [
    "make_authority",
    "make_identity",
    "make_member",
]

def make_identity(days: int) -> tuple[str, str]: ...
def make_authority(days: int) -> tuple[str, str]: ...
def make_member(authority: tuple[str, str], days: int) -> tuple[str, str]: ...

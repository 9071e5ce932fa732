"""Folders that are removed with the process that made them."""

from typing import final

__all__ = [
    "OwnedFolder",
    "is_folder_in_use",
    "sweep_folders",
]

@final
class OwnedFolder:
    """A folder with a marker, whose lock is held until it is removed or this process ends."""

    @staticmethod
    def create(parent: str) -> OwnedFolder: ...
    @staticmethod
    def take(path: str) -> OwnedFolder: ...
    @property
    def path(self) -> str: ...
    def remove(self) -> None: ...
    def forget(self) -> None: ...

def sweep_folders(parent: str) -> int: ...
def is_folder_in_use(path: str) -> bool: ...

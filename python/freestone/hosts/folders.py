"""The folders of a cluster on this machine: whose they are, and who removes them when."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from freestone import _native
from freestone.config import Config
from freestone.errors import ClusterStartError

__all__ = ["Folders", "disk_dir_of", "runtime_dir"]

_SHARED_MEMORY = Path("/dev/shm")


def runtime_dir(config: Config | None = None) -> Path:
    """Return the folder in which each cluster of this user has a folder of its own."""
    if config is not None and config.folder is not None:
        # Named by the user, who may mean what a link leads to.
        return Path(config.folder).resolve()
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return Path(base) / f"freestone-{os.getuid()}"


def disk_dir_of(runtime: Path, memory_dir: str) -> str:
    """Return the folder on disk of a worker that joined by itself, from that in memory."""
    memory = Path(memory_dir)
    return str(runtime / memory.parent.name / f"disk-{memory.name}")


def _memory_dir() -> Path:
    if _SHARED_MEMORY.is_dir() and os.access(_SHARED_MEMORY, os.W_OK):
        return _SHARED_MEMORY / f"freestone-{os.getuid()}"
    return runtime_dir()


def _private(path: Path) -> Path:
    """Make a folder of this user's, or refuse one of another's, one they may write to, or a link.

    What clusters make in it only this user may enter.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    stat = path.lstat()
    if path.is_symlink() or stat.st_uid != os.getuid() or stat.st_mode & 0o022:
        problem = f"{path} must be a folder, no link, that is yours and that only you may write to"
        raise ClusterStartError(f"{problem}: chmod go-w it, or set folder=")
    return path


@dataclass(frozen=True, slots=True)
class Folders:
    """The two folders of a cluster, or of a worker that joins by itself.

    Each has a marker, whose lock this process holds for as long as it lives. Folders are removed by
    whoever made them, or, once nobody holds their lock, by the next cluster; nothing else is.

    Attributes
    ----------
    path, memory : Path
        For sockets and blocks on disk, and for blocks in memory.
    """

    path: Path
    memory: Path
    _owned: tuple[_native.folders.OwnedFolder, ...]

    @classmethod
    def create(cls, base: Path) -> Folders:
        """Make both; those that dead clusters left are removed.

        Parameters
        ----------
        base
            Where the first is made: see `runtime_dir`.
        """
        base, memory_base = _private(base), _private(_memory_dir())
        for each in {base, memory_base}:
            _native.folders.sweep_folders(str(each))
        own = _native.folders.OwnedFolder.create(str(base))
        path = Path(own.path)
        memory = memory_base / path.name
        if memory == path:
            return cls(path, memory, (own,))
        try:
            return cls(path, memory, (own, _native.folders.OwnedFolder.take(str(memory))))
        except BaseException:
            own.remove()
            raise

    def remove(self) -> None:
        """Remove both and all that is in them."""
        for folder in self._owned:
            folder.remove()

    def forget(self) -> None:
        """Leave them to the process that made this one by forking."""
        for folder in self._owned:
            folder.forget()

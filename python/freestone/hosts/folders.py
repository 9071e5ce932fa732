"""The folders of a cluster on this machine: whose they are, and who removes them when."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from freestone import _native
from freestone.config import Config
from freestone.errors import ClusterStartError
from freestone.observe.control import JOURNALED

__all__ = [
    "JOURNAL",
    "Folders",
    "disk_dir_of",
    "journal_dir",
    "killed_clusters",
    "made_runtime_dir",
    "runtime_dir",
]

_SHARED_MEMORY = Path("/dev/shm")
JOURNAL = "journal"
"""The file of a journal in its folder."""


def runtime_dir(config: Config | None = None) -> Path:
    """Return the folder in which each cluster of this user has a folder of its own."""
    if config is not None and config.folder is not None:
        # Named by the user, who may mean what a link leads to.
        return Path(config.folder).resolve()
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return Path(base) / f"freestone-{os.getuid()}"


def made_runtime_dir(config: Config | None = None) -> Path:
    """Return the folder of `runtime_dir`, which is made if it is not there, as after a reboot.

    Raises
    ------
    ClusterStartError
        When it is a link, or others may write to it.
    """
    return _private(runtime_dir(config))


def journal_dir(config: Config, name: str) -> Path:
    """Return the folder of the journal of a cluster that is served by a name."""
    if config.folder is not None:
        return runtime_dir(config) / "journals" / name
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "freestone" / name


def killed_clusters(config: Config) -> dict[str, Path]:
    """Return the journals of clusters that were killed, by name; not those of ``--journal``."""
    here = journal_dir(config, "*").parent
    journals = sorted(path.parent for path in here.glob(f"*/{JOURNAL}"))
    return {one.name: one for one in journals if not _native.folders.is_folder_in_use(str(one))}


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

    @classmethod
    def take(cls, base: Path, journal: Path) -> Folders:
        """Take those of the cluster of a journal, also as a process that was killed has left them.

        Parameters
        ----------
        base
            As of `create`.
        journal
            The folder of the journal.

        Raises
        ------
        OSError
            When the process that serves the cluster lives.
        """
        number = hashlib.blake2b(os.fsencode(journal.resolve()), digest_size=4).hexdigest()
        base, memory_base = _private(base), _private(_memory_dir())
        path, memory = (_private(place / JOURNALED) / number for place in (base, memory_base))
        owned = [_native.folders.OwnedFolder.take(str(each)) for each in {path, memory}]
        for left in (*path.glob("manager.sock"), *path.glob("control.sock")):
            left.unlink()
        return cls(path, memory, tuple(owned))

    def remove(self) -> None:
        """Remove both and all that is in them."""
        for folder in self._owned:
            folder.remove()

    def forget(self) -> None:
        """Leave them to the process that made this one by forking."""
        for folder in self._owned:
            folder.forget()

"""Where imported scripts are."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.parse import tree


@dataclass(frozen=True)
class Search:
    """Where imported scripts are.

    Parameters
    ----------
    folders : tuple of Path
        Where a path is looked for, besides the folder of the script that imports it.
    libraries : dict
        The folders of libraries, by name.
    """

    folders: tuple[Path, ...] = ()
    libraries: dict[str, Path] = field(default_factory=dict)

    def resolve(self, emitter: Emitter, node: tree.Import, folder: Path) -> list[tuple[Path, str]]:
        """Find what an import means: paths, and what their names begin with."""
        emitter.place = node.place
        if node.path in self.libraries:
            return self._library(emitter, node)
        places = [folder / node.path, *(other / node.path for other in self.folders)]
        found = list(dict.fromkeys(place.resolve() for place in places if place.is_file()))
        if not found:
            looked = ", ".join(str(place.parent) for place in places)
            emitter.refuse(f"there is no script {node.path!r}; looked in {looked}")
        if len(found) > 1:
            both = " and ".join(map(str, found))
            emitter.refuse(f"{node.path!r} is there more than once: {both}")
        return [(found[0], node.alias or alias_of(found[0]))]

    def _library(self, emitter: Emitter, node: tree.Import) -> list[tuple[Path, str]]:
        folder = self.libraries[node.path]
        scripts = sorted([*folder.glob("*.daphne"), *folder.glob("*.daph")])
        if not scripts:
            emitter.refuse(f"the folder {folder} of the library {node.path!r} has no scripts")
        prefix = node.alias or node.path
        return [(path.resolve(), f"{prefix}.{alias_of(path)}") for path in scripts]


def alias_of(path: Path) -> str:
    """Return the name of a script without its suffix."""
    return path.name.split(".")[0]

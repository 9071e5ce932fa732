"""The measured events: where their files are, and how to read muon pairs from them."""

import importlib.resources
import importlib.util
import os
from itertools import pairwise
from pathlib import Path

import numpy as np

from freestone.demo.physics import Floats, opposite_sign_pairs
from freestone.errors import PackagesMissingError, SamplesMissingError

TESTDATA = "scikit-hep-testdata==0.3.12"
"""The package whose wheel carries the files."""

ZMUMU_FILE = "uproot-Zmumu.root"
HZZ_FILE = "uproot-HZZ.root"

_PACKAGES = ("uproot", "awkward", "pyarrow", "scipy", "matplotlib")
_FOUR = ("E", "px", "py", "pz")


def require_packages() -> None:
    """Check that what reads, fits and draws is installed.

    Raises
    ------
    PackagesMissingError
        Naming all that are missing, and the command that installs them.
    """
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise PackagesMissingError(missing)


def sample_path(name: str) -> Path:
    """Find a file of the package `scikit-hep-testdata`.

    Parameters
    ----------
    name : str
        The file's name, for example ``"uproot-Zmumu.root"``.

    Raises
    ------
    SamplesMissingError
        If the package is not installed, or is a version without that file.
    """
    try:
        path = Path(str(importlib.resources.files("skhep_testdata") / "data" / name))
    except ModuleNotFoundError:
        path = None
    if path is None or not path.is_file():
        problem = "is not installed" if path is None else f"has no {name} in its wheel"
        raise SamplesMissingError(file=name, package=TESTDATA, problem=problem)
    return path


def read_zmumu(file: str | os.PathLike[str], start: int, stop: int) -> Floats:
    """Read muon pairs from the CMS collisions of 2010 in ``uproot-Zmumu.root``.

    Parameters
    ----------
    file : path
        The file.
    start, stop : int
        The rows to read.

    Returns
    -------
    ndarray, shape (n_pairs, 2, 4)
        Four-vectors in GeV.

    Notes
    -----
    The file has 2,304 rows but only 500 events. Each muon was reconstructed twice, by the
    tracker alone (T) and together with the muon chambers (G), and each pair stands in the
    file once for every combination: ``GG``, ``TT`` and two times ``GT``. Counting them all
    would count the same muons four times and halve the statistical uncertainty wrongly, so
    only the rows ``GG`` are used, and of these the ones with opposite charges: 508 pairs.
    """
    import uproot

    with uproot.open(file) as opened:
        columns = opened["events"].arrays(
            ["Type", "Q1", "Q2", *(f"{c}{i}" for i in (1, 2) for c in _FOUR)],
            entry_start=start,
            entry_stop=stop,
            library="np",
        )
    pairs = np.stack(
        [np.stack([columns[f"{c}{i}"] for c in _FOUR], axis=-1) for i in (1, 2)], axis=1
    ).astype(np.float64)
    wanted = (columns["Type"].astype(str) == "GG") & (columns["Q1"] * columns["Q2"] < 0)
    selected: Floats = pairs[wanted]
    return selected


def read_hzz(file: str | os.PathLike[str], start: int, stop: int) -> Floats:
    """Read muon pairs from the CMS simulation in ``uproot-HZZ.root``.

    Parameters
    ----------
    file : path
        The file.
    start, stop : int
        The events to read.

    Returns
    -------
    ndarray, shape (n_pairs, 2, 4)
        Four-vectors in GeV, of every pair of muons with opposite charges.

    Notes
    -----
    An event has up to four muons, so the columns are jagged. The file carries generator
    particles and event weights: it is a simulation, and the weights, which normalise it to
    a luminosity, are not used. Of two pairs that share a muon both are counted; the wrong
    one is part of the background.
    """
    import awkward as ak
    import uproot

    names = ["Muon_E", "Muon_Px", "Muon_Py", "Muon_Pz", "Muon_Charge"]
    with uproot.open(file) as opened:
        events = opened["events"].arrays(names, entry_start=start, entry_stop=stop)
    counts = ak.to_numpy(ak.num(events["Muon_E"])).astype(np.int64)
    flat = [ak.to_numpy(ak.flatten(events[name])) for name in names]
    muons = np.stack(flat[:4], axis=-1).astype(np.float64)
    first, second = opposite_sign_pairs(counts, flat[4].astype(np.int64))
    return np.stack([muons[first], muons[second]], axis=1)


def count_rows(file: str | os.PathLike[str]) -> int:
    """Count the rows of the tree ``events`` of a file."""
    import uproot

    with uproot.open(file) as opened:
        return int(opened["events"].num_entries)


def row_ranges(rows: int, blocks: int) -> list[tuple[int, int]]:
    """Cut rows into ranges of nearly equal length.

    Examples
    --------
    >>> row_ranges(10, 3)
    [(0, 3), (3, 6), (6, 10)]
    """
    edges = [rows * i // blocks for i in range(blocks + 1)]
    return list(pairwise(edges))

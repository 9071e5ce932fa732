"""More events from the measured ones: a bootstrap, written to Parquet."""

import os

import numpy as np

from freestone.demo.physics import Floats, scale_momenta
from freestone.replacing import replaced

COLUMNS = tuple(f"{c}{i}" for i in (1, 2) for c in ("E", "px", "py", "pz"))
"""The columns with the four-vectors, as they are named in the CMS file."""

SMEARING = 0.01
"""Standard deviation of the factor by which each momentum is changed."""


def resample(
    pairs: Floats, events: int, *, seed: int, index: int, smearing: float = SMEARING
) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.int32]]]:
    """Draw pairs with replacement and smear the momenta of their muons a little.

    Parameters
    ----------
    pairs : ndarray, shape (n_pairs, 2, 4)
        The measured pairs, in GeV.
    events : int
        How many to draw.
    seed, index : int
        The same two give the same events, whatever else is drawn and where.
    smearing : float, optional
        Each momentum is multiplied by a number drawn from a normal distribution around 1
        with this standard deviation; 0 for an unchanged copy. The default of 1 % is less
        than the detector's own resolution: it fills the gaps between the few hundred
        measured masses, and widens the peak by about 0.6 GeV (added in squares).

    Returns
    -------
    drawn : ndarray, shape (events, 2, 4)
        In GeV.
    origin : ndarray of int32, shape (events,)
        Which pair each was made from.

    Raises
    ------
    ValueError
        If there is nothing to draw from.

    Notes
    -----
    A bootstrap makes a large input of the right shape; it adds no knowledge. However many
    events are drawn, the uncertainty of the mass stays that of the measured ones.
    """
    if len(pairs) == 0:
        raise ValueError("there are no measured pairs to draw from")
    random = np.random.default_rng([seed, index])
    origin = random.integers(len(pairs), size=events, dtype=np.int32)
    drawn = np.asarray(pairs, dtype=np.float64)[origin]
    if smearing:
        drawn = scale_momenta(drawn, 1.0 + smearing * random.standard_normal((events, 2)))
    return drawn, origin


def write_pairs(path: str | os.PathLike[str], pairs: Floats, origin: np.ndarray) -> None:
    """Write pairs to a Parquet file, whole or not at all.

    Single precision, neither compressed nor dictionary-encoded: momenta are noise to a
    compressor, and reading is then little more than mapping the file.

    Parameters
    ----------
    path : path
        The file; one of that name is replaced.
    pairs : ndarray, shape (n, 2, 4)
        In GeV.
    origin : ndarray of int, shape (n,)
        Which measured pair each was made from.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    flat = np.ascontiguousarray(pairs.reshape(len(pairs), 8).T, dtype=np.float32)
    columns = {name: pa.array(values) for name, values in zip(COLUMNS, flat, strict=True)}
    table = pa.table({**columns, "origin": pa.array(origin)})
    with replaced(path) as partial:
        pq.write_table(table, partial, compression="none", use_dictionary=False)


def read_pairs(path: str | os.PathLike[str]) -> Floats:
    """Read the pairs of a Parquet file.

    Returns
    -------
    ndarray, shape (n, 2, 4)
        In GeV.
    """
    import pyarrow.parquet as pq

    table = pq.read_table(os.fspath(path), columns=list(COLUMNS), use_threads=False)
    pairs = np.empty((table.num_rows, 8), dtype=np.float64)
    for place, name in enumerate(COLUMNS):
        pairs[:, place] = table[name].to_numpy()
    return pairs.reshape(-1, 2, 4)

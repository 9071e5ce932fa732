"""The main job from beginning to end."""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

import freestone as fs
from freestone.demo import analysis, samples
from freestone.demo.fit import fit_peak
from freestone.demo.physics import Z_WINDOW
from freestone.demo.picture import draw_peak
from freestone.demo.report import make_console, render_runs, render_sample
from freestone.demo.result import DemoResult, Making, Run, Sample
from freestone.errors import ConfigurationError, IrreproducibleError

BLOCKS_PER_SAMPLE = 4
QUICK_FILES = 8
QUICK_EVENTS = 5_000
MIN_EVENTS = 200
"""Of a file, so that there is a peak to fit whatever the seed."""

Output = Literal["table", "json", "quiet"]


def main(
    files: int = 200,
    events: int = 50_000,
    workers: int | None = None,
    out: str | Path = "demo",
    seed: int = 1,
    quick: bool = False,
    *,
    output: Output = "table",
    keep_files: bool = False,
) -> DemoResult:
    """Fit the Z in measured events, then analyse many more, three times.

    Parameters
    ----------
    files, events : int, optional
        How many Parquet files to make, and of how many events each.
    workers : int, optional
        Workers of the cluster; by default what the machine has.
    out : path, optional
        The folder for ``zmumu.png``, ``run.parquet`` (the trace) and, while it runs, the
        Parquet files.
    seed : int, optional
        Of the resampled events.
    quick : bool, optional
        8 files of 5,000 events, whatever `files` and `events` say.
    output : {"table", "json", "quiet"}, optional
        What is printed: plots and tables as they are ready, one JSON document at the end,
        or nothing.
    keep_files : bool, optional
        Whether the Parquet files stay.

    Returns
    -------
    DemoResult

    Raises
    ------
    ConfigurationError
        If `files` is less than 1 or `events` less than 200.
    PackagesMissingError, SamplesMissingError
        If what only the demo needs is not installed: packages, or the measured events.
    IrreproducibleError
        If the third run does not give the histogram of the first, to the last bit.
    """
    if quick:
        files, events = QUICK_FILES, QUICK_EVENTS
    _require_at_least("files", files, 1)
    _require_at_least("events", events, MIN_EVENTS)
    samples.require_packages()
    sources = {name: samples.sample_path(name) for name in (samples.ZMUMU_FILE, samples.HZZ_FILE)}
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    data = Path(tempfile.mkdtemp(prefix="events-", dir=folder))
    job = _Job(folder, data, output)
    try:
        result = job.carry_out(sources, files, events, workers, seed, keep_files)
    finally:
        if not keep_files:
            shutil.rmtree(data, ignore_errors=True)
    if output == "json":
        print(json.dumps(result.to_dict(), indent=2))
    return result


def _require_at_least(key: str, value: int, least: int) -> None:
    if value < least:
        problem = f"{key} is {value} and must be at least {least}; see 'freestone demo --help'"
        raise ConfigurationError(problem, key=key, origin="keyword")


class _Job:
    """One run of the main job: where it writes and what it prints."""

    def __init__(self, folder: Path, data: Path, output: Output) -> None:
        self._folder = folder
        self._data = data
        self._console = make_console() if output == "table" else None

    def carry_out(
        self,
        sources: dict[str, Path],
        files: int,
        events: int,
        workers: int | None,
        seed: int,
        keep_files: bool,
    ) -> DemoResult:
        """Do all of it in one cluster."""
        trace = self._folder / "run.parquet"
        with fs.Cluster(workers=workers, trace=str(trace)) as cluster:
            measured, found = self._fit_samples(sources)
            picture = self._folder / "zmumu.png"
            draw_peak(found[0], picture)
            self._say(f"Making {files:,} Parquet files of {events:,} events each.")
            paths, making = self._make_files(measured, files, events, seed, keep_files)
            runs = self._analyse(cluster, paths, files * events)
        result = DemoResult(found, making, runs, str(picture), str(trace))
        if self._console is not None:
            render_runs(result, self._console)
        return result

    def _say(self, text: str) -> None:
        if self._console is not None:
            self._console.print(text)

    def _fit_samples(self, sources: dict[str, Path]) -> tuple[list[Any], tuple[Sample, ...]]:
        """Return the blocks of measured pairs, and both samples with their peaks."""
        collisions, simulation = sources[samples.ZMUMU_FILE], sources[samples.HZZ_FILE]
        measured = _read(analysis.zmumu_pairs, collisions)
        found = (
            _fit("CMS collisions of 2010", False, measured),
            _fit("CMS simulation, the HZZ file", True, _read(analysis.hzz_pairs, simulation)),
        )
        if self._console is not None:
            for sample in found:
                render_sample(sample, self._console)
        return measured, found

    def _make_files(
        self, measured: list[Any], files: int, events: int, seed: int, keep: bool
    ) -> tuple[list[Path], Making]:
        paths = [self._data / f"events-{index:04d}.parquet" for index in range(files)]
        started = time.perf_counter()
        made = [
            analysis.make_file(str(path.resolve()), measured, events, seed, index)
            for index, path in enumerate(paths)
        ]
        nbytes = sum(size.result() for size in made)
        seconds = time.perf_counter() - started
        folder = str(self._data) if keep else None
        return paths, Making(files, events, seed, nbytes, seconds, folder)

    def _analyse(self, cluster: fs.Cluster, paths: Sequence[Path], events: int) -> tuple[Run, ...]:
        """Run the analysis, run it with another selection, and run the first one again."""
        first, changed = analysis.SOFTER_PT_GEV, analysis.CHANGED_SOFTER_PT_GEV
        files = [fs.file(path) for path in paths]
        runs = tuple(
            _measure(cluster, label, softer_pt, files, events)
            for label, softer_pt in [
                ("first", first),
                ("new cut", changed),
                ("first again", first),
            ]
        )
        differing = np.flatnonzero(runs[0].counts != runs[2].counts)
        if len(differing):
            raise IrreproducibleError(differing.tolist())
        return runs


def _read(task: Callable[..., Any], path: Path) -> list[Any]:
    """Read a file in blocks, on the cluster."""
    file = fs.file(path)
    ranges = samples.row_ranges(samples.count_rows(path), BLOCKS_PER_SAMPLE)
    return [task(file, start, stop) for start, stop in ranges]


def _fit(title: str, simulated: bool, blocks: list[Any]) -> Sample:
    counts = analysis.total_of(analysis.dimuons_of_pairs(block) for block in blocks)
    return Sample(title, simulated, counts, Z_WINDOW, fit_peak(counts, Z_WINDOW))


def _measure(
    cluster: fs.Cluster, label: str, softer_pt: float, files: Sequence[Any], events: int
) -> Run:
    before, started = cluster.statistics(), time.perf_counter()
    counts = analysis.total_of((analysis.dimuons_of_file(file) for file in files), softer_pt)
    seconds, after = time.perf_counter() - started, cluster.statistics()
    return Run(
        label=label,
        softer_pt_gev=softer_pt,
        calls=after.done - before.done,
        answered=after.answered - before.answered,
        moved_nbytes=after.transferred_nbytes - before.transferred_nbytes,
        seconds=seconds,
        events=events,
        counts=counts,
        mass_gev=fit_peak(counts, Z_WINDOW).mass_gev,
    )

"""How a script is compiled and run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from freestone.enumerations import LAYOUTS, NUMA, SCHEMES, VICTIMS
from freestone.lang.schemes import cut_by

__all__ = ["LAYOUTS", "NUMA", "SCHEMES", "VICTIMS", "Settings"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a script is compiled and run.

    Parameters
    ----------
    vec : bool
        Whether operations are fused into pipelines that run in the vector engine. The settings
        up to `pre_partition` matter only then.
    partitioning : str
        How rows are cut into tasks: one of ``SCHEMES``, or a scheme of another package, by the
        name of its entry point in ``freestone.schemes``.
    queue_layout : str
        One queue, one for each package, or one for each worker: one of ``LAYOUTS``.
    victim_selection : str
        In which order an idle worker visits other queues: one of ``VICTIMS``.
    num_threads : int
        How many workers; 0 means one for each core.
    pin_workers : bool
        Whether each worker stays on one core.
    hyperthreading : bool
        Whether the second threads of a core count as cores.
    numa : str
        Where large results are placed: one of ``NUMA``. By default where the process was started
        to place memory; in turn on all nodes; on the node ``numa_node``; on the node of the worker
        that writes a page first.
    numa_node : int
        The node that is preferred.
    grain_size : int
        The least rows of a task.
    batch_bytes : int
        The bytes of all that a task works on at once; 0 means what fits the cache.
    pre_partition : bool
        Whether the rows are first shared out evenly over the queues.
    select_matrix_repr : bool
        Whether matrices with few cells that are not zero are held as CSR.
    sparsity_threshold : float
        Below which share of cells they are.
    physical : bool
        Whether operations are replaced by others that give the same for less work, such as
        ``syrk``.
    propagate : bool
        Whether constants reach the functions that are called with them.
    forget : bool
        Whether values are given back after the last operation that reads them.
    restricted : bool
        Whether only operations of cells and their full aggregations are fused.
    record, insert : str
        Files of properties: written with the shares of non-zeros that a run found, or read for
        what the compiler did not know; "" for none.
    kernels : tuple of (str, int) or Kernel
        Kernel catalogs and Python files of kernels, with their priorities, and kernels that the
        program made by `freestone.lang.kernel`.
    isolate : bool
        Whether compiled kernels run in a process of their own, each argument and result beside
        memory that nobody may touch: one that crashes, or writes beyond its result, is named.
    memory_bytes : int
        The memory that a plan may need; 0 means what the machine has.
    distributed : bool
        Whether large matrices lie in the blocks of a cluster.
    distributed_bytes : int
        The bytes of the least matrix that is cut into blocks.
    block_bytes : int
        The bytes of the largest block.
    statistics, timing : bool
        Whether to tell, at the end, how long the operations, and the stages, took.
    tell_pipelines : bool
        Whether to tell of each pipeline, on standard error, how it ran.
    profiling : bool
        Whether to tell, at the end, what the whole script took as the system counts it.
    explain : tuple of str
        The stages whose graph is shown.
    folders, libraries
        Where imported scripts are.
    """

    vec: bool = False
    partitioning: str = "STATIC"
    queue_layout: str = "CENTRALIZED"
    victim_selection: str = "SEQ"
    num_threads: int = 0
    pin_workers: bool = False
    hyperthreading: bool = False
    numa: str = "default"
    numa_node: int = 0
    grain_size: int = 1
    batch_bytes: int = 0
    pre_partition: bool = False
    select_matrix_repr: bool = False
    sparsity_threshold: float = 0.25
    physical: bool = True
    propagate: bool = True
    forget: bool = True
    restricted: bool = False
    record: str = ""
    insert: str = ""
    kernels: tuple[Any, ...] = ()
    isolate: bool = False
    memory_bytes: int = 0
    distributed: bool = False
    distributed_bytes: int = 1 << 20
    block_bytes: int = 1 << 31
    statistics: bool = False
    timing: bool = False
    tell_pipelines: bool = False
    profiling: bool = False
    explain: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    # A dict has no hash; settings that differ in it alone are told apart by comparison.
    libraries: dict[str, Path] = field(default_factory=dict, hash=False)

    def __hash__(self) -> int:
        # They are a part of the key of each program that is kept.
        return self._hash

    @cached_property
    def _hash(self) -> int:
        known = (getattr(self, item.name) for item in fields(self) if item.hash is not False)
        return hash(tuple(known))

    def __getstate__(self) -> dict[str, Any]:
        # Hashes of strings are other ones in another process.
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    @cached_property
    def has_to_be_planned(self) -> bool:
        """Whether somebody asks how a plan runs, or for one of a certain kind."""
        places = self.distributed or self.kernels or self.memory_bytes
        reports = self.statistics or self.timing or self.tell_pipelines or self.profiling
        looks = self.explain or self.record or self.insert
        return bool(not self.vec or places or reports or looks)

    @property
    def cut(self) -> str | Callable[[int, int], list[int]]:
        """What the engine cuts rows by: the name of a scheme, or a function of rows and workers."""
        return cut_by(self.partitioning)

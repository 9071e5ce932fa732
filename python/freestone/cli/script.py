"""``freestone run`` for scripts in DaphneDSL: options, messages, exit statuses."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

from freestone.cli import defaults, hdfs
from freestone.cli.running import listed, run_with
from freestone.errors import ConfigurationError
from freestone.errors.base import did_you_mean
from freestone.lang.schemes import cut_by
from freestone.lang.settings import LAYOUTS, NUMA, SCHEMES, VICTIMS, Settings
from freestone.units import parse_nbytes

__all__ = ["SUFFIXES", "configure", "run_script"]

SUFFIXES = (".daph", ".daphne")
STAGES = (
    "built",
    "inlining",
    "algebra",
    "means",
    "reuse",
    "motion",
    "properties",
    "sparsity",
    "unused",
    "fusion",
    "strips",
    "placement",
    "buffers",
    "memory",
    "cost",
)

_FLAGS = {
    "vec": "fuse operations into pipelines for the vector engine",
    "hyperthreading": "count the second threads of a core as cores",
    "pin-workers": "keep each worker on one core",
    "vec-restricted": "the same, but only for elementwise operations and their full aggregations",
    "pre-partition": "first share the rows out evenly over the queues",
    "select-matrix-repr": "hold matrices with few non-zeros as CSR",
    "columnar": "SQL works on columns, as it always does here",
    "codegen": "compile operations: here it fuses them into pipelines, as --vec does",
    "optimistic-splitting": "cut matrices whose shapes are not known, as --vec always does here",
    "matmul-tile": "nothing: matrix products choose their tiles",
    "matmul-use-fixed-tile-sizes": "nothing",
    "matmul-invert-loops": "nothing",
    "no-obj-ref-mgnt": "keep every value until the end",
    "no-ipa-const-propa": "keep constants out of the functions that are called with them",
    "no-phy-op-selection": "keep operations as they are written, without syrk, gemv and the like",
    "distributed": "cut large matrices into blocks of a cluster; a local one, if none is named",
    "debug-mt": "print each pipeline after it has run: how, and how long",
    "isolate-kernels": "run compiled kernels apart, and find those that crash or write too far",
    "enable-profiling": "at the end, print the resources that the system counted",
    "statistics": "at the end, print how long each operation took",
    "timing": "at the end, tell how long each stage took, as JSON on standard error",
}
_VALUES = {
    "partitioning": ("SCHEME", "how rows are cut into tasks: STATIC, SS, GSS, ..., AUTO"),
    "queue_layout": ("LAYOUT", "CENTRALIZED, PERGROUP or PERCPU"),
    "victim_selection": ("ORDER", "SEQ, SEQPRI, RANDOM or RANDOMPRI"),
    "num-threads": ("N", "how many workers; by default one for each core"),
    "numa": ("POLICY", "where large results lie: default, interleave, preferred=NODE or local"),
    "grain-size": ("N", "the least rows of a task"),
    "phy-batch-size": ("B", "the bytes that a task works on at once"),
    "kernel-ext": ("FILE[:PRIORITY]", "kernel catalogs (JSON) and Python files, with commas"),
    "libdir": ("FOLDER", "where files of --kernel-ext are that are not here"),
    "enable-property-recording": ("FILE", "write the shares of non-zeros that the run finds"),
    "enable-property-insert": ("FILE", "read the shares of non-zeros that another run found"),
    "cluster": (
        "ADDRESS",
        "a cluster that runs: its address, folder or id; or Dask's",
    ),
    "host": ("HOST", "who starts the workers: mpi, dask or slurm"),
    "dist_backend": (
        "BACKEND",
        "MPI: the ranks of mpiexec; sync-gRPC, async-gRPC: local workers",
    ),
    "max-distr-chunk-size": ("B", "the bytes of the largest block"),
    "min-distr-size": ("B", "smaller matrices stay in the script's process"),
    "memory": ("B", "the bytes that the script may need; by default all that the machine has"),
    "args": ("a=1,b=2", "arguments of the script"),
    "config": ("FILE", "defaults of these options, as JSON"),
    "explain": ("STAGES", f"show the graph after these stages: {', '.join(STAGES)}"),
}
_HDFS = ("enable-hdfs", "hdfs-ip", "hdfs-username")
_ABSENT = {
    "cuda": "there is no CUDA device that freestone can use",
    "fpgaopencl": "there is no FPGA that freestone can use",
}
_TILES = (
    "matmul-fixed-tile-sizes",
    "matmul-vec-size-bits",
    "matmul-unroll-factor",
    "matmul-unroll-jam-factor",
    "matmul-num-vec-registers",
)
_VALUES |= {name: ("N,...", "nothing: matrix products choose their tiles") for name in _TILES}


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the options of scripts in DaphneDSL."""
    group = parser.add_argument_group("for scripts in DaphneDSL (.daph, .daphne)")
    for name, text in _FLAGS.items():
        group.add_argument(f"--{name}", action="store_const", const=True, help=text)
    for name, (form, text) in _VALUES.items():
        group.add_argument(f"--{name}", metavar=form, help=text, dest=_field(name))
    # As older documents have it: --GSS.
    for scheme in SCHEMES:
        group.add_argument(
            f"--{scheme}",
            action="store_const",
            const=scheme,
            dest="partitioning",
            help=argparse.SUPPRESS,
        )
    for name in _ABSENT:
        group.add_argument(f"--{name}", action="store_const", const="", help=argparse.SUPPRESS)
    hdfs.add_flags(parser)


def run_script(arguments: argparse.Namespace, data: dict[str, Any]) -> int:
    """Run a script as `options_of` says, tell its errors, and return the exit status."""
    _apply_hdfs(data)
    # Scripts print UTF-8 in every locale, and what is none goes out as it came in.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    settings = settings_of(data)
    if not settings.distributed:
        _alone(arguments)
        from freestone.lang.run.local import Run

        return run_with(Run(settings), arguments)
    from freestone.cli import distributed

    return distributed.run_script(arguments, settings)


def defaults_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the file of ``--config`` says of the options.

    Raises
    ------
    ConfigurationError
        If it can't be read, or what it says can't be done.
    """
    if arguments.config is None:
        return {}
    names = [name.replace("-", "_") for name in (*_FLAGS, *_VALUES, *_HDFS) if name != "config"]
    flags = [name.replace("-", "_") for name in (*_FLAGS, "enable-hdfs")]
    data = defaults.load(arguments.config, names, flags)
    _refuse(data, arguments.config)
    settings_of(data)
    return data


def _refuse(data: Container[str], origin: str) -> None:
    for name, reason in _ABSENT.items():
        if name in data:
            problem = f"--{name} is not there: {reason}"
            raise ConfigurationError(problem, key=name, origin=origin)


def options_of(arguments: argparse.Namespace, data: dict[str, Any]) -> dict[str, Any]:
    """Return what the options say, over their defaults, which are completed in place."""
    _refuse([name for name in _ABSENT if getattr(arguments, name) is not None], "the options")
    for name in (*_FLAGS, *_VALUES, *_HDFS):
        key, value = name.replace("-", "_"), getattr(arguments, _field(name))
        if value is not None:
            data[key] = value
        elif key in data:
            setattr(arguments, _field(name), data[key])
    return data


def _apply_hdfs(data: dict[str, Any]) -> None:
    enable, user = bool(data.get("enable_hdfs", False)), data.get("hdfs_username")
    hdfs.apply(enable=enable, address=data.get("hdfs_ip") or None, user=user or None)


def settings_of(data: dict[str, Any]) -> Settings:
    """Make the settings from what the options say."""
    _check_tiles(data)
    paths = data.get("daphnedsl_import_paths", {})
    distributed = bool(data.get("distributed", False))
    policy, node = _placed(data)
    restricted = bool(data.get("vec_restricted", False))
    return Settings(
        # Blocks are worked on by pipelines.
        vec=distributed or any(map(data.get, ("vec", "vec_restricted", "codegen"))),
        distributed=distributed,
        memory_bytes=_nbytes(data, "memory", 0),
        distributed_bytes=_nbytes(data, "min_distr_size", 1 << 20),
        block_bytes=max(1, _nbytes(data, "max_distr_chunk_size", 1 << 31)),
        restricted=restricted,
        physical=not data.get("no_phy_op_selection", False),
        propagate=not data.get("no_ipa_const_propa", False),
        forget=not data.get("no_obj_ref_mgnt", False),
        record=str(data.get("enable_property_recording", "")),
        insert=str(data.get("enable_property_insert", "")),
        kernels=_kernel_files(data),
        isolate=bool(data.get("isolate_kernels")),
        partitioning=_scheme(data),
        queue_layout=_chosen(data, "queue_layout", LAYOUTS),
        victim_selection=_chosen(data, "victim_selection", VICTIMS),
        num_threads=_threads(data),
        pin_workers=bool(data.get("pin_workers", False)),
        hyperthreading=bool(data.get("hyperthreading", False)),
        numa=policy,
        numa_node=node,
        grain_size=_number(data, "grain_size", 1),
        batch_bytes=_nbytes(data, "phy_batch_size", 0),
        pre_partition=bool(data.get("pre_partition", False)),
        select_matrix_repr=bool(data.get("select_matrix_repr", False)),
        sparsity_threshold=float(data.get("sparsity_threshold", 0.25)),
        tell_pipelines=bool(data.get("debug_mt", False)),
        profiling=bool(data.get("enable_profiling", False)),
        statistics=bool(data.get("statistics", False)),
        timing=bool(data.get("timing", False)),
        explain=_stages(data.get("explain")),
        folders=tuple(Path(path) for path in paths.get("default_dirs", ())),
        libraries={name: Path(found[0]) for name, found in paths.items() if name != "default_dirs"},
    )


def _check_tiles(data: dict[str, Any]) -> None:
    for name in _TILES:
        text = str(data.get(name.replace("-", "_"), ""))
        if not all(word.strip().isdigit() for word in listed(text)):
            problem = f"--{name}={text} has to be numbers, with commas between them"
            raise ConfigurationError(problem, key=name, origin="the options")


def _field(name: str) -> str:
    return "args_option" if name == "args" else name.replace("-", "_")


def _chosen(data: dict[str, Any], key: str, known: Iterable[str]) -> str:
    names = list(known)
    value = str(data.get(key, names[0]))
    if value not in names:
        problem = f"--{key}={value}: there are {', '.join(names)}{did_you_mean(value, names)}"
        raise ConfigurationError(problem, key=key, origin="the options")
    return value


def _scheme(data: dict[str, Any]) -> str:
    value = str(data.get("partitioning", SCHEMES[0]))
    try:
        cut_by(value)
    except ValueError as error:
        problem = f"--partitioning={value}: {error}"
        raise ConfigurationError(problem, key="partitioning", origin="the options") from None
    return value


def _alone(arguments: argparse.Namespace) -> None:
    """Refuse what is for clusters where none is used."""
    if arguments.settings:
        problem = "--set is for clusters, which scripts open with --distributed"
        raise ConfigurationError(problem, key="set", origin="the options")
    for key in ("cluster", "host"):
        if getattr(arguments, key) is not None:
            problem = f"--{key} is for scripts on a cluster; add --distributed"
            raise ConfigurationError(problem, key=key, origin="the options")


def _threads(data: dict[str, Any]) -> int:
    """Return how many workers; a job of Slurm has no more than it was given."""
    number, given = _number(data, "num_threads", 0), os.environ.get("SLURM_CPUS_ON_NODE", "")
    if not given.isdigit() or not int(given):
        return number
    return min(number or len(os.sched_getaffinity(0)), int(given))


def _kernel_files(data: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    folder = str(data.get("libdir", ""))
    if folder and not os.path.isdir(folder):
        problem = f"--libdir={folder}: there is no such folder"
        raise ConfigurationError(problem, key="libdir", origin="the options")
    return tuple(_kernel_file(word, folder) for word in listed(data.get("kernel_ext")))


def _kernel_file(text: str, folder: str) -> tuple[str, int]:
    path, sign, priority = text.rpartition(":")
    if not sign or os.path.isfile(text):
        path, priority = text, "0"
    if not priority.isdigit():
        problem = f"--kernel-ext={text}: the priority {priority!r} is no whole number from 0 on"
        raise ConfigurationError(
            f"{problem}; write {path}:1", key="kernel-ext", origin="the options"
        )
    if folder and not os.path.isfile(path):
        path = os.path.join(folder, path)
    if not os.path.isfile(path):
        problem = f"--kernel-ext={text}: there is no file {path!r}"
        raise ConfigurationError(problem, key="kernel-ext", origin="the options")
    # Workers and other programs have folders of their own.
    return os.path.abspath(path), int(priority)


def _placed(data: dict[str, Any]) -> tuple[str, int]:
    """Read ``--numa``: a policy, and the node that ``preferred`` names."""
    text = str(data.get("numa", "default"))
    name, sign, number = text.partition("=")
    policy = _chosen({"numa": name}, "numa", NUMA)
    if policy != "preferred" and not sign:
        return policy, 0
    from freestone._native.vector import memory_nodes

    nodes = memory_nodes()
    if policy == "preferred" and number.isdigit() and int(number) in (nodes or [0]):
        return policy, int(number)
    problem = f"--numa={text}: write preferred=NODE with one of the nodes {nodes or [0]}"
    raise ConfigurationError(problem, key="numa", origin="the options")


def _number(data: dict[str, Any], key: str, default: int) -> int:
    text = str(data.get(key, default))
    if not text.isdigit():
        problem = f"--{key.replace('_', '-')}={text} has to be a number that is not negative"
        raise ConfigurationError(problem, key=key, origin="the options")
    return int(text)


def _nbytes(data: dict[str, Any], key: str, default: int) -> int:
    value = data.get(key, default)
    try:
        return parse_nbytes(value)
    except ValueError as error:
        problem = f"--{key.replace('_', '-')}={value}: {error}"
        raise ConfigurationError(problem, key=key, origin="the options") from None


def _stages(text: str | None) -> tuple[str, ...]:
    words = (word.replace("-", "_") for word in listed(text))
    # DAPHNE's words are known as well.
    stages = tuple(defaults.STAGES.get(f"explain_{word}", word) for word in words)
    for stage in stages:
        if stage not in STAGES:
            known = did_you_mean(stage, STAGES)
            problem = f"--explain={stage}: there are {', '.join(STAGES)}{known}"
            raise ConfigurationError(problem, key="explain", origin="the options")
    return stages

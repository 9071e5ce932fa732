"""Files of defaults for the options of scripts, as ``--config`` takes them.

A key is an option with ``_`` for ``-``, or one of DAPHNE's own configuration files.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn

from freestone.errors import ConfigurationError
from freestone.errors.base import did_you_mean

__all__ = ["load"]

OTHERS = ("daphnedsl_import_paths", "sparsity_threshold")
"""Keys that are no options."""
RENAMED = {
    "use_vectorized_exec": "vec",
    "use_distributed": "distributed",
    "use_hdfs": "enable_hdfs",
    "hdfs_Address": "hdfs_ip",
    "taskPartitioningScheme": "partitioning",
    "queueSetupScheme": "queue_layout",
    "victimSelection": "victim_selection",
    "numberOfThreads": "num_threads",
    "minimumTaskSize": "grain_size",
    "prePartitionRows": "pre_partition",
    "pinWorkers": "pin_workers",
    "hyperthreadingEnabled": "hyperthreading",
    "max_distributed_serialization_chunk_size": "max_distr_chunk_size",
    "enable_statistics": "statistics",
    "debugMultiThreading": "debug_mt",
    "use_mlir_codegen": "codegen",
    "use_columnar": "columnar",
    "use_optimistic_splitting": "optimistic_splitting",
}
"""What DAPHNE's files call an option."""
OPPOSITE = {
    "use_obj_ref_mgnt": "no_obj_ref_mgnt",
    "use_ipa_const_propa": "no_ipa_const_propa",
    "use_phy_op_selection": "no_phy_op_selection",
}
"""What DAPHNE's files say the other way round."""
STAGES = {
    "explain_parsing": "built",
    "explain_parsing_simplified": "reuse",
    "explain_property_inference": "properties",
    "explain_select_matrix_repr": "sparsity",
    "explain_phy_op_selection": "algebra",
    "explain_vectorized": "fusion",
    "explain_obj_ref_mgnt": "buffers",
}
"""The stage of the graph that is nearest to one of DAPHNE's."""
REFUSED = {
    "use_cuda": "cuda",
    "force_cuda": "cuda",
    "use_fpgaopencl": "fpgaopencl",
}
"""What is refused like an option where DAPHNE's file turns it on."""
PASSED_OVER = frozenset({"logging", "libdir", "library_paths", "cuda_devices", "cuda_fuse_any"})
PASSED_OVER |= {"vectorized_single_queue", "debug_llvm", "use_mlir_hybrid_codegen"}
"""What DAPHNE's file has, and nothing here corresponds to, besides stages of its compiler."""


def load(path: str, options: Collection[str], flags: Collection[str]) -> dict[str, Any]:
    """Read a file of defaults.

    Parameters
    ----------
    path : str
        Where it is: an object in JSON.
    options, flags : collection of str
        The options that there are, with ``_`` for ``-``; those that are true or false.

    Returns
    -------
    dict
        What it says of each option.

    Raises
    ------
    ConfigurationError
        If it can't be read, or has a key or a value that nobody knows.
    """
    found: dict[str, Any] = {}
    stages: list[str] = []
    for key, value in _read(path).items():
        if key in PASSED_OVER or (key.startswith("explain_") and key not in STAGES):
            continue
        name = RENAMED.get(key) or OPPOSITE.get(key) or REFUSED.get(key, key)
        known = name in options or name in OTHERS or key in STAGES or key in REFUSED
        if not known:
            near = did_you_mean(key, [*options, *OTHERS, *RENAMED, *OPPOSITE])
            _fail(path, key, f"{path} has the key {key!r}, which is no option{near}")
        truth = name in flags or key in STAGES or key in REFUSED
        if truth and not isinstance(value, bool):
            _fail(path, key, f"{path}: {key} has to be true or false, not {json.dumps(value)}")
        if not truth:
            value = _checked(path, name, value)
        if key in STAGES:
            stages += [STAGES[key]] if value else []
        elif key in OPPOSITE:
            found[name] = not value
        elif key == "numberOfThreads":
            # DAPHNE's files say -1 for as many as there are cores.
            found[name] = "0" if value == "-1" else value
        elif value is not False or key not in REFUSED:
            found[name] = value
    if stages:
        found["explain"] = ",".join([*([found["explain"]] if "explain" in found else []), *stages])
    return found


def _checked(path: str, name: str, value: Any) -> Any:
    """Check the value of an option that is no flag, and return it as the command line has it."""
    if name == "daphnedsl_import_paths":
        folders = value.values() if isinstance(value, dict) else [None]
        if not all(isinstance(each, list) and all(map(_is_text, each)) for each in folders):
            _fail(path, name, f"{path}: {name} has to be an object of lists of folders")
        empty = [key for key, each in value.items() if not each and key != "default_dirs"]
        if empty:
            _fail(path, name, f"{path}: the library {empty[0]!r} of {name} has no folder")
        return value
    if name == "matmul_fixed_tile_sizes" and isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        _fail(path, name, f"{path}: {name} has to be text or a number, not {json.dumps(value)}")
    if name == "sparsity_threshold":
        try:
            return float(value)
        except ValueError:
            _fail(path, name, f"{path}: {name} has to be a number, not {json.dumps(value)}")
    return str(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _read(path: str) -> dict[str, Any]:
    try:
        data = json.loads(Path(path).read_text())
    except (OSError, ValueError, RecursionError) as error:
        _fail(path, "config", f"--config={path} can't be read: {error}")
    if not isinstance(data, dict):
        _fail(path, "config", f"{path} holds no object")
    return data


def _fail(path: str, key: str, problem: str) -> NoReturn:
    raise ConfigurationError(problem, key=key, origin=path) from None

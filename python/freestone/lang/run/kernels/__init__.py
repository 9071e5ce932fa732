"""What operations do when they run; a module is loaded when an operation first needs it.

See docs/decisions/035-operations-outside-pipelines-run-in-numpy.md
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

HOMES: dict[str, str] = {}
"""The module of each kind of operation."""

for _module, _kinds in {
    "output": "print stop",
    "elementwise": "binary unary cast choose outer map map_along to_scalar to_matrix",
    "aggregates": "agg_all agg_row agg_col agg_group average index_row index_col cumulate sparsity "
    "is_symmetric",
    "generation": "given fill literal seq rand sample diag_matrix create_frame",
    "shapes": "shape type_of reshape transpose cbind rbind reverse order index insert "
    "filter_rows filter_columns",
    "algebra": "matmul eigen solve syrk gemv diag_vector triangle replace ctable sum_product cross",
    "neural": "softmax bias_add conv2d conv2d_backward pool2d pool2d_backward batch_norm2d "
    "batch_norm2d_backward",
    "relational": "cartesian inner_join semi_join group_join group_sum relabel set_operation "
    "frame_to_matrix to_frame",
    "sql": "register_view sql",
    "files": "read write read_csv_file open_file open_device open_on_device close",
    "lending": "receive save_result",
    "other": "now quantize one_hot recode distinct encode bin finite_end create_list "
    "length element replace_element append remove",
    "pipeline": "pipeline",
    "applied": "apply",
    "strips": "rows part mirrored append_rows print_rows chosen_rows cumulate_rows reshape_rows "
    "first_places extremes_of_kept distinct_in_strip",
    "profiling": "start_profiling stop_profiling",
}.items():
    HOMES.update(dict.fromkeys(_kinds.split(), _module))

Kernel = Callable[..., Any]


@cache
def kernel_of(kind: str) -> Kernel:
    """Return the function that runs a kind of operation."""
    module = import_module(f"freestone.lang.run.kernels.{HOMES[kind]}")
    return getattr(module, kind, None) or getattr(module, f"{kind}_")  # type: ignore[no-any-return]

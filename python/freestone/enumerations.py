"""What Rust enumerates, by name: options, kinds of failures, settings of the engine.

Written by ``python -m tests.architecture.enumerations`` from the native module: change it there.
"""

from typing import Literal, get_args

__all__ = [
    "ENGINE_BINARY",
    "ENGINE_CELLS",
    "ENGINE_UNARY",
    "FAILURE_KINDS",
    "ISOLATIONS",
    "KEEPS",
    "LAYOUTS",
    "NUMA",
    "REDUCTIONS",
    "SCHEMES",
    "VICTIMS",
    "Binary",
    "Cell",
    "FailureKind",
    "Isolation",
    "Keep",
    "Layout",
    "Placement",
    "Reduction",
    "Scheme",
    "Unary",
    "Victims",
]

Isolation = Literal[
    "shared",
    "fork",
    "process",
]
"""Where a call runs: in a resident executor, a child of one, or an interpreter of its own."""

ISOLATIONS: tuple[Isolation, ...] = get_args(Isolation)

Keep = Literal[
    "task",
    "session",
    "worker",
    "forever",
]
"""How long a block stays when no future and no task needs it any more."""

KEEPS: tuple[Keep, ...] = get_args(Keep)

FailureKind = Literal[
    "cancelled",
    "closed",
    "disk_exceeded",
    "file_changed",
    "file_missing",
    "file_unreadable",
    "input_lost",
    "interrupted",
    "killed",
    "memory_exceeded",
    "raised",
    "storage_full",
    "timed_out",
    "too_large",
    "too_many_calls",
    "unknown_input",
    "unschedulable",
    "worker_absent",
]
"""Why a task failed, or can't run."""

FAILURE_KINDS: tuple[FailureKind, ...] = get_args(FailureKind)

Scheme = Literal[
    "STATIC",
    "SS",
    "GSS",
    "TSS",
    "FAC2",
    "TFSS",
    "FISS",
    "VISS",
    "PLS",
    "PSS",
    "MFSC",
    "MSTATIC",
    "AUTO",
]
"""How rows are cut into tasks."""

SCHEMES: tuple[Scheme, ...] = get_args(Scheme)

Layout = Literal[
    "CENTRALIZED",
    "PERGROUP",
    "PERCPU",
]
"""One queue, one for each package, or one for each worker."""

LAYOUTS: tuple[Layout, ...] = get_args(Layout)

Victims = Literal[
    "SEQ",
    "SEQPRI",
    "RANDOM",
    "RANDOMPRI",
]
"""In which order an idle worker visits other queues."""

VICTIMS: tuple[Victims, ...] = get_args(Victims)

Placement = Literal[
    "default",
    "interleave",
    "preferred",
    "local",
]
"""On which memory nodes large results are placed."""

NUMA: tuple[Placement, ...] = get_args(Placement)

Cell = Literal[
    "si8",
    "ui8",
    "si32",
    "ui32",
    "si64",
    "ui64",
    "f32",
    "f64",
]
"""Types of elements that the engine computes with, by code."""

ENGINE_CELLS: tuple[Cell, ...] = get_args(Cell)

Binary = Literal[
    "add",
    "sub",
    "mul",
    "div",
    "mod",
    "pow",
    "log",
    "min",
    "max",
    "eq",
    "neq",
    "lt",
    "le",
    "gt",
    "ge",
    "and",
    "or",
]
"""Operations of two sides that the engine has."""

ENGINE_BINARY: tuple[Binary, ...] = get_args(Binary)

Unary = Literal[
    "minus",
    "abs",
    "sign",
    "exp",
    "ln",
    "sqrt",
    "round",
    "floor",
    "ceil",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "asin",
    "acos",
    "atan",
    "isNan",
]
"""Operations of one side that the engine has."""

ENGINE_UNARY: tuple[Unary, ...] = get_args(Unary)

Reduction = Literal[
    "sum",
    "min",
    "max",
]
"""What the engine reduces elements to."""

REDUCTIONS: tuple[Reduction, ...] = get_args(Reduction)

"""What Rust enumerates, by name: options, kinds of failures, settings of the engine.

Written by ``python -m tests.architecture.enumerations`` from the native module: change it there.
"""

from typing import Literal

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

ISOLATIONS: tuple[Isolation, ...] = (
    "shared",
    "fork",
    "process",
)

Keep = Literal[
    "task",
    "session",
    "worker",
    "forever",
]
"""How long a block stays when no future and no task needs it any more."""

KEEPS: tuple[Keep, ...] = (
    "task",
    "session",
    "worker",
    "forever",
)

FailureKind = Literal[
    "cancelled",
    "closed",
    "disk_exceeded",
    "file_changed",
    "input_lost",
    "killed",
    "memory_exceeded",
    "raised",
    "storage_full",
    "timed_out",
    "too_large",
    "unknown_input",
    "unschedulable",
    "worker_absent",
]
"""Why a task failed, or can't run."""

FAILURE_KINDS: tuple[FailureKind, ...] = (
    "cancelled",
    "closed",
    "disk_exceeded",
    "file_changed",
    "input_lost",
    "killed",
    "memory_exceeded",
    "raised",
    "storage_full",
    "timed_out",
    "too_large",
    "unknown_input",
    "unschedulable",
    "worker_absent",
)

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

SCHEMES: tuple[Scheme, ...] = (
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
)

Layout = Literal[
    "CENTRALIZED",
    "PERGROUP",
    "PERCPU",
]
"""One queue, one for each package, or one for each worker."""

LAYOUTS: tuple[Layout, ...] = (
    "CENTRALIZED",
    "PERGROUP",
    "PERCPU",
)

Victims = Literal[
    "SEQ",
    "SEQPRI",
    "RANDOM",
    "RANDOMPRI",
]
"""In which order an idle worker visits other queues."""

VICTIMS: tuple[Victims, ...] = (
    "SEQ",
    "SEQPRI",
    "RANDOM",
    "RANDOMPRI",
)

Placement = Literal[
    "default",
    "interleave",
    "preferred",
    "local",
]
"""On which memory nodes large results are placed."""

NUMA: tuple[Placement, ...] = (
    "default",
    "interleave",
    "preferred",
    "local",
)

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

ENGINE_CELLS: tuple[Cell, ...] = (
    "si8",
    "ui8",
    "si32",
    "ui32",
    "si64",
    "ui64",
    "f32",
    "f64",
)

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

ENGINE_BINARY: tuple[Binary, ...] = (
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
)

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

ENGINE_UNARY: tuple[Unary, ...] = (
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
)

Reduction = Literal[
    "sum",
    "min",
    "max",
]
"""What the engine reduces elements to."""

REDUCTIONS: tuple[Reduction, ...] = (
    "sum",
    "min",
    "max",
)

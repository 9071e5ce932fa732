"""Functions: their names, and how they travel.

``encode`` gives a function a name that is equal tomorrow for the same code, and the bytes that an
executor's ``load`` makes it from again.
"""

from freestone.functions.coroutines import is_coroutine_function, runnable
from freestone.functions.encoding import EncodedFunction, encode, forget_encoded, label_of
from freestone.functions.fingerprint import digest
from freestone.functions.large import LARGE_NBYTES, LargeFunction, call_large
from freestone.functions.loading import (
    apply_python_path,
    enter_executor,
    in_executor,
    load,
    python_path,
)
from freestone.functions.packages import (
    Package,
    Packages,
    enter,
    entered,
    folders,
    unwrapped,
)
from freestone.functions.pickling import dumps
from freestone.functions.raised import (
    described,
    dumps_failure,
)

__all__ = [
    "LARGE_NBYTES",
    "EncodedFunction",
    "LargeFunction",
    "Package",
    "Packages",
    "apply_python_path",
    "call_large",
    "described",
    "digest",
    "dumps",
    "dumps_failure",
    "encode",
    "enter",
    "enter_executor",
    "entered",
    "folders",
    "forget_encoded",
    "in_executor",
    "is_coroutine_function",
    "label_of",
    "load",
    "python_path",
    "runnable",
    "unwrapped",
]

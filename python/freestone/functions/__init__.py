"""Functions: their names, and how they travel.

``encode`` gives a function a name that is equal tomorrow for the same code, and the bytes that an
executor's ``load`` makes it from again.
"""

from freestone.functions.encoding import EncodedFunction, encode, label_of
from freestone.functions.fingerprint import digest
from freestone.functions.loading import (
    apply_python_path,
    enter_executor,
    in_executor,
    load,
    python_path,
)

__all__ = [
    "EncodedFunction",
    "apply_python_path",
    "digest",
    "encode",
    "enter_executor",
    "in_executor",
    "label_of",
    "load",
    "python_path",
]

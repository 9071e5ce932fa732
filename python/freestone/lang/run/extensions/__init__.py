"""Runs kernels that others write: functions of Python's, and compiled ones.

- `calling`: converts what an operation is given, and checks what comes back.
- `objects`: matrices and frames as compiled kernels see them (``freestone_kernel.h``).
- `libraries`: shared libraries and calls of their functions.
- `flat`: calls of functions that numba has compiled.
- `reported`: what is seen of them: what they print, and which of them crashed the process.
- `isolated`, `guarding`: the same in a process of its own, beside memory that nobody may touch.
"""

"""A function for scripts: softplus(x[, sharpness]), a smooth form of max(x, 0)."""

from typing import Any

from freestone.lang.front.builtins import call, make_builtin


def make(emitter: Any, x: Any, sharpness: Any = 1.0) -> Any:
    """Make it of other functions: max(x, 0) + ln(1 + exp(-|k x|)) / k, which never overflows."""
    emitter.numbers(x, "x")
    scaled = call(emitter, "*", call(emitter, "abs", x), sharpness)
    decay = call(emitter, "exp", call(emitter, "*", scaled, -1.0))
    smooth = call(emitter, "/", call(emitter, "ln", call(emitter, "+", decay, 1.0)), sharpness)
    return call(emitter, "+", call(emitter, "max", x, 0.0), smooth)


SOFTPLUS = make_builtin("softplus", "x sharpness?", make)

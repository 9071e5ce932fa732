"""Layers of neural networks: images are rows, channel by channel, row by row."""

from __future__ import annotations

from freestone.lang.front.builtins import algebra, elementwise
from freestone.lang.front.builtins.table import BUILTINS, Builtin, builtin
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import floating, matrix, scalar


@builtin("affine", "inputData weightData biasData")
def affine(emitter: Emitter, inputs: Value, weights: Value, bias: Value) -> Value:
    """Compute inputs @ weights + bias."""
    return elementwise.binary(emitter, "add", algebra.product(emitter, inputs, weights), bias)


@builtin("relu", "arg")
def relu(emitter: Emitter, arg: Value) -> Value:
    """Replace what is negative by 0."""
    type = emitter.numbers(arg, "arg")
    return elementwise.binary(emitter, "max", arg, emitter.constant(0, type.cell))


@builtin("softmax", "arg")
def softmax(emitter: Emitter, arg: Value) -> Value:
    """Turn every row into probabilities."""
    type = emitter.numbers(arg, "arg")
    return emitter.emit("softmax", [arg], type.of(floating(type.cell)))


@builtin("biasAdd", "input bias")
def bias_add(emitter: Emitter, images: Value, bias: Value) -> Value:
    """Add to every channel its own number."""
    type = emitter.numbers(images, "input")
    emitter.numbers(bias, "bias")
    return emitter.emit("bias_add", [images, bias], type)


IMAGE = ["batch_size", "num_channels", "input_h", "input_w"]
CONV = [*IMAGE, *["filter_h", "filter_w", "stride_h", "stride_w", "pad_h", "pad_w"]]
POOL = [*IMAGE, *["pool_h", "pool_w", "stride_h", "stride_w", "pad_h", "pad_w"]]
FILTER = [
    *["stride_h", "stride_w", "pad_h", "pad_w"],
    *IMAGE,
    *["filter_num", "filter_channels", "filter_h", "filter_w"],
]


def _sizes(emitter: Emitter, names: list[str], values: tuple[Value, ...]) -> list[int | None]:
    return [emitter.size(value, name) for name, value in zip(names, values, strict=True)]


def _outside(
    size: int | None, window: int | None, stride: int | None, pad: int | None
) -> int | None:
    if size is None or window is None or stride is None or pad is None or stride == 0:
        return None
    return (size + 2 * pad - window) // stride + 1


def _conv2d(emitter: Emitter, images: Value, filters: Value, *rest: Value) -> list[Value]:
    cell = floating(emitter.numbers(images, "input").cell)
    count = emitter.numbers(filters, "filter").rows
    sizes = _sizes(emitter, CONV, rest[: len(CONV)])
    height = _outside(sizes[2], sizes[4], sizes[6], sizes[8])
    width = _outside(sizes[3], sizes[5], sizes[7], sizes[9])
    columns = None if None in (count, height, width) else count * height * width  # type: ignore[operator]
    types = [matrix(cell, images.type.rows, columns), scalar("index"), scalar("index")]
    return emitter.emit_all("conv2d", [images, filters, *rest], types)


BUILTINS["conv2d"] = Builtin("conv2d", ("input", "filter", *CONV), ("bias",), "", _conv2d)


def _register_pool(name: str) -> None:
    def forward(emitter: Emitter, images: Value, *rest: Value) -> list[Value]:
        cell = floating(emitter.numbers(images, "input").cell)
        sizes = _sizes(emitter, POOL, rest)
        height = _outside(sizes[2], sizes[4], sizes[6], sizes[8])
        width = _outside(sizes[3], sizes[5], sizes[7], sizes[9])
        channels = sizes[1]
        columns = None
        if channels is not None and height is not None and width is not None:
            columns = channels * height * width
        types = [matrix(cell, images.type.rows, columns), scalar("index"), scalar("index")]
        return emitter.emit_all("pool2d", [images, *rest], types, name=name)

    def backward(emitter: Emitter, images: Value, errors: Value, *rest: Value) -> Value:
        type = emitter.numbers(images, "input")
        emitter.numbers(errors, "dout")
        _sizes(emitter, POOL, rest)
        cell = floating(type.cell)
        return emitter.emit("pool2d_backward", [images, errors, *rest], type.of(cell), name=name)

    public = f"{name}_pool2d"
    BUILTINS[public] = Builtin(public, ("input", *POOL), (), "", forward)
    words = ("input", "dout", *POOL)
    BUILTINS[f"{public}_backward"] = Builtin(f"{public}_backward", words, (), "", backward)


_register_pool("avg")
_register_pool("max")


@builtin("batch_norm2d", "inputData gamma beta emaMean emaVar eps")
def batch_norm2d(emitter: Emitter, images: Value, *rest: Value) -> Value:
    """Normalise every channel by a mean and a variance."""
    type = emitter.numbers(images, "inputData")
    for value, what in zip(rest, ("gamma", "beta", "emaMean", "emaVar"), strict=False):
        emitter.numbers(value, what)
    emitter.number(rest[-1], "eps")
    return emitter.emit("batch_norm2d", [images, *rest], type.of(floating(type.cell)))


@builtin("batch_norm2d_backward", "inputData dout gamma mean invVar eps")
def batch_norm2d_backward(
    emitter: Emitter, images: Value, errors: Value, gamma: Value, *rest: Value
) -> list[Value]:
    """Compute the gradients of the input, of gamma and of beta."""
    type = emitter.numbers(images, "inputData")
    emitter.numbers(errors, "dout")
    emitter.numbers(gamma, "gamma")
    cell = floating(type.cell)
    sums = gamma.type.of(cell)
    types = [type.of(cell), sums, sums]
    return emitter.emit_all("batch_norm2d_backward", [images, errors, gamma, *rest], types)


def _register_conv_backward(name: str, of_filter: bool) -> None:
    def backward(emitter: Emitter, first: Value, errors: Value, *rest: Value) -> Value:
        cell = floating(emitter.numbers(first, "the first argument").cell)
        emitter.numbers(errors, "dout")
        sizes = _sizes(emitter, FILTER, rest)
        batch, channels, height, width, count, _, tall, wide = sizes[4:]
        shape = (count, channels, tall, wide) if of_filter else (batch, channels, height, width)
        columns = None
        if None not in shape[1:]:
            columns = shape[1] * shape[2] * shape[3]  # type: ignore[operator]
        type = matrix(cell, shape[0], columns)
        return emitter.emit("conv2d_backward", [first, errors, *rest], type, of_filter=of_filter)

    first = "input" if of_filter else "filter"
    BUILTINS[name] = Builtin(name, (first, "dout", *FILTER), (), "", backward)


_register_conv_backward("conv2d_backward_filter", of_filter=True)
_register_conv_backward("conv2d_backward_data", of_filter=False)

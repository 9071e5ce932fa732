"""Layers of neural networks, with NumPy: windows as a strided view, then a product."""

from __future__ import annotations

from typing import Any

import numpy as np

from freestone.lang.front.graph.graph import Op
from freestone.lang.run.kernels.elementwise import converted

Array = np.ndarray[Any, Any]


def softmax(run: Any, op: Op, value: Array) -> Array:
    """Turn every row into probabilities."""
    cells = converted(value, op.results[0].type.cell)
    powers = np.exp(cells - cells.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def bias_add(run: Any, op: Op, images: Array, bias: Array) -> Array:
    """Add to every channel its own number."""
    numbers = bias.ravel()
    if images.shape[1] % numbers.size:
        raise ValueError(f"{images.shape[1]} columns are not {numbers.size} channels")
    size = images.shape[1] // numbers.size
    return np.asarray(images + np.repeat(numbers, size).astype(images.dtype))


def _images(value: Array, batch: int, channels: int, height: int, width: int) -> Array:
    if value.shape != (batch, channels * height * width):
        raise ValueError(
            f"{batch} images of {channels}x{height}x{width} are "
            f"{batch}x{channels * height * width} cells, not {value.shape[0]}x{value.shape[1]}"
        )
    return value.reshape(batch, channels, height, width)


def _windows(
    images: Array,
    window: tuple[int, int],
    stride: tuple[int, int],
    pad: tuple[int, int],
    fill: float,
) -> Array:
    """Return a view of shape (batch, channels, out rows, out columns, *window)."""
    sides = ((0, 0), (0, 0), (pad[0], pad[0]), (pad[1], pad[1]))
    padded = np.pad(images, sides, constant_values=fill)
    if min(stride) < 1 or padded.shape[2] < window[0] or padded.shape[3] < window[1]:
        raise ValueError(f"windows of {window} by {stride} do not fit into {padded.shape[2:]}")
    views = np.lib.stride_tricks.sliding_window_view(padded, window, (2, 3))
    return views[:, :, :: stride[0], :: stride[1]]


def conv2d(run: Any, op: Op, value: Array, filters: Array, *rest: Any) -> tuple[Array, int, int]:
    """Convolve images with filters."""
    cell = op.results[0].type.cell
    batch, channels, height, width, tall, wide, down, right, top, left = map(int, rest[:10])
    images = _images(converted(value, cell), batch, channels, height, width)
    views = _windows(images, (tall, wide), (down, right), (top, left), 0)
    if filters.shape[1] != channels * tall * wide:
        raise ValueError(f"filters of {channels}x{tall}x{wide} are not {filters.shape[1]} cells")
    flat = views.transpose(0, 2, 3, 1, 4, 5).reshape(-1, filters.shape[1])
    out = flat @ converted(filters, cell).T
    rows, columns = views.shape[2:4]
    out = out.reshape(batch, rows * columns, -1).transpose(0, 2, 1).reshape(batch, -1)
    if len(rest) > 10:
        out = bias_add(run, op, out, rest[10])
    return out, rows, columns


def conv2d_backward(run: Any, op: Op, first: Array, errors: Array, *rest: Any) -> Array:
    """Compute the gradient of the filters, or of the images."""
    cell = op.results[0].type.cell
    down, right, top, left, batch, channels, height, width, count, _, tall, wide = map(int, rest)
    blank = np.zeros((batch, channels, height, width), first.dtype)
    images = blank
    if op.attrs["of_filter"]:
        images = _images(converted(first, cell), batch, channels, height, width)
    views = _windows(images, (tall, wide), (down, right), (top, left), 0)
    rows, columns = views.shape[2:4]
    slopes = _images(converted(errors, cell), batch, count, rows, columns)
    if op.attrs["of_filter"]:
        out = np.einsum("bkrc,bhrcij->khij", slopes, views, optimize=True)
        return np.asarray(out).reshape(count, -1)
    kernels = converted(first, cell).reshape(count, channels, tall, wide)
    out = np.zeros((batch, channels, height + 2 * top, width + 2 * left), slopes.dtype)
    for i in range(tall):
        for j in range(wide):
            part = np.einsum("bkrc,kh->bhrc", slopes, kernels[:, :, i, j], optimize=True)
            out[:, :, i : i + down * rows : down, j : j + right * columns : right] += part
    return out[:, :, top : top + height, left : left + width].reshape(batch, -1)


def _pooled(op: Op, value: Array, rest: tuple[Any, ...]) -> tuple[Array, list[int]]:
    sizes = [int(size) for size in rest]
    batch, channels, height, width, tall, wide, down, right, top, left = sizes
    images = _images(converted(value, op.results[0].type.cell), batch, channels, height, width)
    fill = -np.inf if op.attrs["name"] == "max" else 0.0
    return _windows(images, (tall, wide), (down, right), (top, left), fill), sizes


def pool2d(run: Any, op: Op, value: Array, *rest: Any) -> tuple[Array, int, int]:
    """Take the mean or the greatest of every window."""
    views, sizes = _pooled(op, value, rest)
    compute = np.max if op.attrs["name"] == "max" else np.mean
    out = compute(views, axis=(4, 5))
    return out.reshape(sizes[0], -1), views.shape[2], views.shape[3]


def pool2d_backward(run: Any, op: Op, value: Array, errors: Array, *rest: Any) -> Array:
    """Compute the gradient of the images."""
    views, sizes = _pooled(op, value, rest)
    batch, channels, height, width, tall, wide, down, right, top, left = sizes
    rows, columns = views.shape[2:4]
    slopes = _images(converted(errors, op.results[0].type.cell), batch, channels, rows, columns)
    out = np.zeros((batch, channels, height + 2 * top, width + 2 * left), slopes.dtype)
    best = views.reshape(*views.shape[:4], -1).argmax(-1)
    for i in range(tall):
        for j in range(wide):
            share = slopes / (tall * wide)
            if op.attrs["name"] == "max":
                share = np.where(best == i * wide + j, slopes, 0)
            out[:, :, i : i + down * rows : down, j : j + right * columns : right] += share
    return out[:, :, top : top + height, left : left + width].reshape(batch, -1)


def _channels(value: Array, numbers: Array) -> Array:
    if value.shape[1] % numbers.size:
        raise ValueError(f"{value.shape[1]} columns are not {numbers.size} channels")
    return value.reshape(value.shape[0], numbers.size, -1)


def batch_norm2d(
    run: Any,
    op: Op,
    value: Array,
    gamma: Array,
    beta: Array,
    mean: Array,
    var: Array,
    eps: Any,
) -> Array:
    """Normalise every channel by a mean and a variance."""
    cells = _channels(converted(value, op.results[0].type.cell), gamma)
    one, two, three, four = (side.reshape(1, -1, 1) for side in (gamma, beta, mean, var))
    out = one * (cells - three) / np.sqrt(four + eps) + two
    return np.asarray(converted(out.reshape(value.shape), op.results[0].type.cell))


def batch_norm2d_backward(
    run: Any,
    op: Op,
    value: Array,
    errors: Array,
    gamma: Array,
    mean: Array,
    inverse: Array,
    eps: Any,
) -> tuple[Array, Array, Array]:
    """Compute the gradients of the input, of gamma and of beta."""
    cells, slopes = _channels(value, gamma), _channels(errors, gamma)
    one, three, scale = (side.reshape(1, -1, 1) for side in (gamma, mean, inverse))
    normal = (cells - three) * scale
    count = cells.shape[0] * cells.shape[2]
    beta_slope = slopes.sum(axis=(0, 2), keepdims=True)
    gamma_slope = (slopes * normal).sum(axis=(0, 2), keepdims=True)
    out = one * scale / count * (count * slopes - beta_slope - normal * gamma_slope)
    shape = gamma.shape
    return out.reshape(value.shape), gamma_slope.reshape(shape), beta_slope.reshape(shape)

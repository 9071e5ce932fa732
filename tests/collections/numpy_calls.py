"""Calls of NumPy's public functions and of its arrays' methods: what people use of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["ARGUMENTS", "CALLS"]

_FLOATS = np.array([3.5, -1.25, 0.5, 2.0, -4.75, 6.0, 1.5, -0.25, 5.25, 0.75, -2.5, 4.0])
_INTEGERS = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])
_SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 5.0, 0.25], [0.5, 0.25, 6.0]])

ARGUMENTS: dict[str, Any] = {
    "v": _FLOATS,
    "u": np.linspace(0.1, 0.9, 12),
    "x": np.stack([_FLOATS, _FLOATS[::-1] * 2, np.arange(12.0)], axis=1),
    "y": np.arange(36.0).reshape(12, 3) % 7 + 1,
    "n": np.where(np.arange(36).reshape(12, 3) % 5 == 0, np.nan, np.arange(36.0).reshape(12, 3)),
    "i": _INTEGERS,
    "j": _INTEGERS[::-1].copy(),
    "k": np.arange(36).reshape(12, 3) % 5,
    "b": _INTEGERS > 3,
    "d": np.arange(36).reshape(12, 3) % 3 == 0,
    "c": _FLOATS + 1j * _FLOATS[::-1],
    "q": _SQUARE,
    "t": np.arange(48.0).reshape(12, 2, 2) % 11,
    "m": np.arange("2020-01-01", "2020-01-13", dtype="datetime64[D]"),
    "z": np.array([0, 1, 0, 2, 2, 1, 0, 0, 3, 1, 0, 0], np.uint8),
}
"""Arrays by name; on freestone each is in blocks of five rows."""

_OF_ONE = {
    "v": "absolute negative positive sign floor ceil trunc rint square cbrt exp exp2 expm1 sin cos "
    "tan arctan sinh cosh tanh arcsinh degrees radians deg2rad rad2deg fabs signbit spacing "
    "isfinite isinf isnan logical_not reciprocal sinc i0 fix nan_to_num isneginf isposinf "
    "isreal iscomplex iscomplexobj isrealobj real imag angle real_if_close cumsum cumprod "
    "nancumsum nancumprod cumulative_sum cumulative_prod diff ediff1d gradient sort argsort "
    "argmin argmax nanargmin nanargmax min max amin amax sum prod mean std var median ptp any all "
    "nanmin nanmax nansum nanprod nanmean nanstd nanvar nanmedian average flip flatnonzero "
    "argwhere nonzero unique unique_values count_nonzero ravel squeeze transpose copy "
    "atleast_1d atleast_2d atleast_3d diag diagflat trapezoid unwrap sort_complex shape "
    "ndim size trim_zeros "
    "array2string array_repr array_str zeros_like ones_like result_type min_scalar_type "
    "vander poly flipud",
    "u": "log log2 log10 log1p sqrt arcsin arccos arctanh frexp modf",
    "x": "sum mean cumsum ravel transpose matrix_transpose fliplr flipud rot90 tril triu trace "
    "diagonal unique flip argmax min max std var median any all nonzero argwhere flatnonzero cov "
    "corrcoef gradient atleast_3d linalg.norm linalg.svdvals linalg.pinv linalg.matrix_rank "
    "linalg.cond linalg.matrix_norm linalg.vector_norm linalg.matrix_transpose fft.fft fft.ifft "
    "fft.rfft fft.fft2 fft.ifft2 fft.fftn fft.fftshift fft.ifftshift linalg.trace linalg.diagonal",
    "n": "nansum nanmean nanmin nanmax nanstd nanvar nanprod nanmedian isnan nan_to_num nanargmax",
    "i": "bincount bitwise_count invert bitwise_not unique_counts unique_all "
    "unique_inverse isreal cumsum sum mean max min",
    "b": "logical_not invert flatnonzero all any packbits count_nonzero",
    "c": "real imag conj conjugate angle absolute iscomplex iscomplexobj isreal sort_complex exp",
    "q": "linalg.inv linalg.det linalg.eigvalsh linalg.cholesky linalg.slogdet linalg.pinv diag "
    "linalg.matrix_rank linalg.eigvals trace triu tril",
    "t": "sum mean max ravel squeeze transpose fft.fftn",
    "z": "unpackbits trim_zeros bincount",
}

_OF_TWO = {
    "v, u": "add subtract multiply divide true_divide floor_divide remainder mod fmod "
    "maximum minimum fmax fmin hypot arctan2 copysign nextafter logaddexp logaddexp2 heaviside "
    "less less_equal greater greater_equal equal not_equal logical_and logical_or logical_xor "
    "divmod isclose allclose array_equal array_equiv inner dot vdot outer kron convolve correlate "
    "union1d intersect1d setdiff1d setxor1d isin append vecdot polyadd polysub polymul "
    "polyval may_share_memory shares_memory linalg.outer linalg.vecdot",
    "u, v": "power float_power",
    "x, y": "add multiply divide maximum isclose allclose inner cross "
    "append linalg.cross array_equal",
    "i, j": "bitwise_and bitwise_or bitwise_xor gcd lcm left_shift right_shift isin union1d "
    "intersect1d setdiff1d polymul",
    "b, b": "logical_and logical_or logical_xor array_equal",
}


def _calls() -> dict[str, str]:
    found = {}
    for table in (_OF_ONE, _OF_TWO):
        for arguments, functions in table.items():
            for name in functions.split():
                found[f"np.{name}({arguments})"] = f"np.{name}({arguments})"
    return found


_MORE = """
np.sum(x, axis=0)|np.sum(x, axis=1)|np.sum(x, axis=(0, 1))|np.sum(x, axis=1, keepdims=True)
np.sum(x, where=d)|np.max(x, initial=9.0)|np.mean(x, axis=0)|np.std(x, axis=0, ddof=1)
np.var(x, axis=1)|np.median(x, axis=0)|np.median(x, axis=1)|np.percentile(v, 30)
np.percentile(x, [10, 50], axis=0)|np.quantile(v, 0.25)|np.quantile(x, 0.5, axis=1)
np.nanpercentile(n, 40)|np.nanquantile(n, 0.4, axis=0)|np.nanmedian(n, axis=0)
np.nanmean(n, axis=0)|np.nansum(n, axis=1)|np.average(v, weights=u)|np.average(x, axis=0)
np.argmax(x, axis=0)|np.argmin(x, axis=1)|np.argsort(x, axis=0)|np.sort(x, axis=0)
np.sort(x, axis=None)
np.partition(v, 3)[3]|np.argpartition(i, 11)[11]|np.cumsum(x, axis=0)|np.cumprod(x, axis=1)
np.diff(x, axis=0)|np.diff(v, n=2)|np.gradient(v, 0.5)|np.trapezoid(x, axis=0)|np.ptp(x, axis=0)
np.clip(v, -1, 2)|np.round(v, 1)|np.around(v)|np.where(b, v, u)|np.where(b)
np.select([b, ~b], [v, u])
np.choose(z, [v, u, v + u, v - u])|np.piecewise(v, [v < 0, v >= 0], [-1, 1])|np.extract(b, v)
np.compress(b, v)|np.take(v, [3, 1])|np.take(x, [2, 0], axis=1)|np.take_along_axis(v, i, axis=0)
np.delete(v, [1, 2])|np.insert(v, 2, 9.0)|np.append(x, y, axis=0)|np.resize(v, (5, 3))
np.reshape(v, (3, 4))|np.reshape(v, -1)|np.reshape(x, (6, 6))|np.ravel(x, order="F")
np.transpose(t, (2, 0, 1))|np.moveaxis(t, 0, -1)|np.rollaxis(t, 2)|np.swapaxes(x, 0, 1)
np.expand_dims(v, 0)|np.expand_dims(v, 1)|np.squeeze(x[:, :1])|np.broadcast_to(v, (2, 12))
np.broadcast_arrays(v, x.T)|np.concatenate([v, u])|np.concatenate([x, y], axis=1)|np.stack([v, u])
np.stack([v, u], axis=1)|np.vstack([x, y])|np.hstack([x, y])|np.dstack([x, y])
np.column_stack([v, u])
np.block([[x, y]])|np.split(v, 3)|np.array_split(v, 5)|np.vsplit(x, 2)|np.hsplit(x, 3)
np.dsplit(t, 2)
np.tile(v, 2)|np.tile(x, (1, 2))|np.repeat(v, 2)|np.repeat(x, 2, axis=1)|np.roll(v, 3)
np.roll(x, 1, axis=0)
np.rot90(x, 2)|np.flip(x, 1)|np.pad(v, 2)|np.pad(x, ((1, 1), (0, 0)), mode="edge")|np.unstack(x.T)
np.histogram(v, bins=4, range=(-5, 7))|np.histogram(v)
np.histogram(v, bins=[-5, 0, 7], density=True)
np.histogram2d(v, u, bins=3)|np.histogramdd(x, bins=2)|np.histogram_bin_edges(v, bins=3)
np.bincount(i, minlength=12)|np.bincount(i, weights=v)|np.digitize(v, [-1, 0, 3])
np.searchsorted(u, 0.5)
np.searchsorted(u, [0.2, 0.7])|np.interp(u, [0, 1], [5, 7])|np.unique(i, return_counts=True)
np.unique(i, return_inverse=True)|np.isin(i, [1, 5])||np.lexsort((i, v))
np.argsort(i, kind='stable')
np.cov(x, rowvar=False)|np.corrcoef(x.T)|np.correlate(v, u, "full")|np.convolve(v, u[:3], "same")
np.polyfit(v, u, 1)|np.polyval([1, 2, 3], v)|np.polyder(v)|np.polyint(v)|np.roots(v[:3])
np.vander(v, 3)
np.polydiv(v, u[:2])|np.dot(x, q)|np.matmul(x, q)|x @ q|np.inner(x, y)|np.outer(v, u)
np.tensordot(x, y, axes=([0], [0]))|np.einsum("ij,ij->i", x, y)|np.einsum("ij,ik->jk", x, y)
np.einsum("ijk->i", t)|np.kron(v[:2], u[:3])|np.cross(x, y)|np.linalg.norm(x, axis=1)
np.linalg.norm(v)
np.linalg.solve(q, x[:3])|np.linalg.lstsq(x, v, rcond=None)|np.linalg.matrix_power(q, 3)
np.linalg.multi_dot([x, q, q])|np.linalg.eigh(q)[0]|np.linalg.eig(q)[0]|np.linalg.svd(x)[1]
np.linalg.svd(x, compute_uv=False)|np.abs(np.linalg.qr(x)[1])|np.linalg.matmul(x, q)
np.linalg.tensordot(x, y, axes=([0], [0]))|np.linalg.tensorsolve(q, v[:3])
np.apply_along_axis(np.sum, 0, x)|np.apply_over_axes(np.sum, t, [1, 2])
np.meshgrid(v[:2], u[:3])|np.ix_(b[:3], b[:3])|np.full_like(x, 7)|np.empty_like(x).shape
np.zeros_like(i)
np.ones_like(x, dtype=int)|np.nan_to_num(n, nan=0.0)|np.isclose(v, v + 1e-12)|np.array_equal(v, v)
np.can_cast(v.dtype, int)|np.result_type(v, i)|np.common_type(v, c)|np.astype(i, float)
np.ravel_multi_index((z, z), (4, 4))|np.unravel_index(i, (4, 4))|np.diag_indices_from(q)
np.tril_indices_from(q)|np.triu_indices_from(q)|np.triu(x, 1)|np.tril(x, -1)|np.diag(q)
np.trace(x, 1)
np.fft.irfft(c)|np.fft.hfft(c)|np.fft.ihfft(v)|np.fft.fft(x, axis=0)|np.fft.rfft2(x)|np.fft.rfftn(x)
np.fft.ifftn(t)|np.emath.sqrt(v)|np.emath.log(v)|np.lib.stride_tricks.sliding_window_view(v, 3)
np.isnat(m)|m + np.timedelta64(1, "D")|m.min()|np.diff(m)|np.datetime_as_string(m)|np.is_busday(m)
np.busday_count(m, m)|np.ldexp(v, i)|np.add.reduce(x)|np.add.accumulate(v)|np.multiply.outer(v, u)
np.add.reduceat(v, [0, 3, 7])|np.maximum.reduce(x, axis=1)|np.add(v, 1)|np.power(v, 2)
x.sum()|x.mean(axis=0)|x.std()|x.var(axis=1)|x.min()|x.max(axis=0)|x.prod()|x.any()|x.all(axis=0)
x.argmax()|x.argmin(axis=0)|x.argsort(axis=1)|v.argsort()|x.cumsum(axis=0)|v.cumprod()|x.ravel()
x.flatten()
x.reshape(6, 6)|x.reshape((3, 12))|x.reshape(-1)|x.transpose()|t.transpose(1, 0, 2)
t.transpose((2, 1, 0))
x.T|x.swapaxes(0, 1)|x.squeeze()|x.diagonal()|x.trace()|v.take([1, 2])|v.repeat(2)
u.searchsorted(0.3)
v.nonzero()|c.conj()|c.real|c.imag|x.size|x.ndim|x.shape|v.clip(0, 1)|v.round(1)|x.dot(q)
i.astype(float)
v[3]|v[2:7]|v[::2]|v[::-1]|v[[3, 1, 7]]|v[b]|v[-1]|v[None]|v[:, None]|v[...]|x[1]
x[3, :, ...]|x[2, ..., 1]|t[..., 0, :]
x[:, 1]|x[2:9, 1:]
x[::3]|x[[0, 5]]|x[b]|x[d]|x[..., 0]|x[[1, 2], [0, 1]]|x[1, 2]|x[:, [0, 2]]|x[:, ::-1]|t[:, 0]|t[0]
t[..., 1]|t[3:5, :, 0]|v + u|v - 1|2 * v|v / u|v ** 2|v // 2|v % 3|-v|abs(v)|v > u|v == u|v != 1|~b
b & b
b | b|b ^ b|i << 1|i >> 1|+v|divmod(v, 2)|x + v[:, None]|x.T + v|x + q[0]|(v > 0) & (u < 0.5)
v.sum() + 1|(x * y).sum(axis=0)|(x - x.mean(axis=0)) / x.std(axis=0)|np.sqrt((x ** 2).sum(axis=1))
np.exp(-v).mean()|x[x[:, 0] > 0].sum()|float(v.sum())|len(x)
"""


def _more() -> dict[str, str]:
    found = {}
    for line in _MORE.replace("b | b", "b \x00 b").strip().splitlines():
        for text in line.split("|"):
            text = text.replace("\x00", "|").strip()
            if text:
                found[text] = text
    return found


CALLS = [*(_calls() | _more())]
"""Expressions of the arguments."""

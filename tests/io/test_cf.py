"""Variables of NetCDF files are decoded as the CF conventions say: as xarray decodes them."""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path
from typing import Any

import h5netcdf
import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import freestone as fs
from freestone.errors import FormatError, UsageError
from freestone.io.formats.cf import decoding_of

pytestmark = [
    # Of xarray: several fill values, and whatever else is unusual.
    pytest.mark.filterwarnings("ignore::xarray.SerializationWarning"),
    pytest.mark.filterwarnings("ignore:invalid value encountered in cast"),
]

FORMS = {"NETCDF4": "h5netcdf", "NETCDF3_64BIT": "scipy"}
# NetCDF 3 has no others.
STORED = {
    "NETCDF4": ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "f4", "f8"],
    "NETCDF3_64BIT": ["i1", "i2", "i4", "f4", "f8"],
}
REFERENCES = [
    "1970-01-01",
    "1900-1-1 0:0:0",
    "2000-02-29T12:30:15",
    "1850-01-01 00:00:00.5",
    "2001-03-04 05:06:07 +05:30",
    "1999-12-31 23:59:59Z",
]


def put(path: Path, form: str, variable: Any, **others: Any) -> None:
    """Write variables with attributes of their own."""
    dataset = xr.Dataset({"v": variable, **others})
    dataset.to_netcdf(path, engine=FORMS[form], format=form)


def written(path: Path, form: str, variable: Any, **others: Any) -> Any:
    """Write variables with attributes of their own, and return one as xarray decodes it."""
    put(path, form, variable, **others)
    with xr.open_dataset(path, engine=FORMS[form]) as found:
        return found["v"].load()


def read(path: Path, **options: Any) -> Any:
    return fs.read(path, variable="v", **options).compute()


def check_same(found: Any, expected: Any) -> None:
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(found, expected)


def widened(variable: Any) -> Any:
    """Return a variable whose floats are all of 64 bits, so that xarray does not narrow them."""
    dims, values, attributes = variable
    wide = {
        name: np.float64(one) if isinstance(one, np.floating) else one
        for name, one in attributes.items()
    }
    return dims, values.astype("f8") if values.dtype.kind == "f" else values, wide


@st.composite
def variables(draw: st.DrawFn) -> tuple[str, Any]:
    """Draw a form and a variable of numbers, whose attributes say how they are packed."""
    form = draw(st.sampled_from(sorted(FORMS)))
    dtype = np.dtype(draw(st.sampled_from(STORED[form])))
    if dtype.kind == "f":
        one = st.floats(-1e6, 1e6, width=32) | st.sampled_from([np.nan, np.inf, 1e20])
    else:
        # Float64, which xarray compares with fill values, holds no more.
        ends = np.iinfo(dtype) if dtype.itemsize < 8 else np.iinfo(np.int32)
        one = st.integers(ends.min, ends.max) | st.sampled_from([ends.min, ends.max, 0, 1])
    values = np.array(draw(st.lists(one, min_size=1, max_size=6)), dtype)
    attributes: dict[str, Any] = {}
    if draw(st.booleans()):
        fill = draw(st.sampled_from(list(values)))
        attributes[draw(st.sampled_from(["_FillValue", "missing_value"]))] = fill
    for name in ("scale_factor", "add_offset"):
        if draw(st.booleans()):
            wide = draw(st.sampled_from([np.float32, np.float64]))
            attributes[name] = wide(draw(st.sampled_from([0.5, 0.01, 3.0, 273.15])))
    if dtype.kind in "iu" and "missing_value" not in attributes and draw(st.booleans()):
        attributes["_Unsigned"] = draw(st.sampled_from(["true", "false"]))
    return form, (("x",), values, attributes)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(variables())
def test_numbers_as_xarray_decodes_them(drawn: tuple[str, Any]) -> None:
    form, variable = drawn
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "v.nc")
        expected, found = written(path, form, variable).to_numpy(), read(path)
        raw = read(path, decode_cf=False)
        if expected.dtype == np.float32 and found.dtype == np.float64:
            expected = written(path, form, widened(variable)).to_numpy()
        check_same(found, expected)
        np.testing.assert_array_equal(raw, variable[1])
        assert raw.dtype == variable[1].dtype


@st.composite
def times(draw: st.DrawFn) -> tuple[str, Any]:
    """Draw a form and a variable of times."""
    form = draw(st.sampled_from(sorted(FORMS)))
    dtype = np.dtype(draw(st.sampled_from(["i2", "i4", "f4", "f8"])))
    if dtype.kind == "f":
        one = st.floats(-30_000, 30_000, width=32) | st.just(np.nan)
    else:
        one = st.integers(-30_000, 30_000)
    values = np.array(draw(st.lists(one, min_size=1, max_size=6)), dtype)
    units = ["days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "day", "hour"]
    units += [] if dtype.kind == "f" else ["nanoseconds"]
    attributes: dict[str, Any] = {
        "units": f"{draw(st.sampled_from(units))} since {draw(st.sampled_from(REFERENCES))}"
    }
    calendar = draw(st.sampled_from([None, "standard", "gregorian", "proleptic_gregorian"]))
    if calendar is not None:
        attributes["calendar"] = calendar
    if draw(st.booleans()):
        attributes["_FillValue"] = draw(st.sampled_from(list(values)))
    if draw(st.booleans()):
        attributes["scale_factor"] = draw(st.sampled_from([np.float64(0.25), np.float64(2)]))
    return form, (("x",), values, attributes)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(times())
def test_times_as_xarray_decodes_them(drawn: tuple[str, Any]) -> None:
    form, variable = drawn
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "v.nc")
        expected = written(path, form, variable).to_numpy()
        found = read(path)
        assert found.dtype == expected.dtype == np.dtype("M8[ns]")
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("form", FORMS)
def test_texts_of_xarray(tmp_path: Path, form: str) -> None:
    texts = np.array([["Zürich", ""], ["a", "☂☂"]], object)
    for encoding in ({}, {"dtype": "S1"}):
        dataset = xr.Dataset({"v": (("x", "y"), texts, {}, encoding)})
        dataset.to_netcdf(tmp_path / "v.nc", engine=FORMS[form], format=form)
        found = fs.read(tmp_path / "v.nc", variable="v").compute()
        assert found.dtype.kind == "U"
        np.testing.assert_array_equal(found.astype(object), texts)
    expected = written(tmp_path / "b.nc", form, (("x",), np.array([b"ab", b"", b"cde"])))
    check_same(read(tmp_path / "b.nc"), expected.to_numpy())
    raw = read(tmp_path / "b.nc", decode_cf=False)
    assert (raw.shape, raw.dtype) == ((3, 3), np.dtype("S1"))


def test_texts_of_any_length_in_hdf5(two_workers: fs.Cluster, tmp_path: Path) -> None:
    texts = np.array(["north", "", "☂" * 9, "x"] * 5, object)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("v", data=texts, dtype=h5py.string_dtype(), chunks=(3,))
    found = fs.read(tmp_path / "a.h5", dataset="v", block_rows=6).compute()
    assert found.dtype == np.dtype("U9")
    np.testing.assert_array_equal(found.astype(object), texts)


def test_times_of_many_files_each_since_its_own_date(
    two_workers: fs.Cluster, tmp_path: Path
) -> None:
    for year in (2001, 2002):
        times = np.arange(f"{year}-01-01", f"{year}-01-11", dtype="M8[D]").astype("M8[ns]")
        dataset = xr.Dataset({"t": (("time",), np.arange(10.0))}, {"time": times})
        dataset.to_netcdf(tmp_path / f"{year}.nc", engine="h5netcdf")
    found = fs.read(f"{tmp_path}/*.nc", variable="time", block_rows=4)
    assert found.dtype == np.dtype("M8[ns]")
    assert found.compute().astype("M8[D]").astype(str).tolist()[9:11] == [
        "2001-01-10",
        "2002-01-01",
    ]


def test_durations_of_xarray(tmp_path: Path) -> None:
    durations = np.array([1, "NaT", -7200], "m8[s]")
    expected = written(tmp_path / "v.nc", "NETCDF4", (("x",), durations)).to_numpy()
    np.testing.assert_array_equal(read(tmp_path / "v.nc"), expected)
    # Units alone are those of numbers: of a wave's period, say.
    numbers = written(tmp_path / "n.nc", "NETCDF4", (("x",), np.arange(3), {"units": "seconds"}))
    check_same(read(tmp_path / "n.nc"), numbers.to_numpy())


def test_bounds_are_times_as_what_they_bound(tmp_path: Path) -> None:
    units = {"units": "days since 2001-01-01", "bounds": "v", "calendar": "standard"}
    bounds = (("time", "two"), np.arange(6).reshape(3, 2))
    expected = written(tmp_path / "v.nc", "NETCDF4", bounds, t=(("time",), np.arange(3), units))
    check_same(read(tmp_path / "v.nc"), expected.to_numpy())


def test_a_variable_of_a_group(tmp_path: Path) -> None:
    with h5netcdf.File(tmp_path / "g.nc", "w") as file:
        group = file.create_group("product/day")
        group.dimensions["time"] = 3
        packed = group.create_variable("v", ("time",), "i2", data=np.array([1, 2, -9], "i2"))
        packed.attrs["_FillValue"] = np.int16(-9)
    found = fs.read(tmp_path / "g.nc", variable="product/day/v").compute()
    np.testing.assert_array_equal(found, [1, 2, np.nan])
    np.testing.assert_array_equal(fs.read(tmp_path / "g.nc").compute(), found)
    with pytest.raises(UsageError, match="did you mean 'product/day/v'"):
        fs.read(tmp_path / "g.nc", variable="product/day/w")


@pytest.mark.parametrize(
    ("units", "calendar", "value", "date"),
    [
        # The reanalysis of NCEP: dates before 1582-10-15 are those of the Julian calendar.
        ("hours since 1-1-1 00:00:0.0", "standard", 17067072, "1948-01-01"),
        ("days since 0001-01-01", "proleptic_gregorian", 711126, "1948-01-01"),
        ("days since 1582-10-15", "gregorian", 141427, "1970-01-01"),
        ("days since 1582-10-04", "gregorian", 141428, "1970-01-01"),
        ("days since 1582-10-14", "proleptic_gregorian", 141428, "1970-01-01"),
    ],
)
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_dates_that_need_more_than_64_bits_of_nanoseconds(
    tmp_path: Path, dtype: Any, units: str, calendar: str, value: int, date: str
) -> None:
    attributes = {"units": units, "calendar": calendar}
    dataset = xr.Dataset({"v": (("x",), np.array([value], dtype), attributes)})
    dataset.to_netcdf(tmp_path / "v.nc", engine="h5netcdf")
    assert read(tmp_path / "v.nc").astype("M8[D]").astype(str).tolist() == [date]


def test_a_fill_value_of_another_type_is_missing(tmp_path: Path) -> None:
    """Xarray compares 32-bit floats with a double, which none of them is."""
    for name in ("_FillValue", "missing_value"):
        values = np.array([1, 1e20], np.float32)
        written(tmp_path / "v.nc", "NETCDF4", (("x",), values, {name: np.float64(1e20)}))
        np.testing.assert_array_equal(read(tmp_path / "v.nc"), np.array([1, np.nan], "f4"))
    attributes = {"missing_value": np.int8(-1), "_Unsigned": "true"}
    written(tmp_path / "u.nc", "NETCDF4", (("x",), np.array([1, -1, -2], "i1"), attributes))
    np.testing.assert_array_equal(read(tmp_path / "u.nc"), np.array([1, np.nan, 254], "f4"))


@pytest.mark.parametrize(
    ("units", "calendar"),
    [
        ("days since 2001-01-01", "noleap"),
        ("days since 2001-01-01", "360_day"),
        ("months since 2001-01-01", "standard"),
        ("days since 2001-02-30", "standard"),
        ("days since the flood", "standard"),
    ],
)
def test_times_that_are_no_datetime64_are_refused(
    tmp_path: Path, units: str, calendar: str
) -> None:
    attributes = {"units": units, "calendar": calendar}
    dataset = xr.Dataset({"v": (("x",), np.arange(3), attributes)})
    dataset.to_netcdf(tmp_path / "v.nc", engine="h5netcdf")
    with pytest.raises(UsageError, match=r"decode_cf=False reads the numbers"):
        read(tmp_path / "v.nc")
    np.testing.assert_array_equal(read(tmp_path / "v.nc", decode_cf=False), np.arange(3))


@pytest.mark.parametrize("value", [400_000, -400_000, np.inf, 1e300, 2**62])
def test_times_out_of_range_are_refused(tmp_path: Path, value: float) -> None:
    attributes = {"units": "days since 1970-01-01"}
    dataset = xr.Dataset({"v": (("x",), np.array([0, value]), attributes)})
    dataset.to_netcdf(tmp_path / "v.nc", engine="h5netcdf")
    with pytest.raises(FormatError, match="no time of its calendar"):
        read(tmp_path / "v.nc")


@pytest.mark.parametrize("time_unit", ["s", "ms", "us"])
@pytest.mark.parametrize("form", sorted(FORMS))
def test_times_of_other_units_as_xarray_decodes_them(
    tmp_path: Path, form: str, time_unit: str
) -> None:
    coder = xr.coders.CFDatetimeCoder(time_unit=time_unit)
    for units, calendar in (
        ("days since 2000-01-01", "standard"),
        ("hours since 1583-1-1 06:30:07", "gregorian"),
        ("seconds since 0001-1-1", "proleptic_gregorian"),
    ):
        attributes = {"units": units, "calendar": calendar}
        put(tmp_path / "v.nc", form, (("x",), np.array([0, 900_000], "i4"), attributes))
        with xr.open_dataset(tmp_path / "v.nc", decode_times=coder) as dataset:
            expected = dataset["v"].to_numpy()
        found = read(tmp_path / "v.nc", time_unit=time_unit)
        assert found.dtype == expected.dtype == np.dtype(f"M8[{time_unit}]")
        np.testing.assert_array_equal(found, expected)


def test_times_of_floats_are_rounded_to_their_unit(tmp_path: Path) -> None:
    values = np.array([1 / 3, -500_000.1, np.nan])
    put(tmp_path / "v.nc", "NETCDF4", (("x",), values, {"units": "days since 3000-01-01"}))
    expected = np.datetime64("3000-01-01", "s") + np.array([28_800, -43_200_008_640], "m8[s]")
    np.testing.assert_array_equal(read(tmp_path / "v.nc", time_unit="s")[:2], expected)
    assert np.isnat(read(tmp_path / "v.nc", time_unit="s")[2])


def test_units_and_dates_that_times_of_another_unit_do_not_have(tmp_path: Path) -> None:
    path = tmp_path / "v.nc"
    put(path, "NETCDF4", (("x",), np.array([-1]), {"units": "ms since 1970-01-01"}))
    with pytest.raises(UsageError, match="'s' would lose digits; time_unit='ms' keeps them"):
        read(path, time_unit="s")
    before = datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000)
    assert read(path, time_unit="ms").tolist() == [before]
    # The day before 1582-10-15 is 1582-10-04, which is no date of datetime64's.
    days = np.array([-1, 0])
    put(path, "NETCDF4", (("x",), days, {"units": "days since 1582-10-15"}))
    with pytest.raises(FormatError, match="no time of its calendar"):
        read(path, time_unit="s")
    with pytest.raises(UsageError, match="'h': it is one of 's', 'ms', 'us', 'ns'"):
        read(path, time_unit="h")
    with pytest.raises(UsageError, match="leave one out"):
        read(path, time_unit="s", decode_cf=False)


@pytest.mark.parametrize("dtype", ["i8", "f8"])
@pytest.mark.parametrize("time_unit", ["s", "ms", "us", "ns"])
def test_times_are_of_a_coarser_unit_than_their_file_s_where_they_lose_no_digits(
    tmp_path: Path, dtype: str, time_unit: str
) -> None:
    path, since = tmp_path / "v.nc", {"units": "milliseconds since 2000-01-01", "_FillValue": -7}
    put(path, "NETCDF4", (("x",), np.array([-1000, 0, 2**40 * 1000, -7], dtype), since))
    expected = np.datetime64("2000-01-01", "s") + np.array([-1, 0, 2**40, "NaT"], "m8[s]")
    if time_unit == "ns":
        with pytest.raises(FormatError, match=r"1677-09-21.* time_unit='ms' has it"):
            read(path, time_unit=time_unit)
    else:
        found = read(path, time_unit=time_unit)
        assert found.dtype == np.dtype(f"M8[{time_unit}]")
        np.testing.assert_array_equal(found, expected)
    put(path, "NETCDF4", (("x",), np.array([1000, -7, 1500], dtype), since))
    expected = np.datetime64("2000-01-01", "ms") + np.array([1000, "NaT", 1500], "m8[ms]")
    if time_unit == "s":
        with pytest.raises(UsageError, match=r"has 1500.* lose digits; time_unit='ms' keeps them"):
            read(path, time_unit=time_unit)
    else:
        np.testing.assert_array_equal(read(path, time_unit=time_unit), expected)


def test_reference_dates_of_fractions_and_durations_of_a_coarser_unit(tmp_path: Path) -> None:
    path = tmp_path / "v.nc"
    since = {"units": "ms since 2000-01-01 00:00:00.5"}
    put(path, "NETCDF4", (("x",), np.array([500, -500]), since))
    expected = np.datetime64("2000-01-01", "s") + np.array([1, 0])
    np.testing.assert_array_equal(read(path, time_unit="s"), expected)
    durations = {"units": "milliseconds", "dtype": "timedelta64[ms]"}
    with h5netcdf.File(path, "w") as file:
        file.dimensions["x"] = 2
        file.create_variable("v", ("x",), data=np.array([3000, -1000])).attrs.update(durations)
    np.testing.assert_array_equal(read(path, time_unit="s"), np.array([3, -1], "m8[s]"))
    assert read(path, time_unit="ns").dtype == np.dtype("m8[ns]")


def test_weeks_are_seven_days(tmp_path: Path) -> None:
    attributes = {"units": "weeks since 2001-01-01"}
    put(tmp_path / "v.nc", "NETCDF4", (("x",), np.arange(3), attributes))
    expected = np.array(["2001-01-01", "2001-01-08", "2001-01-15"], "M8[ns]")
    np.testing.assert_array_equal(read(tmp_path / "v.nc"), expected)


def test_a_text_of_another_encoding_is_refused(tmp_path: Path) -> None:
    for encoding in ("utf-8", "no such one"):
        dataset = xr.Dataset({"v": (("x",), np.array([b"\xff\xfe"]), {"_Encoding": encoding})})
        dataset.to_netcdf(tmp_path / "v.nc", engine="h5netcdf")
        with pytest.raises(FormatError, match=r"v\.nc.*'v'"):
            read(tmp_path / "v.nc")


def other(attrs: dict[str, Any], dims: tuple[str, ...] = ("t", "y"), y: Any = (1, 2, 3)) -> Any:
    xr = pytest.importorskip("xarray")
    shape = {"t": 2, "y": 3}
    values = np.arange(6.0).reshape([shape.get(name, 3) for name in dims])
    coords = {} if y is None else {"y": list(y)}
    return xr.Dataset({"v": (dims, values, attrs)}, coords=coords)


@pytest.mark.parametrize("form", ["NETCDF4", "NETCDF3_CLASSIC"])
@pytest.mark.parametrize(
    ("dataset", "reason"),
    [
        (lambda: other({"units": "degC"}), "its units are degC, and the other's K"),
        (
            lambda: other({"units": "K"}, ("t", "z")),
            "its dimensions are t, z, and the other's t, y",
        ),
        (lambda: other({"units": "K"}, y=(3, 2, 1)), "its coordinates along 'y' are others"),
    ],
)
def test_files_that_mean_something_else_are_not_joined(
    tmp_path: Path, form: Any, dataset: Any, reason: str
) -> None:
    engine = "h5netcdf" if form == "NETCDF4" else "scipy"
    for name, one in (("a", other({"units": "K"})), ("b", dataset())):
        one.to_netcdf(tmp_path / f"{name}.nc", format=form, engine=engine)
    with pytest.raises(fs.errors.SchemaError, match=f"{reason}; read them apart"):
        fs.read(tmp_path, variable="v")
    # What a file does not say goes with anything.
    for name, one in (("a", other({}, y=None)), ("b", other({"units": "K"}))):
        one.to_netcdf(tmp_path / f"{name}.nc", format=form, engine=engine)
    assert fs.read(tmp_path, variable="v").shape == (4, 3)


@pytest.mark.parametrize("encoding", [{}, {"_Encoding": "utf-8"}])
def test_texts_longer_than_numpys_are_refused(encoding: dict[str, str]) -> None:
    attributes: dict[str, object] = {**encoding}
    longest = 2**29 - 1
    decoding_of("x.nc", "names", np.dtype("S1"), (2, longest), attributes)
    with pytest.raises(FormatError, match=rf"'names' have {longest + 1} characters each"):
        decoding_of("x.nc", "names", np.dtype("S1"), (2, longest + 1), attributes)

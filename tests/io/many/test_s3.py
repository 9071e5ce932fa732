"""Many objects of an S3 server, which runs in this process and is real to s3fs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from moto.server import ThreadedMotoServer

import freestone as fs
from freestone.errors import FileError, FileMissingError


@pytest.fixture(scope="module")
def store() -> Iterator[object]:
    """A file system with one bucket, in a server on loopback that all processes are led to."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "user")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("FSSPEC_S3_ENDPOINT_URL", f"http://{host}:{port}")
        import fsspec

        patch.setitem(fsspec.config.conf, "s3", {"endpoint_url": f"http://{host}:{port}"})
        files = fsspec.filesystem("s3")
        files.mkdir("bucket")
        yield files
    server.stop()


@pytest.fixture(scope="module")
def workers(store: object) -> Iterator[fs.Cluster]:
    """Two workers that know where the server is."""
    with fs.Cluster(workers=2, executors=1, memory="256MiB", disk="1GiB") as cluster:
        yield cluster


def test_a_data_set_is_written_and_read(workers: fs.Cluster) -> None:
    for year in (2023, 2024):
        for number in range(3):
            rows = {"x": np.arange(4.0) + 10 * number, "n": [number] * 4}
            url = f"s3://bucket/data/year={year}/{number}.parquet"
            fs.write(fs.Frame.from_table(rows, 4), url)
    found = fs.read("s3://bucket/data/", columns=["year", "x"], where=[("x", ">=", 23)])
    assert found.compute().to_pydict() == {"year": [2023, 2024], "x": [23.0, 23.0]}
    assert len(fs.read("s3://bucket/data").compute()) == 24
    found = fs.read("s3://bucket/data/year=2024/*.parquet")
    assert found.compute()["n"].to_pylist() == [0] * 4 + [1] * 4 + [2] * 4
    assert found.columns == ("x", "n")


def test_text(workers: fs.Cluster, store: object) -> None:
    for number in range(3):
        store.pipe_file(f"bucket/text/{number}.csv", b"x,y\n%d,a\n" % number)  # type: ignore[attr-defined]
    assert fs.read("s3://bucket/text/").compute()["x"].to_pylist() == [0, 1, 2]


def test_what_is_not_there(workers: fs.Cluster) -> None:
    with pytest.raises(FileMissingError, match=r"s3://bucket/no/\*\.csv matches no file"):
        fs.read("s3://bucket/no/*.csv")
    with pytest.raises(FileMissingError, match=r"s3://bucket/none\.csv"):
        fs.read("s3://bucket/none.csv")
    with pytest.raises(FileError, match=r"s3://nobody-has-this/a\.parquet"):
        fs.read("s3://nobody-has-this/a.parquet")
    with pytest.raises(FileError, match=r"s3://nobody-has-this/"):
        fs.read("s3://nobody-has-this/*.parquet")
    with pytest.raises(FileError, match=r"s3://nobody-has-this/a\.parquet"):
        fs.write(fs.Frame.from_table({"x": [1]}, 1), "s3://nobody-has-this/a.parquet")

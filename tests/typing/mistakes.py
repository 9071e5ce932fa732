"""Typical mistakes: checkers find each, and complain about a comment here where they do not."""

import freestone as fs


@fs.task
def half(x: int) -> float:
    return x / 2


def length(text: str) -> int:
    return len(text)


def of_clusters() -> None:
    fs.Cluster(n_workers=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    fs.connect("lab", memroy="1GiB")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    fs.Cluster(workers="many")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def of_tasks() -> None:
    half("4")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    half(1, 2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    half(y=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    half.options(retry=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    fs.task(keep="always")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


def of_results(cluster: fs.Cluster) -> None:
    text: str = half(4).result()  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    count: str = cluster.submit(length, text).result()  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    cluster.submit(length, count).result(timeout=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    lengths = cluster.gather(cluster.map(length, ["a"]))
    lengths[0].upper()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    cluster.map(length, ["a"], keeps="task")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def of_options(cluster: fs.Cluster) -> None:
    cluster.submit(length, "a", keep="sesion")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    cluster.submit(length, "a", isolation="thread")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    cluster.put(1, keep="ever")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

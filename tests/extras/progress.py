"""A bar of all tasks."""

import rich

import freestone as fs

if __name__ == "__main__":
    assert rich.get_console()
    with fs.Cluster(executors=1, progress=True) as cluster:
        assert cluster.gather(cluster.map(abs, [-1, -2])) == [1, 2]

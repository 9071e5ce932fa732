"""A scheme of loops: three quarters of the rows in even shares, the rest in small tasks."""

from collections.abc import Iterator


class Hybrid:
    """Few tasks to begin with, and small ones that even out what the first ones took."""

    def sizes(self, rows: int, workers: int) -> Iterator[int]:
        """Yield one share for each worker, then a sixteenth of one for as long as rows are left."""
        share = max(3 * rows // (4 * workers), 1)
        for _ in range(workers):
            yield share
        while True:
            yield max(share // 16, 1)


HYBRID = Hybrid()

"""Generators that run on a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from freestone.client import streams
from freestone.client.options import CallOptions
from freestone.client.streams import Stream

if TYPE_CHECKING:
    from freestone.client.local import LocalClient

__all__ = ["Streaming"]

T = TypeVar("T")


class Streaming:
    """Runs generators; a part of `Session`."""

    client: LocalClient

    def stream(
        self,
        function: Callable[..., Iterable[T] | AsyncIterable[T]],
        /,
        *args: Any,
        look_ahead: int = 16,
        **options: Unpack[CallOptions],
    ) -> Stream[T]:
        """Run a generator on a worker; futures of what it yields come while it runs.

        Parameters
        ----------
        function
            A function that yields, async or not, or returns an iterator.
        *args
            Its arguments, as for `submit`.
        look_ahead
            How many elements may be there that were not taken. When there are so many, and it has
            made one more, the generator waits, and takes no cores meanwhile.
        **options
            Those of `submit`, except `keep`, `replicas` and `environment`. With ``pure=False`` the
            generator may give other elements each time that it runs; ``timeout_s`` counts while it
            waits, too.

        Returns
        -------
        Stream
            For ``for`` and ``async for``: a future of each element, in order.

        Raises
        ------
        Exception
            By ``for``: what the generator has raised, after all elements that came before.
        StreamRestartedError
            By ``for``: with ``pure=False``, when the generator's worker was lost, or it was tried
            again, after elements were taken; and when one that was tried again has given fewer.

        Notes
        -----
        The generator is closed, so that its ``finally`` blocks run, when the stream is: by
        `Stream.close`, and when nothing refers to the stream any more.

        If its worker is lost it runs again from the start, and the stream goes on with the first
        element that has not been taken.

        An element costs its generator a message to the manager and the answer, and who takes it
        two. Calls that are given its future run where the element is.

        Examples
        --------
        >>> import freestone as fs
        >>> def squares(n):
        ...     for k in range(n):
        ...         yield k * k
        >>> with fs.Cluster(executors=2) as cluster:
        ...     roots = [cluster.submit(pow, square, 0.5) for square in cluster.stream(squares, 4)]
        ...     cluster.gather(roots)
        [0.0, 1.0, 2.0, 3.0]
        """
        return streams.stream(self.client, function, args, look_ahead, options)

"""What a cluster's live page reports, for programs that show it elsewhere than in a browser."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from freestone.errors import UsageError

__all__ = ["PageReader"]

_TIMEOUT_S = 30.0


class PageReader:
    """Asks a page for its data.

    Parameters
    ----------
    link
        Its address, with the token: `Cluster.dashboard_link`.

    Raises
    ------
    UsageError
        When the text is no such address.
    """

    def __init__(self, link: str) -> None:
        parts = urlsplit(link)
        if parts.scheme != "http" or not parts.hostname or not parts.path.strip("/"):
            raise UsageError(
                f"{link!r} is no page's address, which is like http://127.0.0.1:8787/TOKEN/"
            )
        self._netloc, self._path = parts.netloc, parts.path.rstrip("/")

    def ask(self, question: str) -> Any:
        """Return what the page reports.

        Parameters
        ----------
        question
            Such as ``summary``; what is not known there is refused.

        Raises
        ------
        UsageError
            When the page refuses to answer.
        ConnectionError
            When the cluster has ended, or nothing answers there.
        """
        connection = http.client.HTTPConnection(self._netloc, timeout=_TIMEOUT_S)
        try:
            connection.request("GET", f"{self._path}/data/{question}")
            response = connection.getresponse()
            body = response.read()
        except http.client.HTTPException as error:
            raise ConnectionError(f"the page's connection broke: {error!r}") from error
        except OSError as error:
            raise ConnectionError(
                f"no page answers at {self._netloc} ({error}): its program has ended, or the port "
                "is not forwarded"
            ) from error
        finally:
            connection.close()
        if response.status == http.client.GONE:
            raise ConnectionError("the cluster is closed")
        if response.status != http.client.OK:
            reason = body.decode(errors="replace").strip()
            raise UsageError(f"the page at {self._netloc} refused: {reason}; is the address whole?")
        return json.loads(body)

"""Ports for servers whose address has to be known before they start."""

import random
import socket
from contextlib import ExitStack

# The system takes the ports of connections from 32768 on: one of those can be taken again between
# the moment at which it is found free and the start of the server.
_RANGE = range(10_000, 32_768)


def free_ports(count: int) -> list[int]:
    """Return different ports of loopback at which nobody listens."""
    ports: list[int] = []
    with ExitStack() as servers:
        for port in random.SystemRandom().sample(_RANGE, len(_RANGE)):
            if len(ports) == count:
                break
            try:
                servers.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            ports.append(port)
    return ports

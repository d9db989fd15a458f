"""Servers that receive alerts: HTTP and SMTP, on this machine."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from web_server import Web, listening

with warnings.catch_warnings():
    # of Python 3.11, for which everything here is made
    warnings.simplefilter("ignore", DeprecationWarning)
    import asyncore
    import smtpd


@pytest.fixture
def web() -> Iterator[Web]:
    with listening() as server:
        yield server


@dataclass
class Mailbox:
    """A mail server: the messages that it took, as bytes."""

    port: int = 0
    received: list[bytes] = field(default_factory=list)


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    found = Mailbox()

    class Server(smtpd.SMTPServer):
        def process_message(self, *args: Any, **_: Any) -> None:
            found.received.append(args[3])

    sockets: dict[int, Any] = {}
    server = Server(("127.0.0.1", 0), None, map=sockets)
    found.port = server.socket.getsockname()[1]
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            asyncore.loop(timeout=0.01, map=sockets, count=1)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield found
    ended.set()
    thread.join()
    asyncore.close_all(sockets)

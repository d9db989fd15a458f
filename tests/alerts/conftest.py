"""Servers that receive alerts: HTTP and SMTP, on this machine."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

with warnings.catch_warnings():
    # of Python 3.11, for which everything here is made
    warnings.simplefilter("ignore", DeprecationWarning)
    import asyncore
    import smtpd


@dataclass
class Web:
    """A server that answers every request with ``status``: what it received, by path."""

    port: int = 0
    status: int = 200
    received: list[tuple[str, Any]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    """Of its answers."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def taken(self) -> list[tuple[str, Any]]:
        """What came since the last call."""
        taken, self.received = self.received, []
        return taken


@pytest.fixture
def web() -> Iterator[Web]:
    found = Web()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            found.received.append((self.path, json.loads(content)))
            self.send_response(found.status)
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def do_GET(self) -> None:
            found.received.append((self.path, None))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield found
        server.shutdown()


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

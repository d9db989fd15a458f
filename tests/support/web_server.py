"""An HTTP server on this machine that receives alerts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


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


@contextmanager
def listening() -> Iterator[Web]:
    """A server that has been started, and is stopped at the end."""
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

"""A server of HTTP in front of another one, which answers 503 instead as often as a test wants, and 401 to
those who have no token.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class Failing:
    """``refused``: which requests, by method and path, are answered by 503; ``count``: how many were;
    ``token``: what a request must bring, where there is one.
    """

    port: int = 0
    token: str = ""
    refused: str | None = None
    at_most: int = 1 << 30
    count: int = 0
    lines: list[str] = field(default_factory=list)

    def refuses(self, line: str) -> bool:
        """Whether this request fails."""
        self.lines.append(line)
        if self.refused is None or self.refused not in line or self.count >= self.at_most:
            return False
        self.count += 1
        return True

    def lacks_token(self, path: str, given: str | None) -> bool:
        """Whether this request needs the token, and has not brought it."""
        return bool(self.token) and "/oauth/" not in path and given != f"Bearer {self.token}"


@contextmanager
def failing(port: int) -> Iterator[Failing]:
    """In front of the server at this port of loopback."""
    state = Failing()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16
        disable_nagle_algorithm = True

        def do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if state.refuses(f"{self.command} {self.path}"):
                status, headers, data = 503, [], b""
            elif state.lacks_token(self.path, self.headers.get("Authorization")):
                status, headers, data = 401, [], b""
            else:
                upstream = HTTPConnection("127.0.0.1", port, timeout=30)
                upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    upstream.putheader(name, value)
                upstream.endheaders(body)
                answer = upstream.getresponse()
                status, headers, data = answer.status, answer.getheaders(), answer.read()
                upstream.close()
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    self.send_header(name, value)
            length = dict(headers).get("Content-Length") if self.command == "HEAD" else None
            self.send_header("Content-Length", length or str(len(data)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    for method in ("GET", "HEAD", "POST", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.do)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.port = server.server_address[1]
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()

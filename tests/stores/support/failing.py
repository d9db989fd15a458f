"""A server of HTTP in front of another one, which answers 503 instead as often as a test wants, and 401 to
those who have no token. Or it fails in other ways for a while.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

Answer = tuple[int, list[tuple[str, str]], bytes]
"""Status, headers and body."""
_XML = [("Content-Type", "application/xml")]
OUTAGES: dict[str, Answer] = {
    "500": (500, _XML, b"<Error><Code>InternalError</Code><Message>We erred.</Message></Error>"),
    "503": (503, _XML, b"<Error><Code>ServiceUnavailable</Code><Message>Later.</Message></Error>"),
    "slow down": (503, _XML, b"<Error><Code>SlowDown</Code><Message>Reduce your rate.</Message></Error>"),
    "closed": (503, _XML, b""),
}
"""What S3 answers when it fails."""
UNANSWERED = ("closed", "done and closed")
BROKEN = (*UNANSWERED, "cut")
"""The connection ends: before the request is done, after it, and in the middle of the answer."""
_SPARED = 0.1
"""So many requests are answered during an outage: what has just begun to work fails again."""


@dataclass
class Failing:
    """``refused``: which requests, by method and path, are answered by 503; ``count``: how many were;
    ``token``: what a request must bring, where there is one. ``outage``: one of OUTAGES or BROKEN, which
    befalls most requests as long as it is set.
    """

    port: int = 0
    token: str = ""
    refused: str | None = None
    at_most: int = 1 << 30
    outage: str | None = None
    count: int = 0
    lines: list[str] = field(default_factory=list)

    def refuses(self, line: str) -> bool:
        """Whether this request fails."""
        self.lines.append(line)
        if self.refused is None or self.refused not in line or self.count >= self.at_most:
            return False
        self.count += 1
        return True

    def befalls(self) -> str | None:
        """How this request fails, if there is an outage."""
        outage = self.outage
        if outage is None or random.random() < _SPARED:
            return None
        self.count += 1
        return outage

    def lacks_token(self, path: str, given: str | None) -> bool:
        """Whether this request needs the token, and has not brought it."""
        return bool(self.token) and "/oauth/" not in path and given != f"Bearer {self.token}"


class _Handler(BaseHTTPRequestHandler):
    """Answers as the state says; subclasses have it, and the port of the server behind."""

    state: Failing
    upstream: int
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def do(self) -> None:
        body = self.body()
        outage = self.state.befalls()
        answer = OUTAGES.get(outage or "")
        try:
            status, headers, data = answer or self.answer(body)
        except (OSError, HTTPException):  # the server itself is gone
            self.close_connection = True
            return
        if outage in BROKEN:
            self.close_connection = True
        if outage not in UNANSWERED:
            self.send(status, headers, data, len(data) // 2 if outage == "cut" else len(data))

    def body(self) -> bytes:
        """The body of this request, in chunks if it came so."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks = []
        while chunks[-1:] != [b"\r\n"]:
            chunks.append(self.rfile.readline())
            chunks.append(self.rfile.read(int(chunks[-1], 16)) + self.rfile.readline())
        return b"".join(chunks)

    def handle_expect_100(self) -> bool:
        """Who asks whether to send a body is answered at once."""
        said = super().handle_expect_100()
        self.wfile.flush()
        return said

    def send(self, status: int, headers: list[tuple[str, str]], data: bytes, end: int) -> None:
        """Send an answer whose body ends too soon, maybe."""
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        is_head = self.command == "HEAD"
        length = dict(headers).get("Content-Length") if is_head else None
        self.send_header("Content-Length", length or str(len(data)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(b"" if is_head else data[:end])

    def answer(self, body: bytes) -> Answer:
        """What is answered unless there is an outage."""
        if self.state.refuses(f"{self.command} {self.path}"):
            return 503, [], b""
        if self.state.lacks_token(self.path, self.headers.get("Authorization")):
            return 401, [], b""
        connection = HTTPConnection("127.0.0.1", self.upstream, timeout=30)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        headers, data = answer.getheaders(), answer.read()
        connection.close()
        return answer.status, headers, data

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def failing(port: int) -> Iterator[Failing]:
    """In front of the server at this port of loopback."""
    state = Failing()
    methods = {f"do_{method}": _Handler.do for method in ("GET", "HEAD", "POST", "PUT", "DELETE")}
    handler = type("Handler", (_Handler,), {"state": state, "upstream": port, **methods})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    state.port = server.server_address[1]
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()

"""A small Kafka client that can send any request, at any time, in any version.

A real client never sends a stale epoch on purpose; a test of fencing must.
"""

from __future__ import annotations

import itertools
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from messages import Api, Message, Reader, WireError, api, decode, encode, within

_API_VERSIONS = 18


@dataclass
class Connection:
    """One connection of one client to one broker. With separate ``send`` and ``receive`` requests can race.

    ``ids`` are the correlation ids; the connections of one client can share them.
    """

    host: str
    port: int
    client_id: str
    clients_jar: Path
    timeout: float = 30.0
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1), repr=False)
    _socket: socket.socket = field(init=False, repr=False)
    _waiting: list[tuple[int, Api, int]] = field(init=False, default_factory=list, repr=False)
    _introduced: bool = field(init=False, default=True, repr=False)

    def __post_init__(self) -> None:
        self._socket = socket.create_connection((self.host, self.port), self.timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, name: str, version: int, message: Message) -> int:
        """Send a request, without waiting; returns its correlation id."""
        called = api(self.clients_jar, name)
        schema = called.request
        flexible = within(version, schema.flexible)
        correlation_id = next(self.ids)
        client = self.client_id.encode()
        head = struct.pack(">hhih", schema.api_key, version, correlation_id, len(client)) + client
        data = head + (b"\0" if flexible else b"") + encode(schema.fields, message, version, flexible)
        self._socket.sendall(struct.pack(">i", len(data)) + data)
        self._waiting.append((correlation_id, called, version))
        return correlation_id

    def introduce(self, software: str, version: str) -> None:
        """Send ApiVersions with the client's name as the first request; a paused broker answers it later."""
        self.send("ApiVersions", 3, {"ClientSoftwareName": software, "ClientSoftwareVersion": version})
        self._introduced = False

    def receive(self) -> Message:
        """The answer to the oldest request that still waits for one (Kafka answers in order)."""
        if not self._introduced:
            self._introduced = True
            self.receive()
        correlation_id, called, version = self._waiting.pop(0)
        reader = Reader(self._exactly(struct.unpack(">i", self._exactly(4))[0]))
        answered = reader.fixed(">i")
        if answered != correlation_id:
            raise WireError(f"expected the answer to request {correlation_id}, got {answered}")
        flexible = within(version, called.response.flexible)
        if flexible and called.response.api_key != _API_VERSIONS:
            for _ in range(reader.varint()):
                reader.varint()
                reader.take(reader.varint())
        return decode(called.response.fields, reader, version, flexible)

    def call(self, name: str, version: int, message: Message) -> Message:
        """Send a request and wait for its answer."""
        self.send(name, version, message)
        return self.receive()

    def give_up(self) -> None:
        """From now on read only answers that have arrived: wait for none."""
        self._socket.settimeout(0.05)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise WireError(f"{self.host}:{self.port} closed the connection of {self.client_id!r}")
            data += part
        return bytes(data)

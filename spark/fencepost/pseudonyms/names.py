"""Pseudonyms: keyed digests in place of the names of clients, hosts and principals.

The same name has the same pseudonym in every table, protocol, machine and run, so what joins by names still
does. Without the key nobody can compute a pseudonym, or check a guess.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

NameKind = Literal["client_ids", "hosts", "principals"]
KINDS: tuple[NameKind, ...] = ("client_ids", "hosts", "principals")
_DIGITS = 16
"""64 bits: of a million names, two have the same pseudonym with a chance of one in 30 million."""

_MEMBER = re.compile(r"(.+)(-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.DOTALL)
# what Kafka Streams puts behind its client.id for a thread, and for the clients of the thread
_THREAD = re.compile(
    r"(.+)(-(?:StreamThread-\d+(?:-(?:consumer|restore-consumer|producer|\d+_\d+-producer))?"
    r"|StateUpdater-\d+|CleanupThread|GlobalStreamThread|global-consumer))",
    re.DOTALL | re.ASCII,
)
# names that Kafka gives its own clients, and those without a client.id: they are the same everywhere
_KAFKAS_OWN = re.compile(
    r"(?:AddPartitionsManager-client|Persister-client|adminclient|producer|raft-client)-\d+"
    r"|broker-\d+-(?:fetcher-\d+|txn-marker-sender|to-controller-[a-z]+(?:-[a-z]+)?-channel-manager)",
    re.ASCII,
)
_WORKERS_ADMIN = "connector-worker-adminclient-"
_CONNECTION = re.compile(r"(.*):(\d+)-(.*):(\d+)-(\d+(?:-\d+)?)", re.DOTALL | re.ASCII)
_USER = "User:"
_NOBODY = ("ANONYMOUS", "*")
_EVERY_HOST = "*"


@dataclass(frozen=True)
class Pseudonyms:
    """Replaces names. ``of``: which of KINDS; names of the others stay as they are.

    Empty names stay empty, and null stays null: neither names anything.
    """

    key: str = field(repr=False)
    of: tuple[NameKind, ...] = KINDS

    @property
    def fingerprint(self) -> str:
        """By which a lake knows the key again, and of what names it has pseudonyms."""
        return f"{_digest(self.key, 'fingerprint', '')} of {', '.join(sorted(self.of))}"

    def client(self, name: str) -> str:
        """Of a client.id or a group.instance.id, since both name a client. Kafka's own clients keep their
        names, and those of Kafka Streams what it puts behind its client.id.
        """
        if "client_ids" not in self.of or not name or _KAFKAS_OWN.fullmatch(name):
            return name
        if name.startswith(_WORKERS_ADMIN):
            return _WORKERS_ADMIN + self._named("client", name.removeprefix(_WORKERS_ADMIN))
        if thread := _THREAD.fullmatch(name):
            return self._named("client", thread[1]) + thread[2]
        return self._named("client", name)

    def member(self, member_id: str) -> str:
        """Of a member id: the client's pseudonym and the uuid that the coordinator put behind it, or a
        pseudonym of the whole, which a client may have chosen.
        """
        if "client_ids" not in self.of or not member_id:
            return member_id
        if classic := _MEMBER.fullmatch(member_id):
            return self.client(classic[1]) + classic[2]
        return self._named("member", member_id)

    def host(self, host: str) -> str:
        """Of a name or an address. ``/address`` and ``name/address`` (Java's InetAddress) keep their form."""
        if "hosts" not in self.of:
            return host
        return "/".join(
            each if each in ("", _EVERY_HOST) else self._named("host", each) for each in host.split("/")
        )

    def principal(self, principal: str) -> str:
        """Of ``User:name``; its type stays, and so do User:ANONYMOUS and ``*``, who are nobody."""
        if "principals" not in self.of or not principal:
            return principal
        kind, name = (_USER if principal.startswith(_USER) else ""), principal.removeprefix(_USER)
        return kind + (name if name in _NOBODY else self._named("user", name))

    def connection(self, connection: str) -> str:
        """Of the hosts of a connection; its ports and its number stay."""
        if "hosts" not in self.of or not connection:
            return connection
        if parts := _CONNECTION.fullmatch(connection):
            local, port, remote, remote_port, number = parts.groups()
            return f"{self.host(local)}:{port}-{self.host(remote)}:{remote_port}-{number}"
        return self._named("connection", connection)

    def digest(self, digest: str) -> str:
        """Of a digest, as long as SHA-256's."""
        return _digest(self.key, "digest", digest, 64)

    def path(self, path: str) -> str:
        """Of a path of a client's machine."""
        return self._named("path", path) if path else path

    def _named(self, kind: str, name: str) -> str:
        return f"{kind}-{_digest(self.key, kind, name)}"


@lru_cache(1 << 16)
def _digest(key: str, kind: str, name: str, digits: int = _DIGITS) -> str:
    # a name that is no text may have half of a surrogate pair
    told = f"{kind}|{name}".encode("utf-8", "surrogatepass")
    return hmac.digest(key.encode(), told, "sha256").hex()[:digits]


_OF = {
    "client": Pseudonyms.client,
    "member": Pseudonyms.member,
    "host": Pseudonyms.host,
    "principal": Pseudonyms.principal,
}
NAMED = tuple(_OF)
"""What a name may be of."""


def of_name(pseudonyms: Pseudonyms, kind: str, names: Iterable[str]) -> list[str]:
    """The pseudonyms of names of one of NAMED, as the lake has them."""
    return [_OF[kind](pseudonyms, name) for name in names]

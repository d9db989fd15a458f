"""Collects the correlation ids of all request lines, also of lines that are not kept. A missing id shows that
a line is missing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any

# Quotes inside a JSON string are escaped, so no client id, topic or principal can pass for these keys.
_HEADER = re.compile(rb'"correlationId":(-?\d{1,10}),"clientId":("(?:[^"\\]|\\.)*"|null),"requestApiKeyName"')
_CONNECTION = re.compile(rb',"connection":"([^"\\]+)"')
_SOFTWARE = re.compile(rb'"softwareName":"([a-zA-Z0-9.-]*)"')
_INTRODUCED = re.compile(rb'"clientSoftwareName":"([a-zA-Z0-9.-]*)"')
_FORWARDED = b'{"isForwarded":true'
# replicas fetch all the time, and whether all their lines are known does not matter
_REPLICA = b'"replicaId":'
_OF_REPLICA = re.compile(_REPLICA + rb"\d")

UNKNOWN_SOFTWARE = "unknown"
"""What brokers log of a client that does not name its software."""

SILENT_MS = 10_000
"""After so long without a line, ids are noted apart: what is missing in between was sent in that time."""

Range = tuple[int, int]
"""The first and the last of a run of successive ids."""


@dataclass(slots=True)
class _Seen:
    """What the lines of one connection say; times are in milliseconds."""

    first_ms: int
    last_ms: int
    software: str | None = None
    ids: list[int] = field(default_factory=list)


@dataclass(slots=True)
class RequestIds:
    """Collects the ids of lines by client id and connection, until ``take`` is called."""

    _seen: dict[tuple[bytes, bytes], _Seen | None] = field(default_factory=dict)
    _earlier: list[dict[tuple[bytes, bytes], _Seen | None]] = field(default_factory=list)
    _last_ms: int = 0

    def note(self, line: bytes, start: int, ms: int) -> None:
        """Note a whole line, whose JSON begins at ``start`` and that was logged at ``ms``.

        A forwarded request is left out: it has its client's ids, but the connection of the broker that
        forwarded it, and the client's own line is in that broker's log.
        """
        if not line.startswith(_FORWARDED, start) and (header := _HEADER.search(line, start)) is not None:
            self.note_header(line, header.end(), header[1], header[2], ms)

    def note_header(self, line: bytes, end: int, correlation_id: bytes, client_id: bytes, ms: int) -> None:
        """As ``note``, of a line that was not forwarded and whose header was read already, up to ``end``."""
        at = line.rfind(b',"connection":"')
        connection = _CONNECTION.match(line, at) if at >= 0 else None
        if ms - self._last_ms >= SILENT_MS and self._seen:
            self._earlier.append(self._seen)
            self._seen = {}
        self._last_ms = ms
        if connection is None or _is_of_replica(line, end, at):
            return
        name = (client_id, connection[1])
        try:
            seen = self._seen[name]
        except KeyError:
            seen = self._seen[name] = _Seen(ms, ms) if _is_text(*name) else None
        if seen is None:
            return
        seen.ids.append(int(correlation_id))
        if ms > seen.last_ms:
            seen.last_ms = ms
        elif ms < seen.first_ms:
            seen.first_ms = ms
        if seen.software is None:
            software = _SOFTWARE.search(line, at)
            said = software[1].decode() if software else UNKNOWN_SOFTWARE
            # a broker knows the software only after the request that tells it, a connection's first
            if said == UNKNOWN_SOFTWARE:
                introduced = _INTRODUCED.search(line, end, at)
                said = introduced[1].decode() if introduced else said
            seen.software = None if said in (UNKNOWN_SOFTWARE, "") else said

    def take(self) -> Iterator[dict[str, Any]]:
        """A row for each connection, without the file and position; the ids are then forgotten. Lines before
        and after a time without any (SILENT_MS) have rows of their own.
        """
        seen, self._seen, self._earlier = [*self._earlier, self._seen], {}, []
        for (client_id, connection), of in chain.from_iterable(sorted(each.items()) for each in seen):
            if of is None:
                continue
            ids, times = text_of(of.ids), (of.first_ms, of.last_ms)
            identity = b"\n".join((client_id, connection, ids.encode(), b"%d %d" % times))
            yield {
                "client_id": json.loads(client_id),
                "connection": connection.decode(),
                "software_name": of.software,
                "correlation_ids": ids,
                "first_logged_at_ms": of.first_ms,
                "last_logged_at_ms": of.last_ms,
                # if two rows had one digest, the worst would be that a line seems to be missing
                "ids_digest": hashlib.sha256(identity).hexdigest()[:16],
            }


def _is_of_replica(line: bytes, start: int, end: int) -> bool:
    # find() rules out nearly every line, and is faster than a pattern
    at = line.find(_REPLICA, start, end)
    return at >= 0 and _OF_REPLICA.search(line, at, end) is not None


def _is_text(client_id: bytes, connection: bytes) -> bool:
    """Whether both can be stored as text: JSON may escape half of a surrogate pair, which cannot."""
    try:
        json.dumps(json.loads(client_id), ensure_ascii=False).encode()
        connection.decode()
    except ValueError:
        return False
    return True


def text_of(ids: Sequence[int]) -> str:
    """Ids as they are stored: ``0..7 9 12..13``."""
    return " ".join(str(first) if first == last else f"{first}..{last}" for first, last in ranges_of(ids))


def ranges_of(ids: Sequence[int]) -> list[Range]:
    """The ids as ranges, in order."""
    ordered = sorted(set(ids))
    if not ordered:
        return []
    ends = [one for one, after in pairwise(ordered) if after != one + 1]
    begins = [after for one, after in pairwise(ordered) if after != one + 1]
    return list(zip([ordered[0], *begins], [*ends, ordered[-1]], strict=True))


def read_ranges(text: str) -> list[Range]:
    """The ranges in a text that ``text_of`` wrote."""
    pairs = (each.partition("..") for each in text.split())
    return [(int(first), int(last or first)) for first, _, last in pairs]


def merged(ranges: Iterable[Range]) -> list[Range]:
    """The ranges in order; those that overlap or touch are joined."""
    joined: list[Range] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined

"""Examines whether each log that the configuration names looks like the log that it is named as."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from fencepost.capture.files import is_readable, modified, opened, size
from fencepost.capture.packed import is_compressed, why_not_read
from fencepost.capture.text import matching
from fencepost.doctor.checks import Check, Mark
from fencepost.doctor.evidence import heading
from fencepost.formats.clock import LogClock
from fencepost.formats.envelopes import plain_line, written_by
from fencepost.formats.log_entries import begins_entry, read_entry
from fencepost.formats.request_layouts import placed
from fencepost.formats.request_log import api_name
from fencepost.settings import Client, Settings

REQUESTS, SERVER = "a request log", "a broker's server.log"
CLIENT, COLLECTED_GARBAGE = "the log of a client", "a log of Java's garbage collector"
_ENDS_BYTES = 1 << 18
_SHOWN = 6
_A_FILE_EACH = (
    "nothing of it is read: write a file for each (docker compose logs SERVICE, kubectl logs POD, one "
    "label of Loki)"
)
_REQUEST_LOGGER = "kafka.request.logger"
_GARBAGE = re.compile(rb"^\[[^\]\n]{10,40}\](?:\[[^\]\n]*\])*\[(?:gc|safepoint)\b")
_ALONE = {
    "a controller.log": ("org.apache.kafka.controller.", "kafka.controller."),
    "a state-change.log": ("state.change.logger",),
    "a log-cleaner.log": (
        *("org.apache.kafka.storage.internals.log.Cleaner", "kafka.log.LogCleaner", "kafka.log.Cleaner"),
        "org.apache.kafka.storage.internals.log.LogCleaner",
    ),
    "a kafka-authorizer.log": ("kafka.authorizer.logger",),
}
"""Logs of brokers that nothing else is in. Who has them in one file with all else has a server.log."""
_OF_SERVER = (
    *("kafka.", "state.change.logger", "org.apache.kafka.coordinator.", "org.apache.kafka.storage."),
    *("org.apache.kafka.server.", "org.apache.kafka.image.", "org.apache.kafka.raft."),
    *("org.apache.kafka.metadata.", "org.apache.kafka.controller."),
)
_OF_CLIENT = (
    "org.apache.kafka.clients.consumer.",
    "org.apache.kafka.clients.producer.",
    "org.apache.kafka.streams.",
)

_OF_JAVA = (b"[Producer ", b"[Consumer ", b"[Worker ", b"stream-thread [", b"stream-client [")
_NOTHING_OF_JAVA = (
    "no line at its begin or end is of Kafka's Java client or Kafka Streams, and no other line is read"
)


def log_kind_checks(settings: Settings) -> Iterator[Check]:
    """A check for each log that looks like another one than it is named as; nothing is said of any other."""
    for cluster in settings.clusters:
        for broker in cluster.brokers:
            of = heading(cluster, broker)
            yield from _other(of, broker.request_logs, "request_logs", REQUESTS)
            yield from _other(of, broker.server_logs, "server_logs", SERVER)
        of = f"cluster {cluster.name}, clients"
        for client in cluster.clients:
            yield from _other(of, client.logs, f"logs of {client.name}", CLIENT)


def unread_log_checks(settings: Settings) -> Iterator[Check]:
    """A check for all clients of a cluster whose newest logs have no line that is read, as kafkajs's have."""
    for cluster in settings.clusters:
        silent = [client.name for client in cluster.clients if _has_nothing_of_java(client)]
        more = f" and {len(silent) - _SHOWN:,} more" if len(silent) > _SHOWN else ""
        if silent:
            says = f"logs of {', '.join(silent[:_SHOWN])}{more}: {_NOTHING_OF_JAVA}"
            yield Check(f"cluster {cluster.name}, clients", Mark.NOTE, says)


def _has_nothing_of_java(client: Client) -> bool:
    """Whether there are entries at the ends of a client's newest log, and none is of a Java client."""
    file = newest(each for pattern in client.logs for each in matching(pattern))
    if file is None or not size(file) or is_in_unknown_layout(file):
        return False
    return kinds_of_file(file) == set() and not any(mark in end for end in _ends(file) for mark in _OF_JAVA)


def newest(files: Iterable[str]) -> str | None:
    """The newest plain file: what is rolled and compressed has an end that is read in no short time."""
    readable = [
        file for file in set(files) if is_readable(file) and not _is_packed(file) and not why_not_read(file)
    ]
    return max(readable, key=lambda file: (modified(file), file), default=None)


def _is_packed(file: str) -> bool:
    with opened(file) as log:
        return is_compressed(log)


def _other(of: str, patterns: Iterable[str], key: str, wanted: str) -> Iterator[Check]:
    for pattern in patterns:
        file = newest(each for each in matching(pattern) if is_readable(each) and size(each))
        kinds = kinds_of_file(file) if file else set()
        several = programs(file) if file and wanted != CLIENT else []
        if len(several) > 1:
            says = f"{file}, which {key} names, has lines of several programs: {', '.join(several[:_SHOWN])}"
            yield Check(of, Mark.WRONG, says, _A_FILE_EACH)
            continue
        if file and not kinds and is_in_unknown_layout(file):
            says = f"{file}, which {key} names: no line begins with a time in a known layout"
            yield Check(of, Mark.WRONG, says, "docs/operating.md, Layouts, says what is read")
        elif file and kinds and wanted not in kinds:
            says = f"{file}, which {key} names, looks like {' and '.join(sorted(kinds))}"
            yield Check(of, Mark.WRONG, says, _remedy(key, wanted, kinds))


def programs(file: str) -> list[str]:
    """Whose lines a file has, as a collector names them; empty where none does."""
    found = set().union(*map(written_by, _ends(file)))
    return sorted(each.decode("utf-8", "replace") for each in found)


def is_in_unknown_layout(file: str) -> bool:
    """Whether there are lines, and none of them begins an entry."""
    lines = [line for end in _ends(file) for line in end.splitlines() if line.strip()]
    return bool(lines) and not any(map(begins_entry, lines))


def _remedy(key: str, wanted: str, kinds: Collection[str]) -> str:
    """What to name there, and where the file that is named should be."""
    places = {REQUESTS: "in request_logs", SERVER: "in server_logs", CLIENT: "below [[clusters.clients]]"}
    there = "; ".join(f"name {kind} {places[kind]}" for kind in sorted(kinds) if kind in places)
    return f"name {wanted} in {key}; {there or 'no audit reads this one'}"


def kinds_of_file(file: str) -> set[str]:
    """Which logs a file looks like: none where nothing tells."""
    return kinds_of(*_ends(file))


def kinds_of(begin: bytes, end: bytes) -> set[str]:
    """Which logs the ends of a file look like: none where nothing tells, as in a layout without loggers."""
    lines = [plain_line(line) for line in (*begin.splitlines(), *end.splitlines())]
    kinds = {REQUESTS} if any(_is_request(line) for line in lines) else set()
    found = {logger for logger in map(_logger, lines) if logger} - {_REQUEST_LOGGER}
    alone = {kind for kind, loggers in _ALONE.items() if found and all(_in(each, loggers) for each in found)}
    if alone:
        return kinds | alone
    if any(_in(each, _OF_SERVER) for each in found):
        kinds.add(SERVER)
    elif any(_in(each, _OF_CLIENT) for each in found):
        kinds.add(CLIENT)
    if not kinds and any(_GARBAGE.match(line) for line in lines):
        kinds.add(COLLECTED_GARBAGE)
    return kinds


def _logger(line: bytes) -> str | None:
    """Who logged the entry that begins with a line."""
    try:
        return read_entry(line, 0, LogClock("UTC")).logger if begins_entry(line) else None
    except ValueError:
        return None


def _is_request(line: bytes) -> bool:
    try:
        request = placed(line)
    except ValueError:
        return False
    return request is not None and api_name(request.text, request.start) is not None


def _in(logger: str, loggers: Iterable[str]) -> bool:
    return logger.startswith(tuple(loggers))


def _ends(file: str) -> tuple[bytes, bytes]:
    """Whole lines of the begin and the end of a file."""
    with opened(file) as log:
        begin = log.read(_ENDS_BYTES)
        rest = size(file) - len(begin)
        if rest <= 0:
            return begin, b""
        log.seek(max(len(begin), size(file) - _ENDS_BYTES))
        end = log.read(_ENDS_BYTES)
    return begin[: begin.rfind(b"\n") + 1], end[end.find(b"\n") + 1 :]

"""Reads what producers of the Java client log about their epochs into Arrow; all other lines are skipped."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import pyarrow as pa

from fencepost.formats.clock import LogClock
from fencepost.formats.lines import Parsed, Values, parse
from fencepost.formats.log_entries import (
    UNKNOWN_AROUND,
    follow,
    moment,
    of_json,
    only_time,
    without_colours,
)

CLIENT_LINE_SCHEMA = pa.schema(
    [
        pa.field("position", pa.int64(), nullable=False),
        ("client_id", pa.string()),
        ("transactional_id", pa.string()),
        ("event", pa.string()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int32()),
        ("error", pa.string()),
        ("message", pa.string()),
        ("logged_at_ms", pa.int64()),
        ("line_digest", pa.string()),
    ]
)
_VALUES = itemgetter(*CLIENT_LINE_SCHEMA.names[1:])

TRANSACTION_MANAGER = "org/apache/kafka/clients/producer/internals/TransactionManager"
SENDER = "org/apache/kafka/clients/producer/internals/Sender"
KAFKA_PRODUCER = "org/apache/kafka/clients/producer/KafkaProducer"


@dataclass(frozen=True)
class Event:
    """A message as the class ``logged_by`` spells it, and the field in each pair of braces; ``_`` is
    dropped.
    """

    name: str
    logged_by: str
    message: str
    fields: tuple[str, ...] = ()


EVENTS = (
    Event("started", KAFKA_PRODUCER, "Instantiated a transactional producer."),
    Event("started", KAFKA_PRODUCER, "Instantiated an idempotent producer."),
    Event(
        "producer_id_requested",
        TRANSACTION_MANAGER,
        "Invoking InitProducerId for the first time in order to acquire a producer ID",
    ),
    Event(
        "epoch_bump_requested",
        TRANSACTION_MANAGER,
        "Invoking InitProducerId with current producer ID and epoch {} in order to bump the epoch",
        ("id_and_epoch",),
    ),
    Event(
        "producer_id_set",
        TRANSACTION_MANAGER,
        "ProducerId set to {} with epoch {}",
        ("producer_id", "producer_epoch"),
    ),
    Event(
        "epoch_bumped",
        TRANSACTION_MANAGER,
        "Incremented producer epoch, current producer ID and epoch are now {}",
        ("id_and_epoch",),
    ),
    Event(
        "producer_id_reset",
        TRANSACTION_MANAGER,
        "Resetting idempotent producer ID. ID and epoch before reset are {}",
        ("id_and_epoch",),
    ),
    Event(
        "sequence_restarted",
        TRANSACTION_MANAGER,
        "ProducerId of partition {} set to {} with epoch {}. Reinitialize sequence at beginning.",
        ("_", "producer_id", "producer_epoch"),
    ),
    Event(
        "abortable_error", TRANSACTION_MANAGER, "Transiting to abortable error state due to {}", ("error",)
    ),
    Event("fatal_error", TRANSACTION_MANAGER, "Transiting to fatal error state due to {}", ("error",)),
    Event(
        "produce_error",
        TRANSACTION_MANAGER,
        "The broker returned {} for topic-partition {} with producerId {}, epoch {}, and sequence number {}",
        ("error", "_", "producer_id", "producer_epoch", "_"),
    ),
    Event(
        "produce_error",
        SENDER,
        "Got error produce response with correlation id {} on topic-partition {}, "
        "retrying ({} attempts left). Error: {}",
        ("_", "_", "_", "error"),
    ),
)
"""The messages that are read, in the order in which a line is compared with them."""

_PATTERNS = {
    "_": ".*?",
    "producer_id": r"(?P<producer_id>-?\d+)",
    "producer_epoch": r"(?P<producer_epoch>-?\d+)",
    # ProducerIdAndEpoch.toString
    "id_and_epoch": r"\(producerId=(?P<producer_id>-?\d+), epoch=(?P<producer_epoch>-?\d+)\)",
    "error": "(?P<error>.*?)",
}
_MARK = b"[Producer clientId="
# The logger that ends a line of Kafka's own pattern, [%d] %p %m (%c), or of Connect's, (%c:%L), and a thread
# behind it; a message may end in brackets itself
_LOGGER = r"(?: \([\w.$]+(?::\d+)?\)(?: \[[^\]]*\])?)?[ \r]*"
_TRANSACTIONAL_ID = ", transactionalId="
_ID_AND_EPOCH = re.compile(_PATTERNS["id_and_epoch"])
_ERROR_NAME = re.compile(r"[\w.$]*\w")


def parse_client_lines(
    chunk: bytes,
    base_position: int = 0,
    timezone: str = "UTC",
    *,
    after_ms: int | None = None,
    final: bool = False,
) -> Parsed:
    """Parse the whole lines of ``chunk``, which begins at file position ``base_position``, at a line's start.

    Rows are of CLIENT_LINE_SCHEMA, one per line with one of EVENTS; every other line is skipped and never a
    fault. Layouts are those of ``log_layouts.json``, and any other that begins with the time and has the
    message in one piece, at the end or before the logger's name.
    ``timezone``, ``after_ms``, ``final``: as for request logs.
    """
    clock = LogClock(timezone, after_ms)
    return parse(chunk, base_position, clock, CLIENT_LINE_SCHEMA, _take, "producer's line", final=final)


def _compiled(event: Event) -> re.Pattern[str]:
    """A field that may be any text is in one atomic group with what follows it, so it ends where that is
    found first: the time that a line takes grows with its length and no faster, whoever wrote it.
    """
    first, *rest = map(re.escape, event.message.split("{}"))
    fields = (_PATTERNS[field] for field in event.fields)
    text = "".join(f"(?>{field}{part})" if part else field for field, part in zip(fields, rest, strict=True))
    names = rf"\[Producer clientId=(?>(?P<names>.*?)\] (?={first}))"
    return re.compile(rf"{names}(?P<message>{first}{text}){_LOGGER}$")


_COMPILED = tuple((event, _compiled(event)) for event in EVENTS)


def _take(line: bytes, clock: LogClock) -> Values | None:
    """The row of a line with one of EVENTS. Raises ValueError if it is not known when it was logged."""
    if _MARK not in line:
        return None
    line = without_colours(line)
    in_json = line.startswith(b"{")
    before, mark, rest = line.partition(_MARK)
    text = _in_json(line) if in_json else (mark + rest).decode("utf-8", "replace")
    # a document of JSON has the whole entry, with a stack trace
    first = text.partition("\n")[0]
    for event, pattern in _COMPILED:
        if match := pattern.match(first):
            time = (
                of_json(line.decode("utf-8", "replace"))["time"]
                if in_json
                else only_time(before.decode("utf-8", "replace"))
            )
            logged_at_ms = moment(time, clock)
            if logged_at_ms is None:
                raise ValueError(f"the time {time} has no date; have the program's logging write it")
            digest = hashlib.sha256(line).hexdigest()
            row = {**_fields(event, match), "logged_at_ms": logged_at_ms, "line_digest": digest}
            values: Values = _VALUES(row)
            return values
    if any(follow(text, event.message.split("{}")) for event in EVENTS):
        raise ValueError(UNKNOWN_AROUND)
    return None


def _in_json(line: bytes) -> str:
    """The message of an entry in JSON, from the mark on. Raises ValueError."""
    message = of_json(line.decode("utf-8", "replace")).get("message")
    if not message:
        raise ValueError("its JSON has the message in no known member; have the logging write 'message'")
    return str(message)[max(message.find(_MARK.decode()), 0) :]


def _fields(event: Event, match: re.Match[str]) -> dict[str, Any]:
    groups = match.groupdict()
    message = str(match["message"])
    id_and_epoch = match if groups.get("producer_id") else _ID_AND_EPOCH.search(message)
    client_id, is_transactional, transactional_id = str(match["names"]).partition(_TRANSACTIONAL_ID)
    return {
        "client_id": client_id,
        "transactional_id": transactional_id if is_transactional else None,
        "event": event.name,
        "producer_id": _number(id_and_epoch["producer_id"], 64) if id_and_epoch else None,
        "producer_epoch": _number(id_and_epoch["producer_epoch"], 16) if id_and_epoch else None,
        "error": _error_name(groups.get("error")),
        "message": message,
    }


def _number(text: str, bits: int) -> int | None:
    value = int(text) if len(text) < 20 else 1 << bits
    return value if -(1 << bits - 1) <= value < 1 << bits - 1 else None


def _error_name(text: str | None) -> str | None:
    """The class of an exception without its package, or Kafka's name of an error."""
    match = _ERROR_NAME.match(text or "")
    return match[0].rpartition(".")[2] if match else None

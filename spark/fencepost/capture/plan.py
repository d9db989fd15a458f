"""What one run reads: for every file the range that is new, fixed before anything is read.

A log that is being written grows while it is read. Every pass over a file reads the same range, so the rows,
the faults and the progress of a run always agree with each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

SEGMENT = "segment"
PRODUCER_SNAPSHOT = "producer_snapshot"
ABORTED_INDEX = "aborted_index"
METADATA_SNAPSHOT = "metadata_snapshot"
REQUEST_LOG = "request_log"
CLIENT_LOG = "client_log"

READ_WHOLE = frozenset({"__consumer_offsets", "__transaction_state", "__cluster_metadata"})
"""The topics that hold what Kafka itself believes. Any other one's payload is its applications' own."""

# Headers are few: so many bytes of a segment of which only they are read take as long as one of another's.
_HEADERS_ARE_CHEAPER = 128


Origin = tuple[str, int | None, str, str]
"""Cluster, broker, kind and path of a file."""

Partition = tuple[str, str | None, int | None]
"""Cluster, topic and number."""


@dataclass(frozen=True)
class Source:
    """One file and the bytes of it to read: ``[start, end)``; positions count uncompressed bytes.

    Set for the files of a partition are ``topic``, ``topic_id``, ``partition``, ``state`` (of its folder:
    live, delete, stray), ``closed`` (nothing is appended any more) and ``in_place`` (the file is replaced
    as a whole, at any time: ``end`` is no bound); ``last_header`` (position of the last batch before
    ``start``) for segments whose payload is not read, ``timezone`` for logs in text, ``client`` for those of
    a client, whose ``broker_id`` is null.
    ``moved_from`` is the path under which an earlier run read the beginning of this file.
    """

    cluster: str
    broker_id: int | None
    kind: str
    file: str
    start: int = 0
    end: int = 0
    topic: str | None = None
    topic_id: str | None = None
    partition: int | None = None
    closed: bool = False
    state: str | None = None
    in_place: bool = False
    last_header: int = 0
    timezone: str = "UTC"
    client: str | None = None
    moved_from: str | None = None

    @property
    def origin(self) -> Origin:
        """What names it in ``bronze.files``."""
        return self.cluster, self.broker_id, self.kind, self.file

    @property
    def logs_of(self) -> tuple[str, int | None] | None:
        """Whose logs in text this is one of: cluster and broker (None: clients). None of another file."""
        return (self.cluster, self.broker_id) if is_text(self.kind) else None

    @property
    def is_headers_only(self) -> bool:
        """Whether this is a segment of which headers and markers are read, and nothing else."""
        return self.kind == SEGMENT and self.topic not in READ_WHOLE

    @property
    def cost(self) -> int:
        """How much work it is to read: about as many bytes as a segment read whole would have."""
        size = self.end - self.start
        return size // _HEADERS_ARE_CHEAPER if self.is_headers_only else size


@dataclass(frozen=True)
class Fault:
    """Evidence that could not be read: where it is, and a sentence that says what to do; of a log in text
    how it begins.
    """

    cluster: str
    broker_id: int | None
    kind: str
    file: str
    position: int
    length: int
    reason: str
    detail: str
    sample: bytes | None = None
    file_begins: str | None = None


@dataclass(frozen=True)
class ReadProgress:
    """How far a file had been read: ``consumed_to`` as positions count, ``size`` in bytes on disk;
    ``file_begins`` and ``topic_id`` as ``bronze.files`` has them.
    """

    file: str
    head_digest: str
    size: int
    consumed_to: int
    file_begins: str | None = None
    topic_id: str | None = None


@dataclass
class Plan:
    """What a run does: read ``sources``, note files ``known`` under another name, report ``faults``.

    ``of_partitions`` are all files of partitions that are there. What was taken of a partition with an id
    among ``misnamed`` (None: without one) is replaced; ``renewed`` are those of the sources that it may have
    come from. ``copies`` are logs in text that are not read, as they are there twice. ``begins``: how each
    log in text that is there began when it was read.
    """

    sources: list[Source] = field(default_factory=list)
    of_partitions: list[Source] = field(default_factory=list)
    misnamed: set[tuple[str, str | None, int | None, str | None]] = field(default_factory=set)
    renewed: set[Origin] = field(default_factory=set)
    known: list[tuple[Source, ReadProgress]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    copies: set[Origin] = field(default_factory=set)
    begins: dict[Origin, str | None] = field(default_factory=dict)

    def read_again(self, sources: Sequence[Source]) -> None:
        """Read these from their beginning, whatever was read of them."""
        again = {source.origin for source in sources}
        self.renewed |= again
        self.known = [each for each in self.known if each[0].origin not in again]
        self.sources = [each for each in self.sources if each.origin not in again]
        self.sources += [replace(source, start=0, last_header=0) for source in sources]


def is_text(kind: str) -> bool:
    """Whether the files of a kind are logs in text."""
    return kind.endswith("_log")


def is_compressed(file: BinaryIO) -> bool:
    """Whether a file is gzipped, whatever its name; leaves it at its beginning."""
    file.seek(0)
    magic = file.read(2)
    file.seek(0)
    return magic == b"\x1f\x8b"


def bundles(sources: list[Source], size: int = 32 << 20) -> Iterator[list[Source]]:
    """Sources grouped to tasks: a large file alone, small ones together until they are worth a task."""
    bundle: list[Source] = []
    weight = 0
    for source in sorted(sources, key=lambda each: -each.cost):
        bundle.append(source)
        weight += source.cost
        if weight >= size:
            yield bundle
            bundle, weight = [], 0
    if bundle:
        yield bundle

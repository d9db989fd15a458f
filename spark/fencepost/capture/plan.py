"""The plan of a run: the new range of every file, fixed before anything is read.

A log that is being written grows while it is read. Every pass over a file reads the same range, so the rows,
the faults and the progress of a run always agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

SEGMENT = "segment"
PRODUCER_SNAPSHOT = "producer_snapshot"
ABORTED_INDEX = "aborted_index"
METADATA_SNAPSHOT = "metadata_snapshot"
META_PROPERTIES_FILE = "meta_properties"
REQUEST_LOG = "request_log"
CLIENT_LOG = "client_log"

OTHER_WRITERS = (OTHER_CLUSTER, OTHER_BROKER) = ("other_cluster", "other_broker")
"""Why lines of a request log are not read that another broker wrote, of another cluster or of this one."""

CLOSED = "this user may not look into the folder: check its permissions"
"""What is wrong with a folder on the way to evidence, and what to do."""

READ_WHOLE = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
)
"""The topics with Kafka's own state. The payload of all other topics belongs to applications and is not
read.
"""

# So many bytes of a segment of which only headers are read take as long as one byte of another segment.
_HEADERS_ARE_CHEAPER = 128


Origin = tuple[str, int | None, str, str]
"""Cluster, broker, kind and name of a file."""

ORIGIN = ("cluster", "broker_id", "kind", "file")
"""The columns that have it."""

Log = tuple[str, int | None, str | None, str | None, str]
"""A log in text: cluster, broker or client with its host, and kind."""

Partition = tuple[str, str | None, int | None]
"""Cluster, topic and number."""


@dataclass(frozen=True)
class Source:
    """One file and the bytes of it to read: ``[start, end)``; positions count uncompressed bytes.

    Files of a partition have ``topic``, ``topic_id``, ``partition``, ``state`` (of its folder: live, delete,
    stray), ``closed`` (nothing is appended any more) and ``in_place`` (the file is replaced as a whole, at
    any time, so ``end`` is no bound). Segments whose payload is not read have ``last_header``, the position
    of the last batch before ``start``; if ``checksums``, their payload is read to check its checksum, and
    nothing of it is kept. Logs in text have ``timezone``; those of a client have ``client``,
    and their ``broker_id`` is null; ``file_begins`` is the digest of their first entry, None if it is not
    known yet. ``moved_from``: the name under which an earlier run read the beginning of this file. ``host``:
    of a client's log, the machine whose file it is; containers all have the same paths. ``cluster_id``: of a
    request log, Kafka's id of the broker's cluster, None where no log directory says it.
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
    checksums: bool = False
    timezone: str = "UTC"
    client: str | None = None
    file_begins: str | None = None
    moved_from: str | None = None
    host: str | None = None
    cluster_id: str | None = None

    @property
    def name(self) -> str:
        """The file as bronze names it."""
        return named_on(self.host, self.file)

    @property
    def origin(self) -> Origin:
        """Its key in ``bronze.files``."""
        return self.cluster, self.broker_id, self.kind, self.name

    @property
    def log(self) -> Log:
        """For a log in text: whose it is, and its kind; the same for all files into which it is rolled."""
        return self.cluster, self.broker_id, self.client, self.host, self.kind

    @property
    def logs_of(self) -> tuple[str, int | None] | None:
        """For a log in text, whose it is: cluster and broker (None for clients). None for other files."""
        return (self.cluster, self.broker_id) if is_text(self.kind) else None

    @property
    def is_headers_only(self) -> bool:
        """Whether this is a segment of which only headers and markers are read."""
        return self.kind == SEGMENT and self.topic not in READ_WHOLE

    @property
    def cost(self) -> int:
        """The cost of reading it, in bytes of a segment that is read completely."""
        size = self.end - self.start
        return size // _HEADERS_ARE_CHEAPER if self.is_headers_only and not self.checksums else size


@dataclass(frozen=True)
class Fault:
    """Evidence that could not be read: where it is, and a sentence about what to do. ``file_begins``: for a
    log in text, the digest of its first entry.
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
    """How far a file had been read: ``consumed_to`` is a position, ``size`` is in bytes on disk;
    ``file_begins``, ``topic_id`` and ``timezone`` are the columns of ``bronze.files``.
    """

    file: str
    head_digest: str
    size: int
    consumed_to: int
    file_begins: str | None = None
    topic_id: str | None = None
    timezone: str | None = None


@dataclass
class Plan:
    """The plan of a run: read ``sources``, note ``renamed`` files, report ``faults``.

    ``of_partitions``: all files of partitions. ``misnamed``: partitions with an id (or None) under which
    rows were captured that must be replaced; ``to_read_again``: the sources from which these rows may have
    come. ``rezoned``: the logs in text whose configured time zone is another one than that in which they were
    read. ``copies``: logs in text that are not read because they are copies. ``begins``: the digest of the
    first entry of each log in text when it was last read.
    """

    sources: list[Source] = field(default_factory=list)
    of_partitions: list[Source] = field(default_factory=list)
    misnamed: set[tuple[str, str | None, int | None, str | None]] = field(default_factory=set)
    to_read_again: set[Origin] = field(default_factory=set)
    rezoned: list[Source] = field(default_factory=list)
    renamed: list[tuple[Source, ReadProgress]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    copies: set[Origin] = field(default_factory=set)
    begins: dict[Origin, str | None] = field(default_factory=dict)

    def read_again(self, sources: Sequence[Source]) -> None:
        """Read these sources again from their beginning."""
        again = {source.origin for source in sources}
        self.to_read_again |= again
        self.renamed = [each for each in self.renamed if each[0].origin not in again]
        self.sources = [each for each in self.sources if each.origin not in again]
        self.sources += [replace(source, start=0, last_header=0) for source in sources]


def named_on(host: str | None, path: str) -> str:
    """How bronze names a file of a host; without one, its path alone."""
    return path if host is None else f"{host}:{path}"


def is_text(kind: str) -> bool:
    """Whether the files of a kind are logs in text."""
    return kind.endswith("_log")


def bundles(groups: Iterable[Sequence[Source]], size: int = 32 << 20) -> Iterator[list[Source]]:
    """Groups of sources in tasks: a large group alone, small ones together until they are worth a task. The
    sources of a task come in the order of their costs, the largest first.
    """
    bundle: list[Source] = []
    weight = 0
    for group in sorted(groups, key=_cost, reverse=True):
        bundle += group
        weight += _cost(group)
        if weight >= size:
            yield sorted(bundle, key=lambda each: -each.cost)
            bundle, weight = [], 0
    if bundle:
        yield sorted(bundle, key=lambda each: -each.cost)


def _cost(sources: Iterable[Source]) -> int:
    return sum(each.cost for each in sources)

"""The brokers' request logs as rows. Texts about topics in answers are stored once; of lines that no protocol
reads only ids are stored.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import pyarrow as pa

from fencepost.capture.files import resolved
from fencepost.capture.identities import cluster_id_of
from fencepost.capture.kinds import Kind
from fencepost.capture.plan import REQUEST_LOG, Fault, Source
from fencepost.capture.rows import Rows
from fencepost.capture.text import Absence, Piece, files, of_table, text_rows
from fencepost.formats.lines import Parsed
from fencepost.formats.request_ids import RequestIds
from fencepost.formats.request_log import parse_lines
from fencepost.protocols import requests
from fencepost.settings import Cluster
from fencepost.tables import REQUEST_IDS, REQUESTS, TOPIC_ANSWERS, TOPIC_LISTS

_LINE_END = b"(kafka.request.logger)"
_ROLLED = re.compile(r"(?P<log>.+)\.(?P<number>\d{1,4})(\.(gz|zip|bz2|xz|zst))?", re.DOTALL)
_SKIPPED = "files of this log with smaller and with larger numbers are there: put this one back"
_OF_SEVERAL = (
    "several brokers list this file, and no line says which of them wrote it: correct request_logs in the "
    "configuration"
)
_MISSING = "no file matches: correct request_logs in the configuration, or switch the request log on"


def find_request_logs(cluster: Cluster) -> tuple[list[Source], list[Fault]]:
    """Every file of the brokers' ``request_logs``; the patterns that match none, the files that must be
    missing between others, and those that several brokers list.
    """
    sources: list[Source] = []
    faults: list[Fault] = []
    cluster_id = cluster_id_of(cluster)
    found = [(broker, *files(broker.request_logs, _MISSING)) for broker in cluster.brokers]
    # of one broker, several paths may lead to a file: a line counts once
    owners = Counter(file for _, matching, _ in found for file in set(map(resolved, matching)))
    for broker, matching, absent in found:
        for file in matching:
            if owners[resolved(file)] == 1:
                sources.append(
                    Source(
                        cluster.name,
                        broker.id,
                        REQUEST_LOG,
                        file,
                        timezone=broker.timezone,
                        cluster_id=cluster_id,
                    )
                )
            else:
                faults.append(
                    Fault(cluster.name, broker.id, REQUEST_LOG, file, 0, 0, "unreadable", _OF_SEVERAL)
                )
        absent += [Absence(file, "missing", _SKIPPED) for file in _skipped(matching)]
        faults += [
            Fault(cluster.name, broker.id, REQUEST_LOG, each.path, 0, 0, each.reason, each.detail)
            for each in absent
        ]
    return sources, faults


def _skipped(files: Iterable[str]) -> Iterator[str]:
    """The files between others of a log that is rolled by numbers, such as ``kafka-request.log.3.gz``."""
    numbers: defaultdict[str, set[int]] = defaultdict(set)
    for file in files:
        if rolled := _ROLLED.fullmatch(file):
            numbers[rolled["log"]].add(int(rolled["number"]))
    for log, present in numbers.items():
        for number in sorted(set(range(min(present), max(present))) - present):
            yield f"{log}.{number}"


def rows(source: Source) -> Rows:
    """The rows of ``bronze.requests`` and ``bronze.request_ids`` in the source's range, the texts about
    topics in its answers (each once), and the source's outcome.
    """
    origin = {"cluster": source.cluster, "broker_id": source.broker_id, "file": source.file}
    lines, topic_texts, ids = of_table(REQUESTS, origin), _TopicTexts(origin), RequestIds()

    def rows_of(read: pa.RecordBatch) -> Rows:
        yield from lines(read)
        yield from topic_texts.rows(read)
        id_rows = [{**origin, **row} for row in ids.take()]
        yield REQUEST_IDS, pa.RecordBatch.from_pylist(id_rows, REQUEST_IDS.arrow_schema)

    yield from text_rows(source, partial(_parse, ids), rows_of, _is_unfinished)


def _parse(ids: RequestIds, source: Source, piece: Piece, after_ms: int | None) -> Parsed:
    # a complete last line counts now even without its line end; its digest keeps it from counting again
    final = piece.whole or (piece.cut and _is_whole(piece))
    return parse_lines(
        piece.data, requests(), piece.position, source.timezone, after_ms=after_ms, final=final, ids=ids
    )


def _is_unfinished(piece: Piece, parsed: Parsed) -> bool:
    return parsed.rows.num_rows == 0 and (bool(parsed.faults) or not _is_whole(piece))


def _is_whole(piece: Piece) -> bool:
    """Whether the last line ends as Kafka's layout does; with another layout only a line end shows that."""
    return piece.data.rstrip().endswith(_LINE_END)


class _TopicTexts:
    """The texts about topics in the answers of one file: each text, and each list of texts, once."""

    def __init__(self, origin: Mapping[str, object]) -> None:
        self._origin = origin
        self._seen: set[str] = set()

    def rows(self, read: pa.RecordBatch) -> Rows:
        """The texts, and lists of texts, that no earlier lines had."""
        lists, answers = [], []
        for at, name in enumerate(read["topics_digest"].to_pylist()):
            if name is None or name in self._seen:
                continue
            self._seen.add(name)
            position, digests = read["position"][at].as_py(), read["topic_digests"][at].as_py()
            lists.append(
                {**self._origin, "position": position, "topics_digest": name, "topic_digests": digests}
            )
            for digest, topic in zip(digests, read["topics"][at].as_py(), strict=True):
                if digest not in self._seen:
                    self._seen.add(digest)
                    answers.append(
                        {**self._origin, "position": position, "topic_digest": digest, "topic": topic}
                    )
        for table, table_rows in ((TOPIC_LISTS, lists), (TOPIC_ANSWERS, answers)):
            yield table, pa.RecordBatch.from_pylist(table_rows, table.arrow_schema)


REQUEST_LOGS = Kind(
    REQUEST_LOG,
    rows,
    (REQUESTS, REQUEST_IDS, TOPIC_LISTS, TOPIC_ANSWERS),
    find=find_request_logs,
    # the keys are digests of lines, and of times
    same_times=frozenset({REQUESTS.name, REQUEST_IDS.name}),
)

"""The command ``fencepost offsets``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

import pyarrow as pa

from fencepost.protocols.base import UsageError
from fencepost.protocols.leader_epoch.stored.lives import lives
from fencepost.protocols.leader_epoch.stored.offsets import StoredOffset, stored_offsets
from fencepost.protocols.leader_epoch.stored.seek import Judgement, judge
from fencepost.reading import Reader, rows

_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("safe", pa.bool_()),
        ("reason", pa.string()),
        ("detail", pa.string()),
    ]
)


def run(reader: Reader, arguments: Namespace) -> tuple[pa.Table, bool, None]:
    """A row for each stored offset, in their order; true when none is known to be unsafe."""
    topics = lives(reader, _cluster(reader, arguments.cluster))
    judged = [(stored, judge(stored, topics)) for stored in stored_offsets(reader, arguments.stored)]
    return _table(judged), all(verdict.safe is not False for _, verdict in judged), None


def _cluster(reader: Reader, name: str | None) -> str:
    names = [
        row["cluster"]
        for row in rows(
            reader.query("SELECT DISTINCT cluster FROM silver.topic_incarnations ORDER BY cluster")
        )
    ]
    if name in names:
        return name  # type: ignore[return-value]
    if name is None and len(names) == 1:
        return str(names[0])
    choices = ", ".join(names) or "none whose metadata log was read"
    raise UsageError(f"--cluster {name or 'NAME'}: name one of the lake's clusters: {choices}")


def _table(judged: Sequence[tuple[StoredOffset, Judgement]]) -> pa.Table:
    values = [
        dict(zip(_SCHEMA.names, (stored.topic, stored.partition, stored.offset, *verdict), strict=True))
        for stored, verdict in judged
    ]
    return pa.Table.from_pylist(values, _SCHEMA)

"""Counts the evidence that each module's definitions rest on and that is missing or could not be read."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture.plan import REQUEST_LOG
from fencepost.definitions import modules
from fencepost.protocols import protocols
from fencepost.tables import UNREAD_EVIDENCE
from fencepost.tables.clocks import LINES_MISSING

_NO_LINES = [{"finding": LINES_MISSING}]

UNREAD = pa.schema([("cluster", pa.string()), ("module", pa.string()), ("entries", pa.int64())])


def unread_by_module(catalog: Catalog) -> pa.Table:
    """Rows of UNREAD, one per cluster and module: how many files or pieces of them could not be read
    (UNREAD_EVIDENCE), how many changes show that lines of request logs are missing (``Protocol.unlogged``),
    and of how many times there are none.
    """
    entries: Counter[tuple[str, str]] = Counter()
    names = modules()
    for row in lake.scan(catalog, UNREAD_EVIDENCE).to_pylist():
        if row["protocol"] in names:
            entries[row["cluster"], names[row["protocol"]]] += row["entries"]
    reading = [
        names[each.name]
        for each in protocols()
        if each.name in names and (each.rests_on is None or REQUEST_LOG in each.rests_on)
    ]
    unlogged = ((table, None) for protocol in protocols() for table in protocol.unlogged)
    silent = ((table, _NO_LINES) for protocol in protocols() for table in protocol.clocks)
    for table, where in chain(unlogged, silent):
        counts = Counter(lake.scan(catalog, table, ("cluster",), where)["cluster"].to_pylist())
        for cluster, count in counts.items():
            for module in reading:
                entries[cluster, module] += count
    rows = [
        {"cluster": cluster, "module": module, "entries": count}
        for (cluster, module), count in sorted(entries.items())
    ]
    return pa.Table.from_pylist(rows, schema=UNREAD)

"""What producers log of their own epochs: ``silver.client_events``."""

from __future__ import annotations

import pyarrow as pa

from fencepost.protocols.producer_epoch.arrow import longs, timestamps
from fencepost.protocols.producer_epoch.tables import CLIENT_EVENTS


def client_events(lines: pa.Table) -> pa.Table:
    """Rows of ``bronze.client_lines``, one for one."""
    columns = {**dict(zip(lines.schema.names, lines.columns, strict=True))}
    columns["logged_at"] = timestamps(longs(lines["logged_at_ms"]))
    schema = CLIENT_EVENTS.arrow_schema
    return pa.Table.from_arrays([columns[each.name].cast(each.type) for each in schema], schema=schema)

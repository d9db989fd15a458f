"""The notes of what recipients were told: the memory that makes an alert come only once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.alerts.events import Event, Note
from fencepost.tables import ALERT_NOTES


class AlertNotes:
    """What was noted of each recipient and incident last."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        noted = lake.scan(catalog, ALERT_NOTES).to_pylist()
        self._last: dict[str, dict[tuple[str, str], Note]] = defaultdict(dict)
        for row in sorted(noted, key=lambda row: row["noted_at"]):
            self._last[row["recipient"]][row["cluster"], row["fingerprint"]] = row

    def of(self, recipient: str) -> dict[tuple[str, str], Note]:
        """The last note of each incident, by cluster and fingerprint."""
        return self._last[recipient]

    def add(self, recipient: str, events: Sequence[Event], sent: Collection[str], run_id: str) -> None:
        """Note these events in one commit; ``sent``: the kinds of which the recipient was told."""
        now = datetime.now(UTC)
        rows = [
            {
                "recipient": recipient,
                "cluster": each.cluster,
                "fingerprint": each.fingerprint,
                "run_id": run_id,
                "noted_at": now,
                "event": each.kind,
                "sent": each.kind in sent,
                "severity": each.severity,
                "title": each.title,
                "critical": each.critical,
            }
            for each in events
        ]
        lake.append(self._catalog, ALERT_NOTES, pa.Table.from_pylist(rows, schema=ALERT_NOTES.arrow_schema))

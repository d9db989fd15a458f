"""The notes of what gates have reported of incidents: the memory that makes an incident new only once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.incidents import OPEN, Incident, is_worse
from fencepost.tables import INCIDENT_NOTES


class Notes:
    """What was noted of each incident last."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        noted = lake.scan(catalog, INCIDENT_NOTES).to_pylist()
        in_order = sorted(noted, key=lambda row: (row["noted_at"], row["run_id"]))
        self._last = {(row["cluster"], row["fingerprint"]): row for row in in_order}

    def untold(self, of_clusters: Iterable[Incident]) -> list[Incident]:
        """Of the incidents those that are new, and that no gate has reported since the mart was built."""
        return [each for each in of_clusters if each["state"] == "new" and not self._is_noted(each)]

    def add(self, of_clusters: Iterable[Incident], run_id: str) -> None:
        """Note what has changed, in one commit."""
        now = datetime.now(UTC)
        changed = [each for each in of_clusters if not self._is_noted(each)]
        columns = INCIDENT_NOTES.columns.keys()
        notes = [
            {name: each.get(name) for name in columns}
            | {"state": _noted_state(each), "run_id": run_id, "noted_at": now}
            for each in changed
        ]
        lake.append(
            self._catalog, INCIDENT_NOTES, pa.Table.from_pylist(notes, schema=INCIDENT_NOTES.arrow_schema)
        )

    def _is_noted(self, incident: Incident) -> bool:
        note = self._last.get((incident["cluster"], incident["fingerprint"]))
        return note is not None and note["state"] == _noted_state(incident) and not is_worse(incident, note)


def _noted_state(incident: Incident) -> str:
    return "open" if incident["state"] in OPEN else str(incident["state"])

"""What a run notes of the files whose rows are in their tables: their faults, and how far they were read."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.capture import quarantine
from fencepost.capture.plan import Fault, Origin, Plan, ReadProgress, Source
from fencepost.capture.progress import still_holds
from fencepost.settings import Settings
from fencepost.tables import FILES

_FAULT = tuple(field.name for field in dataclasses.fields(Fault))

Outcome = dict[str, Any]
"""A row of OUTCOME."""


class Notes:
    """What a run notes of the files whose rows are in their tables."""

    def __init__(self, settings: Settings, catalog: Catalog, plan: Plan, run_id: str, now: datetime) -> None:
        self._catalog, self._plan, self._run_id, self._now = catalog, plan, run_id, now
        self._clusters = [cluster.name for cluster in settings.clusters]
        self._sources = {source.origin: source for source in plan.sources}
        self._outcomes: list[Outcome] = []
        # how many of somebody's logs in text were not read so far
        self._unread: Counter[tuple[str, int | None] | None] = Counter(
            source.logs_of for source in plan.sources if source.logs_of
        )
        self._held: list[Outcome] = []
        self.skipped = self.quarantined = 0

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Note what became of some more files.

        Somebody's logs in text are noted together: what is noted by one run was there at the same time, and
        of two that begin alike neither is the other one renamed (``replay.log_names``).
        """
        self._outcomes += outcomes
        read = [row for row in outcomes if row["reason"] is None]
        self.skipped += sum(row["skipped"] for row in read)
        seen = dict.fromkeys(map(_origin_of, self._outcomes))
        self._quarantine(Plan([self._sources[each] for each in seen], faults=self._plan.faults))
        self._unread.subtract(self._sources[each].logs_of for each in set(map(_origin_of, outcomes)))
        self._held += read
        self._note([row for row in self._held if self._unread[self._sources[_origin_of(row)].logs_of] <= 0])

    def finish(self) -> None:
        """Note, after all that was read, the files that have another name now, are missing or have gone."""
        self._quarantine(self._plan)
        self._note(self._held)
        _note_progress(self._catalog, [], self._plan.known, self._run_id, self._now)

    def _note(self, read: Sequence[Outcome]) -> None:
        origins = {_origin_of(row) for row in read}
        self._held = [row for row in self._held if _origin_of(row) not in origins]
        _note_progress(self._catalog, _unchanged(self._sources, read), [], self._run_id, self._now)

    def _quarantine(self, looked_at: Plan) -> None:
        found = {_origin_of(row): row["file_begins"] for row in self._outcomes if row["reason"] is None}
        known = {source.origin: read.file_begins for source, read in looked_at.known}
        looked_at = dataclasses.replace(looked_at, begins={**self._plan.begins, **known, **found})
        faults = [
            Fault(*(row[name] for name in _FAULT)) for row in self._outcomes if row["reason"] is not None
        ]
        self.quarantined = quarantine.update(
            self._catalog, looked_at, faults, self._clusters, run_id=self._run_id, now=self._now
        )


def _unchanged(sources: Mapping[Origin, Source], read: Sequence[Outcome]) -> list[Outcome]:
    """What was read of the files that are still the same, so that all their rows came from them."""
    return [
        row
        for row in read
        if still_holds(
            sources[_origin_of(row)],
            ReadProgress(row["file"], row["head_digest"], row["size"], row["consumed_to"]),
        )
    ]


def _note_progress(
    catalog: Catalog,
    read: Sequence[Outcome],
    known: Sequence[tuple[Source, ReadProgress]],
    run_id: str,
    now: datetime,
) -> None:
    """Append to ``bronze.files``."""
    columns = [name for name in FILES.columns if name not in ("run_id", "captured_at")]
    rows = [tuple(row[name] for name in columns) for row in read]
    rows += [
        (
            *(source.cluster, source.broker_id, source.kind, source.file),
            *(as_of.head_digest, as_of.size, as_of.consumed_to, 0, 0, as_of.file_begins, as_of.topic_id),
        )
        for source, as_of in known
    ]
    lake.append(catalog, FILES, FILES.rows([(*row, run_id, now) for row in rows]))


def _origin_of(row: Outcome) -> Origin:
    return row["cluster"], row["broker_id"], row["kind"], row["file"]

"""Notes about files whose rows have been written to their tables: their faults, and how far they
were read.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
_SUMMED = ("entries", "skipped", "too_late", "faults")

Outcome = dict[str, Any]
"""A row of OUTCOME."""


class Notes:
    """Writes a run's notes about files whose rows have been written to their tables."""

    def __init__(self, settings: Settings, catalog: Catalog, plan: Plan, run_id: str, now: datetime) -> None:
        self._catalog, self._plan, self._run_id, self._now = catalog, plan, run_id, now
        self._clusters = settings.clusters
        self._sources = {source.origin: source for source in plan.sources}
        self._outcomes: list[Outcome] = []
        # by broker or clients: how many of their logs in text have not been read yet
        self._unread: Counter[tuple[str, int | None] | None] = Counter(
            source.logs_of for source in plan.sources if source.logs_of
        )
        # by file: in how many parts it is read, and the outcomes of those that were
        self._parts: Counter[Origin] = Counter()
        self._read_parts: defaultdict[Origin, list[Outcome]] = defaultdict(list)
        self._waiting: list[Outcome] = []
        self.skipped = self.too_late = self.quarantined = 0

    def expect(self, tasks: Iterable[Iterable[Source]]) -> None:
        """Expect outcomes of these sources. A file of which some are parts is noted when all are read."""
        self._parts.update(source.origin for task in tasks for source in task)

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Note the outcomes of more files.

        All logs in text of a broker, or of the clients, are noted together. Files noted by one run existed at
        the same time, so if two of them begin alike, neither is the other one renamed (``replay.log_names``).
        """
        self._outcomes += outcomes
        read = self._whole([row for row in outcomes if row["reason"] is None])
        self.skipped += sum(row["skipped"] for row in read)
        self.too_late += sum(row["too_late"] or 0 for row in read)
        origins = dict.fromkeys(map(_origin_of, self._outcomes))
        self._quarantine(Plan([self._sources[each] for each in origins], faults=self._plan.faults))
        done = {each for each in map(_origin_of, outcomes) if self._parts[each] <= 1}
        self._unread.subtract(self._sources[each].logs_of for each in done | set(map(_origin_of, read)))
        self._waiting += read
        self._note(
            [row for row in self._waiting if self._unread[self._sources[_origin_of(row)].logs_of] <= 0]
        )

    def finish(self) -> None:
        """After all files were read, note files that were renamed, are missing or were deleted."""
        self._quarantine(self._plan)
        self._note(self._waiting)
        _note_progress(self._catalog, [], self._plan.renamed, self._run_id, self._now)

    def _note(self, read: Sequence[Outcome]) -> None:
        origins = {_origin_of(row) for row in read}
        self._waiting = [row for row in self._waiting if _origin_of(row) not in origins]
        _note_progress(self._catalog, _unchanged(self._sources, read), [], self._run_id, self._now)

    def _whole(self, read: Iterable[Outcome]) -> list[Outcome]:
        """The outcomes of files of which all parts have been read."""
        whole = []
        for row in read:
            parts = self._read_parts[_origin_of(row)]
            parts.append(row)
            if len(parts) >= self._parts[_origin_of(row)]:
                last = max(parts, key=lambda each: (each["consumed_to"], each["size"]))
                sums = {name: sum(each[name] or 0 for each in parts) for name in _SUMMED}
                whole.append({**last, **sums})
        return whole

    def _quarantine(self, part: Plan) -> None:
        begins_read = {_origin_of(row): row["file_begins"] for row in self._outcomes if row["reason"] is None}
        begins_renamed = {source.origin: read.file_begins for source, read in part.renamed}
        part = dataclasses.replace(part, begins={**self._plan.begins, **begins_renamed, **begins_read})
        faults = [
            Fault(*(row[name] for name in _FAULT)) for row in self._outcomes if row["reason"] is not None
        ]
        self.quarantined = quarantine.update(
            self._catalog, part, faults, self._clusters, run_id=self._run_id, now=self._now
        )


def _unchanged(sources: Mapping[Origin, Source], read: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes of files that have not been replaced meanwhile, so that all their rows came from them."""
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
    renamed: Sequence[tuple[Source, ReadProgress]],
    run_id: str,
    now: datetime,
) -> None:
    """Append to ``bronze.files``."""
    columns = [name for name in FILES.columns if name not in ("run_id", "captured_at")]
    rows = [tuple(row[name] for name in columns) for row in read]
    rows += [
        (
            *source.origin,
            *(
                progress.head_digest,
                progress.size,
                progress.consumed_to,
                0,
                0,
                0,
                None,
                progress.file_begins,
                progress.topic_id,
                progress.timezone,
            ),
        )
        for source, progress in renamed
    ]
    lake.append(catalog, FILES, FILES.rows([(*row, run_id, now) for row in rows]))


def _origin_of(row: Outcome) -> Origin:
    return row["cluster"], row["broker_id"], row["kind"], row["file"]

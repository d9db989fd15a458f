"""The notes on chapters that were judged, which make sure that the work of a killed run is repeated.

A run first deletes the notes on chapters that do not stand, and the note that the last run finished. It
writes both anew when everything else is written. So a chapter with a note has the pieces and decisions of
the run that judged it, and after a finished run the episodes and the coverage are those of all pieces.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pyarrow as pa

from fencepost.judge.chapters import Chapters
from fencepost.judge.rules import rule
from fencepost.settings import Settings
from fencepost.tables import JUDGED

if TYPE_CHECKING:
    from fencepost.judge.engine import Engine


class Notes:
    """The rows of ``verdicts.judged``. ``finished``: whether the last run finished, with the same
    settings.
    """

    def __init__(self, engine: Engine, settings: Settings, history: Chapters) -> None:
        self._engine, self._history = engine, history
        self._settings_digest = _digest(settings)
        engine.fetch("noted", JUDGED, None)
        finished_with = engine.rows("SELECT revision FROM noted WHERE cluster IS NULL")
        self.finished = [row["revision"] for row in finished_with] == [self._settings_digest]

    def forget(self) -> None:
        """Delete the notes that do not stand, and the note that a run finished; nothing if all
        notes stand.
        """
        self._engine.fetch("noted", JUDGED, self._history.where_standing)
        if self._changes:
            self._engine.replace(JUDGED, ["SELECT * FROM noted"])

    def finish(self) -> None:
        """Note the chapters that were judged, and that the run finished."""
        if not self._history.known or not self._changes:
            return
        finished = {"revision": [self._settings_digest]}
        schema = JUDGED.arrow_schema
        empty = {name: [None] for name in schema.names}
        self._engine.give("done", pa.table({**empty, **finished}, schema=schema))
        judged = rule("judged_chapters")
        sql = f"SELECT * FROM noted UNION ALL SELECT * FROM done UNION ALL SELECT * FROM ({judged}) AS judged"
        self._engine.replace(JUDGED, [sql])

    @property
    def _changes(self) -> bool:
        return bool(self._history.parts or self._history.stale or not self.finished)


def _digest(settings: Settings) -> str:
    """A digest of the settings that episodes and coverage depend on."""
    chosen = (sorted(settings.severities.items()), sorted(each.name for each in settings.clusters))
    return hashlib.sha256(repr(chosen).encode()).hexdigest()

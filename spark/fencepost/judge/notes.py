"""What is noted of chapters that were judged: it makes sure that a run that was killed is repeated.

First of all the notes of chapters that do not stand are taken away, and with them what tells that a run was
finished. They are written anew when all else is. So a chapter that is noted has the pieces and decisions that
it was judged with, and a run that follows a finished one finds episodes and coverage made of all pieces.
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
    """The rows of ``verdicts.judged``. ``finished``: the last run was, with these settings."""

    def __init__(self, engine: Engine, settings: Settings, history: Chapters) -> None:
        self._engine, self._history = engine, history
        self._made_with = _digest(settings)
        engine.fetch("noted", JUDGED, None)
        said = engine.rows("SELECT revision FROM noted WHERE cluster IS NULL")
        self.finished = [row["revision"] for row in said] == [self._made_with]

    def forget(self) -> None:
        """Take away what does not stand, unless all does."""
        self._engine.fetch("noted", JUDGED, self._history.where_standing)
        if self._changes:
            self._engine.replace(JUDGED, "SELECT * FROM noted")

    def finish(self) -> None:
        """Note the chapters that were judged, and that the run is finished."""
        if not self._history.known or not self._changes:
            return
        done = {"revision": [self._made_with]}
        schema = JUDGED.arrow_schema
        empty = {name: [None] for name in schema.names}
        self._engine.give("done", pa.table({**empty, **done}, schema=schema))
        judged = rule("judged_chapters")
        sql = f"SELECT * FROM noted UNION ALL SELECT * FROM done UNION ALL SELECT * FROM ({judged}) AS judged"
        self._engine.replace(JUDGED, sql)

    @property
    def _changes(self) -> bool:
        return bool(self._history.parts or self._history.stale or not self.finished)


def _digest(settings: Settings) -> str:
    """A digest of the settings that episodes and coverage are made with."""
    chosen = (sorted(settings.severities.items()), sorted(each.name for each in settings.clusters))
    return hashlib.sha256(repr(chosen).encode()).hexdigest()

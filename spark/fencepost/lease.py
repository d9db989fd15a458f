"""A lease of a lake that several machines share: one run of all machines writes to it at a time.

The lease is a row of a table. Who takes it replaces the row, in a commit that fails if anybody has committed
since the row was read (Iceberg's optimistic concurrency). Its holder says that it is alive by a property of
the table, in a commit that fails if the row is another one. No clocks are compared: a lease that has not
changed for ENDED_S by the clock of the one that waits has no living holder, and a holder that could not renew
it for LOST_S by its own clock commits nothing more.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.update import AssertRefSnapshotId, SetPropertiesUpdate

from fencepost.iceberg import commits
from fencepost.lake.tables import ensure
from fencepost.settings import Lake
from fencepost.tables import LEASES
from fencepost.waiting import JUST_BEGUN, LockError, wait_until

logger = logging.getLogger(__name__)

RENEWED_S, LOST_S, ENDED_S = 15.0, 90.0, 120.0
"""How often a lease is renewed; when its holder gives up; when the others take it."""

_RENEWAL, _RELEASED = "fencepost.renewal", "released"
_RETRIES = "commit.retry.num-retries"


class LeaseError(LockError):
    """Another run has had the lease for too long, or this run has lost it; the message says what to do."""


def _now() -> float:
    """Seconds that go on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """The lease, to be held in a ``with`` statement; ``holder``: who takes it, in words.

    Meanwhile every commit of this process raises LeaseError once the lease is lost. Taking it raises
    LeaseError if another run has had it for ``wait_s`` seconds.
    """

    def __init__(self, lake: Lake, holder: str, wait_s: float, now: Callable[[], float] = _now) -> None:
        self._catalog: Catalog = ensure(lake, [LEASES])
        while self._table().properties.get(_RETRIES) != "0":
            # a commit that fails must not be repeated on what somebody else has committed
            with suppress(CommitFailedException), commits.Change(self._table()) as change:
                change.set_properties({_RETRIES: "0"})
        self._holder, self._wait_s, self._now = holder, wait_s, now
        self._seen: tuple[int | None, str] | None = None
        self._seen_since = 0.0
        self._snapshot: int | None = None
        self._renewed, self._renewals = 0.0, 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_ended, name="lease", daemon=True)

    def __enter__(self) -> Self:
        self._acquire()
        commits.CHECKS.append(self.check)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        commits.CHECKS.remove(self.check)
        try:
            self._say(_RELEASED)
        except Exception as failed:
            logger.warning(
                "the lease of the lake could not be given back (%s): it ends by itself", _first_line(failed)
            )

    def check(self) -> None:
        """Raises LeaseError if the lease is lost."""
        if self._snapshot is None or self._now() - self._renewed > LOST_S:
            raise LeaseError(
                f"This run could not renew its lease of the lake for {LOST_S:.0f} s, so another one may "
                "write. What it has committed stands, and it commits nothing more: repeat the command."
            )

    def _acquire(self) -> None:
        wait_until(
            self._is_acquired,
            self._holder_now,
            self._wait_s,
            pause_s=1,
            remedy="Repeat the command when it has ended.",
            now=self._now,
            error=LeaseError,
        )

    def _is_acquired(self) -> bool:
        """Take the lease if it was given back, or has not changed since it was first seen ENDED_S ago."""
        table = self._table()
        state = (_snapshot_of(table), table.properties.get(_RENEWAL, _RELEASED))
        if state != self._seen:
            self._seen, self._seen_since = state, self._now()
        has_ended = state[1] == _RELEASED or self._now() - self._seen_since >= ENDED_S
        return has_ended and self._take(table)

    def _holder_now(self) -> str:
        rows = self._table().scan().to_arrow()["holder"].to_pylist()
        return rows[0] if rows else JUST_BEGUN

    def _take(self, table: IcebergTable) -> bool:
        began = self._now()
        try:
            with commits.Change(table) as change:
                change.set_properties({_RENEWAL: "0"})
                commits.overwrite(change, LEASES.rows([(self._holder,)]))
                # of this commit: once it is made, and this process is suspended, another run may take over
                taken = change.table_metadata.current_snapshot_id
        except CommitFailedException:
            return False
        self._snapshot, self._renewed = taken, began
        return True

    def _renew_until_ended(self) -> None:
        while not self._ended.wait(RENEWED_S):
            began = self._now()
            if began - self._renewed > LOST_S:
                return
            try:
                self._renewals += 1
                self._say(str(self._renewals))
                self._renewed = began
            except CommitFailedException:
                self._snapshot = None
                return
            except Exception as failed:
                logger.warning(
                    "the lease of the lake could not be renewed (%s): trying again", _first_line(failed)
                )

    def _say(self, renewal: str) -> None:
        """Raises CommitFailedException if the lease is not this run's any more."""
        if self._snapshot is None:
            return
        own = AssertRefSnapshotId.model_validate({"ref": "main", "snapshot-id": self._snapshot})
        update = SetPropertiesUpdate(updates={_RENEWAL: renewal})
        while True:
            table = self._table()
            try:
                self._catalog.commit_table(table, (own,), (update,))
                return
            except CommitFailedException:
                # two commits at the same time, of which one fails, leave the lease to its holder
                if _snapshot_of(self._table()) != self._snapshot:
                    raise

    def _table(self) -> IcebergTable:
        return self._catalog.load_table(LEASES.name)


def _first_line(error: Exception) -> str:
    """The reason, without the statement and its values that a database's error has below it."""
    return str(error).partition("\n")[0] or type(error).__name__


def _snapshot_of(table: IcebergTable) -> int | None:
    snapshot = table.current_snapshot()
    return None if snapshot is None else snapshot.snapshot_id

"""Rows of silver about one partition's log: epochs of its batches, leader epochs, checkpoints, coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from fencepost.protocols.leader_epoch.acknowledged import Acknowledged
from fencepost.protocols.leader_epoch.checkpoints import Checkpoint, Entry
from fencepost.protocols.leader_epoch.elections import Election
from fencepost.protocols.leader_epoch.metadata_epochs import MetadataEpochs, lost_of
from fencepost.protocols.leader_epoch.partition_logs import LostOffsets, PartitionLog, Run
from fencepost.protocols.leader_epoch.tables import (
    LEADER_EPOCH_ENTRIES,
    LEADER_EPOCHS,
    METADATA_COVERAGE,
    PARTITION_BATCHES,
    PARTITION_EXTENTS,
)
from fencepost.protocols.leader_epoch.truncations import Truncation
from fencepost.replay.columns import Columns
from fencepost.replay.coverage import log_coverage
from fencepost.replay.keys import digest_of

TABLES = (METADATA_COVERAGE, PARTITION_BATCHES, LEADER_EPOCHS, LEADER_EPOCH_ENTRIES, PARTITION_EXTENTS)


class LogRows:
    """The rows of one log."""

    def __init__(
        self,
        rows: Mapping[str, Columns],
        log: PartitionLog,
        metadata_epochs: MetadataEpochs,
        cut: Sequence[Truncation],
        answers: Sequence[Acknowledged] = (),
    ) -> None:
        """``rows`` collects the rows, by the table's name. ``cut``: what replicas truncated of the log;
        ``answers``: the offsets of it that brokers acknowledged to producers.
        """
        self._rows, self._log, self._metadata_epochs, self._cut = rows, log, metadata_epochs, cut
        self._answers = answers
        self._about = log.place.about
        self._runs, self._first = log.runs(), log.first_offsets()

    def add(self, checkpoints: Sequence[Checkpoint]) -> None:
        """Add all rows of the log. ``checkpoints``: those of its replicas."""
        log = self._log.log
        log_coverage(self._rows[METADATA_COVERAGE.name], (*self._about, None), log, self._log.clock())
        self._batches()
        agreed, starts = self._entries(checkpoints)
        self._epochs(agreed)
        start = starts if starts is not None else (self._runs[0].begins if self._runs else None)
        extent = (start, self._log.end_offset(), self._metadata_epochs.lives)
        self._rows[PARTITION_EXTENTS.name].add(*self._about, *extent, start, None, None, None)

    def _batches(self) -> None:
        runs, log = self._runs, self._log
        ends = {stretch.number: stretch for stretch in log.log.stretches}
        for number, run in enumerate(runs):
            given = self._metadata_epochs.gave(run.leader_epoch, log.dated_ms(run))
            after = runs[number + 1] if number + 1 < len(runs) else None
            end, end_ms = (None, None) if after is None else (after.begins, after.ms)
            stretch = ends[log.stretch_of(run)]
            if stretch.to_offset is not None and (end is None or end > stretch.to_offset):
                end, end_ms = stretch.to_offset, stretch.last_ms
            self._rows[PARTITION_BATCHES.name].add(
                *self._about,
                run.leader_epoch,
                run.batches,
                run.ends - 1,
                given,
                self._metadata_epochs.why_unknown(run.leader_epoch) if given is None else None,
                *log.provenance(run),
                run.begins,
                end,
                run.ms,
                end_ms,
            )

    def _entries(self, checkpoints: Sequence[Checkpoint]) -> tuple[dict[int, list[bool | None]], int | None]:
        """Add the rows of checkpoints. Returns, by epoch, whether each entry agrees with the batches; and
        where the log begins according to the newest checkpoint.
        """
        agreed: dict[int, list[bool | None]] = {}
        newest: tuple[int, int] | None = None
        for of in checkpoints:
            end = self._log.end_in(of.broker_id, of.file.rpartition("/")[0])
            entries = of.all_entries
            following = {entry.leader_epoch: after for entry, after in pairwise(of.entries)}
            for number, (epoch, start) in enumerate(entries):
                agrees = self._agrees(epoch, start, end, is_first=number == 0)
                if epoch in following and self._has_between(epoch, following[epoch]):
                    agrees = False
                agreed.setdefault(epoch, []).append(agrees)
                after = entries[number + 1].start_offset if number + 1 < len(entries) else None
                self._rows[LEADER_EPOCH_ENTRIES.name].add(
                    *self._about,
                    digest_of(*self._about[:2], of.broker_id, of.state, of.content_digest, epoch),
                    of.broker_id,
                    of.state,
                    epoch,
                    start,
                    self._first.get(epoch),
                    agrees,
                    of.captured_ms,
                    of.file,
                    start,
                    after,
                    None,
                    None,
                )
            if of.entries and of.state == "live":
                checkpoint_start = (of.captured_ms, of.entries[0].start_offset)
                newest = checkpoint_start if newest is None else max(newest, checkpoint_start)
        return agreed, None if newest is None else newest[1]

    def _agrees(self, epoch: int, start: int, end: int | None, *, is_first: bool) -> bool | None:
        """Whether batches show the same start of an epoch; None where they do not tell. Retention moves the
        start of a log's first epoch on. ``end``: the end of the replica's log.
        """
        first = self._first.get(epoch)
        if first is None:
            return True if self._fits_without_batch(epoch, start, end) else None
        if start > first:
            return is_first or False
        if start < first and self._log.begins_exactly(epoch, first):
            return False
        if start < first and not self._log.has_none_below(first):
            return None
        # older epochs lie before it, newer ones behind
        known = (run for run in self._runs if run.leader_epoch >= 0)
        return all((run.begins < start) == (run.leader_epoch < epoch) for run in known)

    def _has_between(self, epoch: int, after: Entry) -> bool:
        """Whether batches of a newer epoch, which has no entry, begin before the entry that comes next."""
        newer = (run for run in self._runs if epoch < run.leader_epoch < after.leader_epoch)
        return any(run.begins < after.start_offset for run in newer)

    def _fits_without_batch(self, epoch: int, start: int, end: int | None) -> bool:
        """Whether an epoch of which no batch is known begins at ``start``. A leader writes its epoch to the
        checkpoint before its first batch, and the next leader may come before it has written any.
        """
        if end is None or start > end or not self._log.is_unbroken():
            return False
        known = [run for run in self._runs if run.leader_epoch >= 0]
        older = [run for run in known if run.leader_epoch < epoch]
        newer = [run for run in known if run.leader_epoch > epoch]
        is_between = all(run.ends <= start for run in older) and all(run.begins >= start for run in newer)
        return is_between and (start == end or len(newer) > 0)

    def _epochs(self, agreed: Mapping[int, list[bool | None]]) -> None:
        elections = {each.leader_epoch: each for each in self._metadata_epochs.elections}
        survived: dict[int, list[Run]] = {}
        for run in self._runs:
            survived.setdefault(run.leader_epoch, []).append(run)
        lost = self._log.lost(self._cut)
        epochs = sorted({*self._first, *survived, *(e for e in elections if e is not None)})
        for number, epoch in enumerate(epochs):
            runs, election = survived.get(epoch, []), elections.get(epoch)
            begins = runs[0].begins if runs else None
            at = begins if begins is not None else self._first.get(epoch, self._behind(epoch))
            following = [survived[each][0].begins for each in epochs[number + 1 :] if each in survived]
            written_from = begins if begins is not None else min(following, default=None)
            has_all = partial(self._log.has_all, self._answers, begin=written_from)
            cut = lost_of(self._metadata_epochs, epoch, lost, has_all)
            dated = [self._log.dated_ms(run) for run in runs]
            self._rows[LEADER_EPOCHS.name].add(
                *self._about,
                epoch,
                None if election is None else election.leader,
                None if election is None else election.previous_leader,
                None if election is None else election.at.position,
                None if election is None else election.at.ms,
                None if election is None else election.how,
                begins,
                runs[-1].ends if runs else None,
                None if None in (counts := [run.batches for run in runs]) else sum(counts),
                sum(run.ends - run.begins for run in runs),
                *_lost(cut),
                _all_agree(agreed.get(epoch, [])),
                None if election is None else election.leaders_moved,
                None if election is None else election.failed_log_dir,
                *request_columns(election),
                epoch in self._first,
                self._metadata_epochs.gave(epoch, next((ms for ms in dated if ms is not None), None)),
                at,
                min(following, default=None),
                runs[0].ms if runs else None,
                None,
            )

    def _behind(self, epoch: int) -> int:
        """Where an epoch without batches would begin: behind the batches of older epochs."""
        return max((run.ends for run in self._runs if run.leader_epoch < epoch), default=0)


def request_columns(election: Election | None) -> tuple[str | None, ...]:
    """The columns elected_request_id, elected_by and elected_by_client_id."""
    return (None, None, None) if election is None or election.request is None else tuple(election.request)


def _lost(cut: LostOffsets | None) -> tuple[Any, ...]:
    if cut is None:
        return (None, None, None, None, None)
    if cut.leader_epoch < 0:
        return (0, None, None, None, [])
    brokers = [str(each) for each in cut.brokers]
    return (cut.ends - cut.begins, cut.begins, cut.ends, cut.leader_epoch, brokers)


def _all_agree(agreed: list[bool | None]) -> bool | None:
    if False in agreed:
        return False
    return True if agreed and None not in agreed else None

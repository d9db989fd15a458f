"""Compacts a group coordinator's log before a window or a chapter.

All records about groups are kept, so that lives and members of groups stay known. Nearly all records of such
a log are commits. Of these the ones are kept that give the stored offsets at the end: the last one of each
key, the marker of its transaction, and all commits of transactions that have not ended. Each group's first
commit is kept too: its offset names the life of a group that has only commits.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.group_coordinator.records import COMMIT_TYPES, MARKERS, group_of
from fencepost.replay.logs import Log, Longs, longs
from fencepost.replay.merged_batches import Mask, are_whole, mask, merge_batches

_NEVER = np.iinfo(np.int64).max


def compacted(batches: pa.Table, records: pa.Table, log: Log) -> tuple[pa.Table, pa.Table]:
    """The rows of ``bronze.batches`` and ``bronze.records`` of a log that are kept.

    Successive batches without a kept record become one row without a crc, so no offset is missing that was
    there before.
    """
    place = log.find_all(longs(records["base_offset"]), longs(records["leader_epoch"]))
    survivors = np.flatnonzero(place >= 0)
    records, place = records.take(pa.array(survivors)), place[survivors]
    bulk = _bulk(records)
    is_kept = ~bulk | _is_kept(records)
    batches = batches.take(pa.array(log.rows))
    first_of_epoch = np.concatenate([[True], log.leader_epoch[1:] != log.leader_epoch[:-1]])[: len(log)]
    stay = first_of_epoch | ~are_whole(batches)
    stay[place[is_kept]] = True
    # a batch without any known record must not be merged
    mentioned = np.zeros(len(log), dtype=np.bool_)
    mentioned[place] = True
    stay |= ~mentioned & np.asarray(pc.is_valid(batches["crc"]).to_numpy(zero_copy_only=False))
    return merge_batches(batches, stay), records.filter(pa.array(is_kept))


def _bulk(records: pa.Table) -> Mask:
    """Which records are markers or commits that could be read."""
    commits = pc.and_(
        pc.is_in(records["record_type"], pa.array(COMMIT_TYPES, pa.int32())),
        pc.equal(records["decode_status"], "known"),
    )
    return mask(pc.or_(commits, records["is_control"]))


def _is_kept(records: pa.Table) -> Mask:
    """Which commits and markers are kept."""
    is_kept = np.zeros(records.num_rows, dtype=np.bool_)
    offsets = longs(records["record_offset"])
    control = mask(records["is_control"])
    commits = np.flatnonzero(_bulk(records) & ~control)
    if not len(commits):
        return is_kept
    ended, marker, committed = _ends(records, offsets, control, commits)
    at = offsets[commits]
    pending = ended == _NEVER
    keys = records["key"].take(pa.array(commits)).combine_chunks().dictionary_encode()
    codes = longs(keys.indices.cast(pa.int64()))
    effective = np.flatnonzero(committed & ~pending)
    for order in (at, ended):
        stay = effective[_last(codes[effective], order[effective])]
        is_kept[commits[stay]] = True
        is_kept[marker[stay][marker[stay] >= 0]] = True
    is_kept[commits[pending]] = True
    valued = np.flatnonzero(mask(pc.is_valid(records["value"].take(pa.array(commits)))))
    if len(valued):
        names = np.array([group_of(key) for key in keys.dictionary.to_pylist()], dtype=object)
        groups = np.unique(names, return_inverse=True)[1][codes]
        is_kept[commits[valued[_last(groups[valued], -at[valued])]]] = True
    return is_kept


def _ends(records: pa.Table, offsets: Longs, control: Mask, commits: Longs) -> tuple[Longs, Longs, Mask]:
    """For each commit the offset at which it took effect or was aborted (_NEVER: not yet), the row of the
    marker that decided it (-1: none was needed), and whether it took effect.
    """
    ended, marker = offsets[commits].copy(), np.full(len(commits), -1, dtype=np.int64)
    committed = np.ones(len(commits), dtype=np.bool_)
    transactional = np.flatnonzero(mask(records["is_transactional"].take(pa.array(commits))))
    if not len(transactional):
        return ended, marker, committed
    producers = longs(records["producer_id"])
    kinds = longs(pc.fill_null(records["record_type"], -1))
    markers = np.flatnonzero(control & np.isin(kinds, list(MARKERS)))
    # each producer's commits and markers in log order: the marker of a commit is the next one
    rows = np.concatenate([commits[transactional], markers])
    order = np.lexsort((offsets[rows], producers[rows]))
    is_marker = order >= len(transactional)
    places = np.where(is_marker, np.arange(len(order)), len(order))
    following = np.append(np.minimum.accumulate(places[::-1])[::-1], len(order))
    after = np.append(rows[order], -1)[following[:-1]][~is_marker]
    each = order[~is_marker]
    own = rows[each]
    has_marker = (after >= 0) & (producers[after] == producers[own])
    at = transactional[each]
    marker[at] = np.where(has_marker, after, -1)
    ended[at] = np.where(has_marker, offsets[after], _NEVER)
    committing_kinds = [kind for kind, outcome in MARKERS.items() if outcome == "committed"]
    committed[at] = ~has_marker | np.isin(kinds[after], committing_kinds)
    return ended, marker, committed


def _last(groups: Longs, order: Longs) -> Longs:
    """For each group the place of its last element by ``order``; of equal ones the later place."""
    places = np.lexsort((order, groups))
    ends = np.concatenate([groups[places][1:] != groups[places][:-1], [True]])[: len(places)]
    return np.asarray(places[ends], dtype=np.int64)

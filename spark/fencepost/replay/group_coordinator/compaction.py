"""What is kept of a group coordinator's log before the window of an audit.

All that says something about groups stays, so that their lives and members are known as ever. Of commits,
which are nearly all of such a log, those stay that tell what is stored at its end: the last one of each key,
the marker of its transaction, and what is in a transaction that has not ended. A group keeps its first
commit, too: it names the life of one that has nothing else.
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
    """What is left of rows of ``bronze.batches`` and ``bronze.records`` of a log.

    Batches of which no record is left and that follow one upon the other are one row, without crc: no offset
    is missing that was there before.
    """
    place = log.find_all(longs(records["base_offset"]), longs(records["leader_epoch"]))
    there = np.flatnonzero(place >= 0)
    records, place = records.take(pa.array(there)), place[there]
    bulk = _bulk(records)
    kept = ~bulk | _kept(records)
    batches = batches.take(pa.array(log.rows))
    first_of_epoch = np.concatenate([[True], log.leader_epoch[1:] != log.leader_epoch[:-1]])[: len(log)]
    stay = first_of_epoch | ~are_whole(batches)
    stay[place[kept]] = True
    # a batch that nothing is known of is not one that may go
    mentioned = np.zeros(len(log), dtype=np.bool_)
    mentioned[place] = True
    stay |= ~mentioned & np.asarray(pc.is_valid(batches["crc"]).to_numpy(zero_copy_only=False))
    return merge_batches(batches, stay), records.filter(pa.array(kept))


def _bulk(records: pa.Table) -> Mask:
    """Commits that can be read, and markers."""
    commits = pc.and_(
        pc.is_in(records["record_type"], pa.array(COMMIT_TYPES, pa.int32())),
        pc.equal(records["decode_status"], "known"),
    )
    return mask(pc.or_(commits, records["is_control"]))


def _kept(records: pa.Table) -> Mask:
    """The commits and markers that stay."""
    kept = np.zeros(records.num_rows, dtype=np.bool_)
    offsets = longs(records["record_offset"])
    control = mask(records["is_control"])
    commits = np.flatnonzero(_bulk(records) & ~control)
    if not len(commits):
        return kept
    ended, marker, committed = _ends(records, offsets, control, commits)
    at = offsets[commits]
    pending = ended == _NEVER
    keys = records["key"].take(pa.array(commits)).combine_chunks().dictionary_encode()
    codes = longs(keys.indices.cast(pa.int64()))
    effective = np.flatnonzero(committed & ~pending)
    for order in (at, ended):
        stay = effective[_last(codes[effective], order[effective])]
        kept[commits[stay]] = True
        kept[marker[stay][marker[stay] >= 0]] = True
    kept[commits[pending]] = True
    valued = np.flatnonzero(mask(pc.is_valid(records["value"].take(pa.array(commits)))))
    if len(valued):
        names = np.array([group_of(key) for key in keys.dictionary.to_pylist()], dtype=object)
        groups = np.unique(names, return_inverse=True)[1][codes]
        kept[commits[valued[_last(groups[valued], -at[valued])]]] = True
    return kept


def _ends(records: pa.Table, offsets: Longs, control: Mask, commits: Longs) -> tuple[Longs, Longs, Mask]:
    """Of each commit the offset at which it took effect or was dropped (_NEVER: not yet), the row of the
    marker that said so (-1: none was needed), and whether it took effect.
    """
    ended, marker = offsets[commits].copy(), np.full(len(commits), -1, dtype=np.int64)
    committed = np.ones(len(commits), dtype=np.bool_)
    transactional = np.flatnonzero(mask(records["is_transactional"].take(pa.array(commits))))
    if not len(transactional):
        return ended, marker, committed
    producers = longs(records["producer_id"])
    kinds = longs(pc.fill_null(records["record_type"], -1))
    markers = np.flatnonzero(control & np.isin(kinds, list(MARKERS)))
    # each producer's commits and markers in the log's order: the marker of a commit is the next one there
    rows = np.concatenate([commits[transactional], markers])
    order = np.lexsort((offsets[rows], producers[rows]))
    is_marker = order >= len(transactional)
    places = np.where(is_marker, np.arange(len(order)), len(order))
    following = np.append(np.minimum.accumulate(places[::-1])[::-1], len(order))
    after = np.append(rows[order], -1)[following[:-1]][~is_marker]
    each = order[~is_marker]
    own = rows[each]
    found = (after >= 0) & (producers[after] == producers[own])
    at = transactional[each]
    marker[at] = np.where(found, after, -1)
    ended[at] = np.where(found, offsets[after], _NEVER)
    kept = [kind for kind, outcome in MARKERS.items() if outcome == "committed"]
    committed[at] = ~found | np.isin(kinds[after], kept)
    return ended, marker, committed


def _last(groups: Longs, order: Longs) -> Longs:
    """The place of the last of each group by ``order``; of two alike the later."""
    places = np.lexsort((order, groups))
    ends = np.concatenate([groups[places][1:] != groups[places][:-1], [True]])[: len(places)]
    return np.asarray(places[ends], dtype=np.int64)

"""The last step: where the logs of partitions and of coordinators meet, by producer id and by partition.

Both count: the transactions that the coordinator completed with a partition in them, and the markers that the
partition holds. No clock is needed for that; only whether a log is known past a moment is asked by time.
Over columns: every transaction of every partition passes here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Account, Replayed, rows_of
from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Key, Longs, longs, nullable
from fencepost.replay.columns import Columns, arrow_schema
from fencepost.replay.keys import TRANSACTIONS_TOPIC, digest_of
from fencepost.replay.metadata import ClusterMetadata
from fencepost.tables import PARTITION_TRANSACTIONS, PRODUCER_FENCINGS, TRANSACTION_MARKERS

_LOG = ("cluster", "topic", "partition", "partition_key")
_NEWEST = (*_LOG, "name")
NEWEST = pa.schema(
    [
        ("cluster", pa.string()), ("topic", pa.string()), ("partition", pa.int32()),
        ("partition_key", pa.string()), ("name", pa.string()), ("prepared_position", pa.int64()),
    ]
)  # fmt: skip
"""The newest transaction of each coordinator's log whose marker is in a partition (``name``)."""


@dataclass(frozen=True, slots=True)
class Known:
    """How much of what coordinators know of a producer id is known.

    ``whole``: the log has no hole, from its beginning or from where it was compacted on; ``whole_ms`` is when
    that was (UNKNOWN for the beginning), ``known_ms`` how far it goes. ``transactional_id`` is None where no
    coordinator's log names the producer id.
    """

    transactional_id: str | None
    whole: bool
    whole_ms: int
    known_ms: int


_NOTHING = Known(None, False, UNKNOWN, UNKNOWN)


@dataclass(frozen=True)
class Facts:
    """What every task of the last step needs of all logs; small, and picklable.

    ``whole``: by cluster and name of a partition ('topic:partition'): it is known from its beginning on,
    without a hole, and was never made again. ``others``: by cluster, what holds for a producer id that no
    coordinator's log names: any of them might know it.
    """

    whole: Mapping[tuple[str, str], bool] = field(default_factory=dict)
    others: Mapping[str, Known] = field(default_factory=dict)


def facts(told: Account, files: pa.Table, metadata: Mapping[str, ClusterMetadata]) -> Facts:
    """From the rows of kinds LOG and COORDINATOR in the accounts of the first two steps.

    ``files``: rows of ``bronze.files``.
    """
    whole: dict[tuple[str, str], bool] = {}
    logs = rows_of(told, account.LOG)
    columns = (logs[name].to_pylist() for name in ("cluster", "topic", "partition", "whole"))
    for cluster, topic, partition, is_whole in zip(*columns, strict=True):
        key = (cluster, f"{topic}:{partition}")
        # one of two incarnations of a topic does not tell all
        whole[key] = is_whole and key not in whole
    return Facts(whole, _others(told, files, metadata))


def _others(told: Account, files: pa.Table, metadata: Mapping[str, ClusterMetadata]) -> dict[str, Known]:
    captured: dict[str, set[str]] = {}
    segment = re.compile(rf"{TRANSACTIONS_TOPIC}-(\d+)/\d{{20}}\.log")
    for cluster, file in zip(files["cluster"].to_pylist(), files["file"].to_pylist(), strict=True):
        name = segment.search(file)
        if name:
            captured.setdefault(cluster, set()).add(name[1])
    found: dict[str, Known] = {}
    logs = rows_of(told, account.COORDINATOR)
    whole = logs["whole"].to_pylist()
    times = (longs(logs[name]).tolist() for name in ("whole_ms", "known_ms"))
    for cluster, is_whole, whole_ms, known_ms in zip(logs["cluster"].to_pylist(), whole, *times, strict=True):
        counts = metadata.get(cluster, ClusterMetadata()).partition_counts
        # every coordinator must have been captured
        every = counts.get(TRANSACTIONS_TOPIC) == len(captured.get(cluster, ()))
        before = found.get(cluster, Known(None, every, UNKNOWN, known_ms))
        found[cluster] = Known(
            None,
            before.whole and is_whole,
            max(before.whole_ms, whole_ms),
            min(before.known_ms, known_ms),
        )
    return found


def newest_markers(told: Account, known: Facts) -> pa.Table:
    """NEWEST of some producer ids: all that a task of the last step must know of the others' transactions.

    ``told``: rows of the accounts, as ``meet`` takes them. Tables of several tasks are concatenated.
    """
    due = _Meeting(told, known).due
    there = due.rows.filter(pa.array(due.right > 0))
    return _newest_of([there])


def _newest_of(rows: Iterable[pa.Table]) -> pa.Table:
    found = pa.concat_tables([NEWEST.empty_table(), *(each.select(NEWEST.names) for each in rows)])
    found = found.group_by(list(_NEWEST)).aggregate([("prepared_position", "max")])
    return found.rename_columns(NEWEST.names).cast(NEWEST)


def meet(told: Account, known: Facts, newest: pa.Table, tolerance_ms: int) -> Replayed:
    """silver.partition_transactions, silver.transaction_markers and silver.producer_fencings.

    ``told``: every row of the accounts about some (cluster, producer id), those without a producer id being
    one of them. Rows of the kinds LOG and COORDINATOR are left out. ``newest``: what newest_markers gave for
    all producer ids.
    """
    meeting = _Meeting(told, known)
    return Replayed(
        {
            PARTITION_TRANSACTIONS.name: _partition_transactions(meeting, known, tolerance_ms),
            TRANSACTION_MARKERS.name: _transaction_markers(meeting.due, _newest_of([newest])),
            PRODUCER_FENCINGS.name: _producer_fencings(told, meeting, known),
        }
    )


class _Meeting:
    """Rows of partitions and of coordinators, with a number for what they meet by: cluster, partition's name,
    producer id and epoch.
    """

    def __init__(self, told: Account, known: Facts) -> None:
        self.held = _with_name(rows_of(told, account.HELD))
        self.markers = _with_name(rows_of(told, account.MARKER))
        self.listed = rows_of(told, account.LISTED)
        prepared = self.listed.filter(pc.is_valid(self.listed["prepared_position"]))
        sides = [self.held, self.markers, self.listed, prepared]
        epochs = ["producer_epoch", "producer_epoch", "producer_epoch", "prepared_epoch"]
        self.held_at, marked_at, self.listed_at, due_at = _numbers(sides, epochs)
        self.known = _known(told)
        self.due = _Due(prepared, due_at, self.markers, marked_at, known)


def _with_name(rows: pa.Table) -> pa.Table:
    name = pc.binary_join_element_wise(rows["topic"], rows["partition"].cast(pa.string()), ":")
    return rows.append_column("name", name)


def _numbers(sides: Sequence[pa.Table], epochs: Sequence[str]) -> list[Longs]:
    columns = []
    for key in ("cluster", "name"):
        texts = pa.chunked_array([chunk for side in sides for chunk in side[key].chunks], pa.string())
        columns.append(longs(texts.combine_chunks().dictionary_encode().indices))
    columns.append(np.concatenate([longs(side["producer_id"]) for side in sides]))
    columns.append(np.concatenate([longs(side[epoch]) for side, epoch in zip(sides, epochs, strict=True)]))
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, places = np.unique(column, return_inverse=True)
        _, codes = np.unique(codes * (len(values) + 1) + places, return_inverse=True)
    return np.split(codes, np.cumsum([side.num_rows for side in sides])[:-1])


def _known(told: Account) -> dict[tuple[str, int], Known]:
    """What is known of each producer id that a coordinator's log names: the least of all that name it."""
    found: dict[tuple[str, int], Known] = {}
    rows = rows_of(told, account.KNOWN)
    columns = (rows[name].to_pylist() for name in ("cluster", "producer_id", "transactional_id", "whole"))
    times = (longs(rows[name]).tolist() for name in ("whole_ms", "known_ms"))
    for cluster, producer_id, transactional_id, whole, whole_ms, known_ms in zip(
        *columns, *times, strict=True
    ):
        one = Known(transactional_id, whole, whole_ms, known_ms)
        other = found.setdefault((cluster, producer_id), one)
        if other != one:
            found[cluster, producer_id] = Known(
                min(other.transactional_id or "", transactional_id),
                other.whole and whole,
                max(other.whole_ms, whole_ms),
                min(other.known_ms, known_ms),
            )
    return found


_TYPES = ("ABORT", "COMMIT")


class _Due:
    """The markers that are due by the coordinators' transactions, and those that were found.

    A marker belongs to a transaction by the producer id and epoch of the Prepare record. Where an epoch has
    several transactions (before transaction version 2) they meet in order, if there are as many markers as
    prepared transactions, and the partition's log is whole: none is missing between.
    """

    def __init__(self, rows: pa.Table, at: Longs, markers: pa.Table, marked_at: Longs, known: Facts) -> None:
        order = np.lexsort((longs(rows["prepared_position"]), at))
        self.rows, at = rows.take(pa.array(order)), at[order]
        order = np.lexsort((longs(markers["timestamp_ms"]), longs(markers["offset"]), marked_at))
        self.markers, marked_at = markers.take(pa.array(order)), marked_at[order]
        first_due = np.searchsorted(at, at)
        self.of_epoch = np.searchsorted(at, at, side="right") - first_due
        self.number = np.arange(len(at)) - first_due
        self.first = np.searchsorted(marked_at, at)
        self.size = np.searchsorted(marked_at, at, side="right") - self.first
        self._types = _places(self.markers["type"])
        self.type = _places(self.rows["due_type"])
        self.alone = self.of_epoch == 1
        self.whole = _whole(self.rows, known)
        self.met = self.alone | (self.whole & (self.of_epoch == self.size))
        # how many markers of the due type are before each, to count those of one epoch
        self._before = [np.concatenate([[0], np.cumsum(self._types == each)]) for each in range(len(_TYPES))]
        in_order = self.first + np.minimum(self.number, np.maximum(self.size - 1, 0))
        self._in_order = np.where(self.size > 0, in_order, UNKNOWN)
        right = np.where(self.alone, self._count(), self._is_due(self._in_order))
        self.right = np.where(self.met, right, 0)

    def _count(self) -> Longs:
        """How many markers of the due type each epoch has."""
        last = self.first + self.size
        counts = [before[last] - before[self.first] for before in self._before]
        return np.where(self.type == 1, counts[1], counts[0])

    def _is_due(self, markers: Longs) -> Flags:
        if not len(self._types):
            return np.zeros(len(markers), dtype=np.bool_)
        return (markers != UNKNOWN) & (self._types[np.maximum(markers, 0)] == self.type)

    def first_right(self) -> Longs:
        """The first marker of the due type; UNKNOWN where there is none."""
        alone = np.full(len(self.first), UNKNOWN)
        for each, before in enumerate(self._before):
            # as many markers of its type are before it as before the epoch's first
            places = np.flatnonzero(self._types == each)
            wanted = (self.type == each) & (self.right > 0)
            alone[wanted] = places[before[self.first[wanted]]]
        return np.where(self.right > 0, np.where(self.alone, alone, self._in_order), UNKNOWN)


def _places(column: pa.ChunkedArray) -> Longs:
    return longs(pc.index_in(column, pa.array(_TYPES)))


def _transaction_markers(due: _Due, newest: pa.Table) -> pa.Table:
    """``silver.transaction_markers``.

    What is missing is only known to be, when the partition's log has no hole and holds the marker of a
    transaction that the coordinator prepared after this one was completed: no clock is asked.
    """
    rows, right, met = due.rows, due.right, due.met
    size = np.where(due.alone, due.size, 1)
    completed = longs(rows["completed_position"])
    past = due.whole & (completed != UNKNOWN) & (_newest(rows, newest) > completed)
    certain = (right > 0) | past
    marker = due.first_right()
    prepared = longs(rows["prepared_position"])
    prepared_at = nullable(longs(rows["prepared_ms"]), pa.timestamp("us", tz="UTC"))
    given = {
        **{name: rows[name] for name in (*_LOG, "transactional_id", "producer_id", "due_type")},
        "marker_id": _marker_ids(rows),
        "producer_epoch": rows["prepared_epoch"],
        "transaction_partition": rows["name"],
        "completed": pc.is_valid(rows["completed_position"]),
        "found": nullable(np.where(met & certain, right, UNKNOWN), pa.int64()),
        "wrong": nullable(np.where(met & (certain | (size > 0)), size - right, UNKNOWN), pa.int64()),
        "coordinator_epoch": rows["prepared_by_epoch"],
        "marker_coordinator_epoch": _taken(due.markers["coordinator_epoch"], marker),
        "marker_position": _taken(due.markers["offset"], marker),
        "marker_at": nullable(
            longs(_taken(due.markers["timestamp_ms"], marker)), pa.timestamp("us", tz="UTC")
        ),
        "from_position": rows["prepared_position"],
        "to_position": pa.array(prepared + 1),
        "from_time": prepared_at,
        "to_time": prepared_at,
    }
    return _table(given, arrow_schema(TRANSACTION_MARKERS))


def _marker_ids(rows: pa.Table) -> pa.Array:
    names = (*_LOG, "stretch", "transactional_id", "prepared_position", "name")
    columns = (rows[name].to_pylist() for name in names)
    return pa.array([digest_of(*values) for values in zip(*columns, strict=True)], pa.string())


def _whole(rows: pa.Table, known: Facts) -> Flags:
    keys = zip(rows["cluster"].to_pylist(), rows["name"].to_pylist(), strict=True)
    return np.fromiter((known.whole.get(key, False) for key in keys), np.bool_, rows.num_rows)


def _newest(rows: pa.Table, newest: pa.Table) -> Longs:
    columns = (newest[name].to_pylist() for name in NEWEST.names)
    positions: dict[Key, int] = {tuple(key): position for *key, position in zip(*columns, strict=True)}
    keys = zip(*(rows[name].to_pylist() for name in _NEWEST), strict=True)
    return np.fromiter((positions.get(key, UNKNOWN) for key in keys), np.int64, rows.num_rows)


def _taken(column: pa.ChunkedArray, at: Longs) -> pa.ChunkedArray:
    unknown = at == UNKNOWN
    return column.take(pa.array(np.where(unknown, 0, at), mask=unknown))


def _partition_transactions(meeting: _Meeting, known: Facts, tolerance_ms: int) -> pa.Table:
    """``silver.partition_transactions``: what partitions hold, and whether the coordinator lists it.

    Under one producer id and epoch a partition has as many closed transactions as the coordinator completed
    with it, at most: one more was never part of any. An open one is listed while the coordinator has one with
    the partition that it has not completed.
    """
    rows, at = meeting.held, meeting.held_at
    of_producers = _of_producers(rows, meeting.known, known)
    whole = np.array([each.whole for each in of_producers], dtype=np.bool_)
    whole_ms, known_ms = (
        np.array([getattr(each, name) for each in of_producers], dtype=np.int64)
        for name in ("whole_ms", "known_ms")
    )
    first_ms, ended_ms, answered_ms = (longs(rows[n]) for n in ("first_ms", "ended_ms", "answered_ms"))
    open_ = longs(rows["open"])
    by_coordinator = longs(rows["marker_coordinator_epoch"]) >= 0
    # of what ended before, a compacted log tells nothing, so it is not counted here either
    counts = (whole_ms == UNKNOWN) | (ended_ms == UNKNOWN) | (ended_ms > whole_ms)
    codes = max((int(each.max()) + 1 for each in (at, meeting.listed_at) if len(each)), default=0)
    closed = np.bincount(at[(open_ == 0) & by_coordinator & counts], minlength=codes)[at]
    listings = np.bincount(meeting.listed_at, minlength=codes)[at]
    completed = longs(meeting.listed["completed_position"])
    unfinished = np.bincount(meeting.listed_at[completed == UNKNOWN], minlength=codes)[at]
    began = np.where(answered_ms == UNKNOWN, first_ms, answered_ms)
    since = (whole_ms == UNKNOWN) | (began - tolerance_ms > whole_ms)
    past = whole & since & (known_ms != UNKNOWN) & (known_ms > began + tolerance_ms)
    free = listings - closed
    while_open = np.where(unfinished > 0, 1, np.where((free <= 0) & past, 0, UNKNOWN))
    ended = np.where((free >= 0) & since, 1, np.where(past & (listings == 0), 0, UNKNOWN))
    by_operator = np.where((free > 0) & since, 1, np.where((free <= 0) & past, 0, UNKNOWN))
    once = np.where(by_coordinator, ended, by_operator)
    listed = np.where(open_ == 1, while_open, np.where(open_ == 0, once, UNKNOWN))
    time = pa.timestamp("us", tz="UTC")
    given = {
        **{name: rows[name] for name in rows.schema.names},
        "transactional_id": pa.array([each.transactional_id for each in of_producers], pa.string()),
        "listed": nullable(listed, pa.bool_()),
        "from_position": rows["first_offset"],
        "to_position": rows["ended_position"],
        "from_time": nullable(began, time),
        "to_time": nullable(ended_ms, time),
    }
    return _table(given, arrow_schema(PARTITION_TRANSACTIONS))


def _of_producers(rows: pa.Table, told: Mapping[tuple[str, int], Known], known: Facts) -> list[Known]:
    keys = zip(rows["cluster"].to_pylist(), rows["producer_id"].to_pylist(), strict=True)
    return [told.get(key) or known.others.get(key[0], _NOTHING) for key in keys]


def _producer_fencings(told: Account, meeting: _Meeting, known: Facts) -> pa.Table:
    """``silver.producer_fencings``, with what the victim's transaction held when it was fenced."""
    fenced = rows_of(told, account.FENCED).to_pylist()
    rows = Columns(PRODUCER_FENCINGS)
    if not fenced:
        return rows.to_arrow()
    held = _held_by(meeting.held, {(each["cluster"], each["producer_id"]) for each in fenced})
    epochs = _epochs(told)
    for each in fenced:
        if each["transactional_id"] is None:
            each.update(_moved_locally(each, epochs))
        each["in_flight"] = _in_flight(each, held, known)
        each["occurred_at"], each["fenced_at"] = each["occurred_ms"], each["fenced_ms"]
        rows.add(*(each[name] for name in PRODUCER_FENCINGS.columns))
    return rows.to_arrow()


_Held = Mapping[tuple[str, int, int, str], tuple[int, int | None]]


def _held_by(held: pa.Table, producers: Iterable[tuple[str, int | None]]) -> _Held:
    """First offset and records of the newest transaction: by cluster, producer id, epoch and partition."""
    wanted = set(producers)
    ids = pa.array({producer_id for _, producer_id in wanted if producer_id is not None}, pa.int64())
    rows = held.filter(pc.is_in(held["producer_id"], ids))
    names = ("cluster", "producer_id", "producer_epoch", "name", "first_offset", "records")
    found: dict[tuple[str, int, int, str], tuple[int, int | None]] = {}
    for *key, first_offset, records in zip(*(rows[name].to_pylist() for name in names), strict=True):
        place = (key[0], key[1], key[2], key[3])
        if place not in found or found[place][0] < first_offset:
            found[place] = (first_offset, records)
    return found


def _in_flight(fencing: Mapping[str, object], held: _Held, known: Facts) -> str | None:
    listed = fencing["in_flight"]
    if not isinstance(listed, list):
        return None
    said = []
    for each in listed:
        topic, _, partition = each["name"].rpartition(":")
        key = (fencing["cluster"], fencing["producer_id"], fencing["victim_epoch"], each["name"])
        first_offset, records = held.get(key, (None, None))  # type: ignore[arg-type, call-overload]
        if records is None and known.whole.get((str(fencing["cluster"]), each["name"])):
            # a partition may be part of a transaction before anything is written to it
            records = 0
        said.append(
            {
                "topic": topic,
                "partition": int(partition),
                "first_offset": first_offset,
                "records": records,
                "outcome": each["outcome"],
            }
        )
    said.sort(key=lambda at: (at["topic"], at["partition"], at["first_offset"] or -1))
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False)


_Epochs = Mapping[tuple[str, int, str, int], list[tuple[int, int]]]


def _epochs(told: Account) -> _Epochs:
    """When a producer without transactions first wrote with each epoch, by cluster, producer and partition."""
    rows = rows_of(told, account.EPOCH)
    names = ("cluster", "producer_id", "topic", "partition", "first_ms", "producer_epoch")
    found: dict[tuple[str, int, str, int], list[tuple[int, int]]] = {}
    for *key, first_ms, epoch in zip(*(rows[name].to_pylist() for name in names), strict=True):
        found.setdefault((key[0], key[1], key[2], key[3]), []).append((first_ms, epoch))
    return found


def _moved_locally(fencing: Mapping[str, object], epochs: _Epochs) -> dict[str, object]:
    """The current epoch is the newest in the partition by then."""
    key = tuple(fencing[name] for name in ("cluster", "producer_id", "topic", "partition"))
    until = fencing["occurred_ms"]
    assert isinstance(until, int)
    there = [epoch for ms, epoch in epochs.get(key, ()) if ms <= until]  # type: ignore[call-overload]
    current = max(there, default=None)
    return {
        "current_epoch": current,
        # the only epoch below 1
        "victim_epoch": 0 if current == 1 else None,
        "cause": "local" if current is not None and current > 0 else None,
    }


def _table(given: Mapping[str, pa.Array | pa.ChunkedArray], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays([given[each.name].cast(each.type) for each in schema], schema=schema)

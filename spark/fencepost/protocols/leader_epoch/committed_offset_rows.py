"""Rows about committed offsets: stored commits with the requests that wrote them, and fetches from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.commit_facts import ClusterFacts, Groups
from fencepost.protocols.leader_epoch.commit_lines import CommitLine, ReadPosition
from fencepost.protocols.leader_epoch.commit_times import RequestTimes, match_requests
from fencepost.protocols.leader_epoch.commits import STORED
from fencepost.protocols.leader_epoch.fetched_commits import Row, with_commits
from fencepost.protocols.leader_epoch.origins import Origins
from fencepost.protocols.leader_epoch.states import (
    MET_COMMITS,
    MET_FETCHES,
    rows_of,
    states_of,
)
from fencepost.protocols.leader_epoch.tables import (
    COMMITTED_OFFSET_STATES,
    COMMITTED_OFFSETS,
    FETCH_POSITION_STATES,
    FETCH_POSITIONS,
    METADATA_LOG,
    OFFSET_REMOVALS,
    STORED_OFFSETS,
)
from fencepost.replay.columns import Columns
from fencepost.replay.entities import first_of_each, numbered_rows, numbered_values, tuples
from fencepost.replay.garbage_collection import collection_paused
from fencepost.replay.keys import digest_of, digests_of_texts
from fencepost.replay.logs import Longs, by_log, longs
from fencepost.replay.requests import NONE
from fencepost.tables import Table

TABLES = (
    COMMITTED_OFFSETS, COMMITTED_OFFSET_STATES, STORED_OFFSETS, OFFSET_REMOVALS, FETCH_POSITIONS,
    FETCH_POSITION_STATES,
)  # fmt: skip
_ROWS_AT_ONCE = 1 << 16
_UNKNOWN_TOPIC_ID = "UNKNOWN_TOPIC_ID"
_CONTENT = ("group_id", "topic", "partition", "offset", "leader_epoch")
"""The columns that a stored commit has in common with its request."""
_OF_CLIENT = slice(CommitLine._fields.index("client"), CommitLine._fields.index("request_id"))
_OF_REQUEST = slice(CommitLine._fields.index("request_id"), CommitLine._fields.index("file"))
_OF_LINE = slice(_OF_CLIENT.start, _OF_REQUEST.stop)
_ALIKE = (*ReadPosition._fields, "client", "client_id", "connection")
"""What tells all of a commit's client: a connection has one host, and one software."""
_OF_STORED = {
    **{
        name: name
        for name in (
            "cluster", "topic", "partition", "group_id", "commit_partition", "record_offset",
            "is_transactional", "file", "position",
        )
    },
    "committed_offset": "offset",
    "committed_leader_epoch": "leader_epoch",
}  # fmt: skip
"""By columns of silver.committed_offsets, the columns of STORED that they are copies of."""
_OF_MET = (
    "live_topic_id", "live_partition_epoch", "live_leader_epoch", "live_unknown", "candidates",
    "live_topic_ids", "live_partition_epochs", "live_leader_epochs",
)  # fmt: skip
_MET = Table(
    "met",
    "What lived where a commit was made.",
    {**{name: MET_COMMITS.columns[name] for name in _OF_MET}, "only_topic_id": "string"},
    (),
)


def committed_offsets(
    groups: Groups, stored: pa.Table, requests: pa.Table, positions: pa.Table
) -> Iterator[tuple[Table, pa.Table]]:
    """The rows of TABLES of some groups, in pieces.

    ``stored``: the groups' rows of STORED; ``requests``: of COMMIT_LINES; ``positions``: of MET_FETCHES, of
    fetches that began at an offset from OffsetFetch.
    """
    stored_of, requests_of, positions_of = (by_log(rows, "cluster") for rows in (stored, requests, positions))
    with collection_paused():
        for name in sorted(groups.known):
            lines = requests_of.get((name,), requests.slice(0, 0))
            offsets = CommittedOffsets(
                ClusterFacts(groups, name), stored_of.get((name,), stored.slice(0, 0)), lines
            )
            for commits in offsets.pieces():
                yield COMMITTED_OFFSETS, rows_of(MET_COMMITS, commits)
                yield COMMITTED_OFFSET_STATES, states_of(MET_COMMITS, commits)
            yield STORED_OFFSETS, offsets.stored_now()
            yield OFFSET_REMOVALS, offsets.removed()
            with_commit = offsets.positions_with_commits(
                positions_of.get((name,), positions.slice(0, 0)).to_pylist()
            )
            fetches = pa.Table.from_pylist(with_commit, schema=MET_FETCHES.arrow_schema)
            yield FETCH_POSITIONS, rows_of(MET_FETCHES, fetches)
            yield FETCH_POSITION_STATES, states_of(MET_FETCHES, fetches)


class CommittedOffsets:
    """The commits of one cluster: those that are stored, in the order of their logs, each with the request
    that wrote it where that is known; and the requests that were refused.
    """

    def __init__(self, facts: ClusterFacts, stored: pa.Table, requests: pa.Table) -> None:
        # one chunk each: Arrow's take() on several chunks first copies them into one, every time
        self._facts, self._requests = facts, requests.combine_chunks()
        self._rows = stored.sort_by([(name, "ascending") for name in STORED.key]).combine_chunks()
        names = ("commit_partition", "record_offset", "later_log")
        places = (self._rows[name].cast(pa.string()) for name in names)
        self._ids = pa.array(digests_of_texts(facts.name, "commit", *places), pa.string())
        self._lines, self._clients = self._matched()
        number, lived = self._lived
        only = lived["only_topic_id"].to_pylist()
        self._origins = Origins(
            self._rows, self._requests, self._clients, lambda row: only[number[row]], facts.tolerance_ms
        )

    def pieces(self) -> Iterator[pa.Table]:
        """The rows of MET_COMMITS, in pieces: a group may have millions."""
        for first in range(0, self._rows.num_rows, _ROWS_AT_ONCE):
            yield self._accepted(first, min(first + _ROWS_AT_ONCE, self._rows.num_rows))
        refused = Columns(MET_COMMITS)
        rows = self._requests.filter(pc.equal(self._requests["error"], _UNKNOWN_TOPIC_ID))
        for line in map(CommitLine._make, tuples(rows.select(CommitLine._fields))):
            refused.add(*self._refused(line))
        yield refused.to_arrow()

    def stored_now(self) -> pa.Table:
        """The rows of STORED_OFFSETS."""
        rows = self._rows.append_column("commit_id", self._ids)
        rows = rows.filter(pc.and_(pc.fill_null(rows["current"], True), pc.is_null(rows["removed"])))
        computed = {
            "is_newest": pc.if_else(_in_one_partition(rows), rows["current"], None),
            "from_position": rows["record_offset"],
            "to_position": pa.nulls(rows.num_rows),
            "from_time": _timestamps(rows["ms"]),
            "to_time": pa.nulls(rows.num_rows),
        }
        names = list(STORED_OFFSETS.columns)
        columns = [computed[name] if name in computed else rows[name] for name in names]
        return pa.table(columns, names=names).cast(STORED_OFFSETS.arrow_schema)

    def removed(self) -> pa.Table:
        """The rows of OFFSET_REMOVALS."""
        rows = self._rows.append_column("commit_id", self._ids)
        rows = rows.filter(pc.is_valid(rows["removed_ms"]))
        computed = {
            "committed_offset": rows["offset"],
            "committed_at": _timestamps(rows["ms"]),
            "removed_position": rows["removed"],
            "removed_at": _timestamps(rows["removed_ms"]),
        }
        names = list(OFFSET_REMOVALS.columns)
        columns = [computed[name] if name in computed else rows[name] for name in names]
        return pa.table(columns, names=names).cast(OFFSET_REMOVALS.arrow_schema)

    # --- requests -------------------------------------------------------------------------------------------

    def _matched(self) -> tuple[Longs, Longs]:
        """For each stored commit, the row of its request, the only one with the same content that was being
        handled when the record was written, and of one of several that were if the same (_ALIKE) is told of
        all; -1 where there is none.
        """
        stored = self._rows
        accepted = pc.indices_nonzero(pc.fill_null(pc.equal(self._requests["error"], NONE), False))
        requests = self._requests.select([*_CONTENT, *_ALIKE, "requested_ms", "responded_ms"]).take(accepted)
        alike = numbered_rows(*(numbered_values(requests[name])[0] for name in _ALIKE))
        columns = [numbered_values(requests[name], stored[name]) for name in _CONTENT]
        content = numbered_rows(*map(np.concatenate, columns))
        of_requests, of_stored = content[: requests.num_rows], content[requests.num_rows :]
        times = RequestTimes(
            of_requests, longs(requests["requested_ms"]), longs(requests["responded_ms"]), alike
        )
        found = match_requests(times, of_stored, longs(stored["ms"]), self._facts.tolerance_ms)
        rows = np.append(longs(accepted), -1)
        only, of_client = (rows[each] for each in found)
        return only, of_client

    # --- rows -----------------------------------------------------------------------------------------------

    def _accepted(self, first: int, end: int) -> pa.Table:
        facts, rows = self._facts, self._rows.slice(first, end - first)
        lowest, highest = (each[first:end] for each in self._windows)
        number, lived = self._lived
        number = pa.array(number[first:end])
        of_requests, of_clients = (
            self._requests.select(CommitLine._fields[columns]).take(pa.array(lines, mask=lines < 0))
            for columns, lines in (
                (_OF_REQUEST, self._lines[first:end]),
                (_OF_CLIENT, self._clients[first:end]),
            )
        )
        origins = [self._origins.of(row) for row in range(first, end)]
        places = zip(origins, rows["partition"].to_pylist(), strict=True)
        at = _timestamps(rows["ms"])
        columns = {
            **{name: rows[column] for name, column in _OF_STORED.items()},
            **{name: lived[name].take(number) for name in _OF_MET},
            **{name: of_clients[name] for name in of_clients.column_names},
            **{name: of_requests[name] for name in of_requests.column_names if not name.endswith("_ms")},
            "log": pa.repeat(METADATA_LOG, rows.num_rows),
            "commit_id": self._ids.slice(first, end - first),
            "by_id": pc.is_valid(rows["topic_id"]),
            "committed_topic_id": pc.fill_null(rows["topic_id"], ""),
            "origin_topic_id": pa.array([topic_id for topic_id, _ in origins], pa.string()),
            "origin_partition_epoch": pa.array(
                [facts.partition_epoch(topic_id, partition) for (topic_id, _), partition in places],
                pa.int32(),
            ),
            "origin": pa.array([how for _, how in origins], pa.string()),
            "error": pa.repeat(NONE, rows.num_rows),
            "requested_at": _timestamps(of_requests["requested_ms"]),
            "responded_at": _timestamps(of_requests["responded_ms"]),
            "from_position": pa.array(lowest),
            "to_position": pa.array(highest + 1),
            "committed_at": at,
            "from_time": at,
            "to_time": at,
        }
        columns_in_order = pa.table(
            [columns[name] for name in MET_COMMITS.columns], names=list(MET_COMMITS.columns)
        )
        return columns_in_order.cast(MET_COMMITS.arrow_schema)

    @cached_property
    def _windows(self) -> tuple[Longs, Longs]:
        """The offsets of the metadata log between which each commit was written (ClusterFacts.windows)."""
        return self._facts.windows(self._rows)

    @cached_property
    def _lived(self) -> tuple[Longs, pa.Table]:
        """What may have lived when each commit was written: rows of _MET, and for each commit the index of
        its row.
        """
        lowest, highest = self._windows
        place = self._rows.select(["topic", "partition", "topic_id"])
        numbered = (numbered_values(column)[0] for column in place.columns)
        number = numbered_rows(lowest, highest, *numbered)
        first = first_of_each(number)
        windows = map(Window, lowest[first].tolist(), highest[first].tolist())
        live = Columns(_MET)
        for window, each in zip(windows, tuples(place.take(pa.array(first))), strict=True):
            common, lists = self._facts.live_columns(window, *each)
            live.add(*common, *lists, self._facts.only_incarnation(window, each[0], common[0]))
        return number, live.to_arrow()

    def _refused(self, line: CommitLine) -> tuple[Any, ...]:
        facts, window = self._facts, self._facts.window_of(line)
        common, lists = facts.live_columns(window, line.topic, line.partition)
        identity = digest_of(line.request_id, line.topic, line.topic_id, line.partition)
        only = facts.only_incarnation(window, line.topic, common[0])
        origin, how = (line.fetched_topic_id, "fetched") if line.fetched_topic_id else (only, "only")
        return (
            line.cluster, METADATA_LOG, line.topic, line.partition, identity, line.group_id,
            line.offset, line.leader_epoch, line.topic_id is not None, line.topic_id or "",
            *common, origin, facts.partition_epoch(origin, line.partition),
            how if origin else None, line.error, None, None, None, *tuple(line)[_OF_LINE],
            line.file, line.position, None, window.lowest, window.highest + 1, line.requested_ms,
            line.responded_ms, *lists,
        )  # fmt: skip

    def positions_with_commits(self, positions: Sequence[Row]) -> list[Row]:
        """Fetch positions that began at an offset from OffsetFetch, each with the commit that stored the
        offset.
        """
        return with_commits(positions, self._rows, self._ids, self._origins, self._facts)


def _in_one_partition(stored: pa.Table) -> pa.Array:
    """For each row whether all offsets that its group has stored are in one partition of one log. If they are
    in several, it is not known where the group's coordinator looks.
    """
    group = ["later_log", "group_id"]
    places = stored.group_by([*group, "commit_partition"]).aggregate([])
    counts = places.group_by(group).aggregate([("commit_partition", "count")])
    several = set(tuples(counts.filter(pc.greater(counts["commit_partition_count"], 1)).select(group)))
    if not several:
        return pa.repeat(True, stored.num_rows)
    return pa.array([each not in several for each in tuples(stored.select(group))], pa.bool_())


def _timestamps(ms: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.multiply(ms, pa.scalar(1000, pa.int64())).cast(pa.timestamp("us", tz="UTC"))

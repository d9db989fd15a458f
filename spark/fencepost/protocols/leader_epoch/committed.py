"""Committed offsets: stored commits beside the requests for them, and where consumers went on from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.leader_epoch.commit_facts import ClusterFacts, Groups
from fencepost.protocols.leader_epoch.commit_lines import CommitLine
from fencepost.protocols.leader_epoch.commit_times import HandledRequests, RepeatedCommits
from fencepost.protocols.leader_epoch.commits import STORED
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
    STORED_OFFSETS,
)
from fencepost.replay.collection import collection_paused
from fencepost.replay.columns import Columns
from fencepost.replay.entities import tuples
from fencepost.replay.keys import digest_of, digests_of
from fencepost.replay.logs import by_log
from fencepost.replay.requests import NONE
from fencepost.tables import Table

TABLES = (COMMITTED_OFFSETS, COMMITTED_OFFSET_STATES, STORED_OFFSETS, FETCH_POSITIONS, FETCH_POSITION_STATES)
_UNKNOWN_TOPIC_ID = "UNKNOWN_TOPIC_ID"
_CONTENT = ("group_id", "topic", "partition", "offset", "leader_epoch")
"""What a stored commit has of its request."""
_OF_CLIENT = slice(CommitLine._fields.index("client"), CommitLine._fields.index("file"))
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
"""Columns of a commit that are those of its record, by their names in STORED."""
_OF_MET = (
    "live_topic_id", "live_partition_epoch", "live_leader_epoch", "candidates", "live_topic_ids",
    "live_partition_epochs", "live_leader_epochs",
)  # fmt: skip
_MET = Table(
    "met",
    "What lived where a commit was made.",
    {name: MET_COMMITS.columns[name] for name in _OF_MET},
    (),
)
Row = dict[str, Any]


@collection_paused()
def committed_offsets(
    groups: Groups, stored: pa.Table, asked: pa.Table, positions: pa.Table
) -> dict[str, pa.Table]:
    """The rows of TABLES of some groups.

    Given are their rows of STORED, of COMMIT_LINES, and of MET_FETCHES that OffsetFetch gave.
    """
    of_stored, of_asked, of_positions = (by_log(rows, "cluster") for rows in (stored, asked, positions))
    commits, fetches = [MET_COMMITS.arrow_schema.empty_table()], [MET_FETCHES.arrow_schema.empty_table()]
    now = [STORED_OFFSETS.arrow_schema.empty_table()]
    for name in sorted(groups.known):
        lines = of_asked.get((name,), asked.slice(0, 0))
        found = CommittedOffsets(
            ClusterFacts(groups, name), of_stored.get((name,), stored.slice(0, 0)), lines
        )
        commits.append(found.to_arrow())
        now.append(found.stored_now())
        placed = found.placed(of_positions.get((name,), positions.slice(0, 0)).to_pylist())
        fetches.append(pa.Table.from_pylist(placed, schema=MET_FETCHES.arrow_schema))
    met_commits, met_fetches = pa.concat_tables(commits), pa.concat_tables(fetches)
    return {
        COMMITTED_OFFSETS.name: rows_of(MET_COMMITS, met_commits),
        COMMITTED_OFFSET_STATES.name: states_of(MET_COMMITS, met_commits),
        STORED_OFFSETS.name: pa.concat_tables(now),
        FETCH_POSITIONS.name: rows_of(MET_FETCHES, met_fetches),
        FETCH_POSITION_STATES.name: states_of(MET_FETCHES, met_fetches),
    }


class CommittedOffsets:
    """The commits of one cluster: those that are stored, in the order of their logs, each with the request
    for it, if there is one that may have written it; and those that were refused.
    """

    def __init__(self, facts: ClusterFacts, stored: pa.Table, asked: pa.Table) -> None:
        self._facts, self._asked = facts, asked
        self._rows = stored.sort_by([(name, "ascending") for name in STORED.key])
        columns = zip(STORED.columns, (self._rows[name].to_pylist() for name in STORED.columns), strict=True)
        self._stored: dict[str, list[Any]] = dict(columns)
        places = (self._stored["commit_partition"], self._stored["record_offset"])
        self._ids = digests_of((facts.name, "commit"), *places)
        self._places = {place: row for row, place in enumerate(zip(*places, strict=True))}
        self._lines = self._matched()
        self._told: dict[tuple[int, int], int | None] = {}
        self._origins: list[tuple[str | None, str | None]] = []
        self._trace()

    def to_arrow(self) -> pa.Table:
        """The rows of MET_COMMITS."""
        refused = Columns(MET_COMMITS)
        rows = self._asked.filter(pc.equal(self._asked["error"], _UNKNOWN_TOPIC_ID))
        for line in map(CommitLine._make, tuples(rows.select(CommitLine._fields))):
            refused.add(*self._refused(line))
        return pa.concat_tables([self._accepted(), refused.to_arrow()])

    def stored_now(self) -> pa.Table:
        """The rows of STORED_OFFSETS."""
        rows = self._rows.append_column("commit_id", pa.array(self._ids, pa.string()))
        rows = rows.filter(pc.and_(pc.fill_null(rows["current"], True), pc.is_null(rows["removed"])))
        told = {
            "is_newest": rows["current"],
            "from_position": rows["record_offset"],
            "to_position": pa.nulls(rows.num_rows),
            "from_time": _timestamps(rows["ms"]),
            "to_time": pa.nulls(rows.num_rows),
        }
        names = list(STORED_OFFSETS.columns)
        columns = [told[name] if name in told else rows[name] for name in names]
        return pa.table(columns, names=names).cast(STORED_OFFSETS.arrow_schema)

    # --- requests -------------------------------------------------------------------------------------------

    def _matched(self) -> list[int | None]:
        """The row of each commit's request: the only one with its content that was handled when it came."""
        lines: dict[tuple[Any, ...], list[tuple[int, int, int]]] = {}
        names = ("requested_ms", "responded_ms", "error", *_CONTENT)
        columns = (self._asked[name].to_pylist() for name in names)
        for row, (requested_ms, responded_ms, error, *content) in enumerate(zip(*columns, strict=True)):
            if error == NONE:
                lines.setdefault(tuple(content), []).append((requested_ms, responded_ms, row))
        by_content = {content: HandledRequests(of) for content, of in lines.items()}
        contents = zip(*(self._stored[name] for name in _CONTENT), strict=True)
        tolerance_ms = self._facts.tolerance_ms
        return [
            None if (of := by_content.get(content)) is None else of.only_at(ms, tolerance_ms)
            for content, ms in zip(contents, self._stored["ms"], strict=True)
        ]

    def _trace(self) -> None:
        """The incarnation that each offset is of, and what tells it.

        A topic id beside a commit does not: a broker of 4.3 stores the live one's, and a client that goes on
        with an old offset in a new incarnation sends the new id.
        """
        names = ("fetched_topic_id", "told_from_ms", "told_to_ms", "told_leader_epoch")
        fetched, first, last, epochs = (self._asked[name].to_pylist() for name in names)
        for row, line in enumerate(self._lines):
            origin: tuple[str | None, str | None] = (None, None)
            if line is not None and fetched[line]:
                origin = (fetched[line], "fetched")
            elif line is not None and first[line] is not None:
                again = self._repeated(row, first[line], last[line], epochs[line])
                if again is not None and (of := self._origins[again][0]):
                    origin = (of, "committed")
            self._origins.append(origin)

    def _repeated(self, row: int, first_ms: int, last_ms: int, leader_epoch: int) -> int | None:
        """The commit that a client had been told by OffsetFetch, between two times, and repeats."""
        tolerance_ms, stored = self._facts.tolerance_ms, self._stored
        begun = one = self._before(row)
        while one is not None and stored["ms"][one] > last_ms + tolerance_ms:
            # who commits the same again and again was told it once
            one = self._told[one, last_ms] if (one, last_ms) in self._told else self._before(one)
        if begun is not None:
            self._told[begun, last_ms] = one
        if one is None or stored["ms"][one] >= first_ms - tolerance_ms:
            # it may have come before the answer, or after
            return None
        same = (stored["offset"][one], stored["leader_epoch"][one]) == (stored["offset"][row], leader_epoch)
        return one if same else None

    def _before(self, row: int) -> int | None:
        """The row of the commit of the same key before it, if it is known which."""
        follows = self._stored["follows"][row]
        return self._places.get((self._stored["commit_partition"][row], follows))

    # --- rows -----------------------------------------------------------------------------------------------

    def _accepted(self) -> pa.Table:
        facts, stored, rows = self._facts, self._stored, self._rows
        met, of_met = Columns(_MET), dict[tuple[Any, ...], int]()
        number, windows = [], []
        names = ("commit_partition", "coordinator_epoch", "ms", "topic", "partition", "topic_id")
        for partition, epoch, ms, *place in zip(*(stored[name] for name in names), strict=True):
            window = facts.window((partition, epoch), ms)
            key = (window, *place)
            at = of_met.get(key)
            if at is None:
                at = of_met[key] = len(of_met)
                found, lists = facts.met(*key)
                met.add(*found, *lists)
            number.append(at)
            windows.append(window)
        asked = self._asked.take(pa.array(self._lines, pa.int64()))
        lived = met.to_arrow().take(pa.array(number, pa.int64()))
        epochs = [
            facts.partition_epoch(of, partition)
            for (of, _), partition in zip(self._origins, stored["partition"], strict=True)
        ]
        at = _timestamps(rows["ms"])
        columns = {
            **{name: rows[of] for name, of in _OF_STORED.items()},
            **{name: lived[name] for name in lived.column_names},
            **{name: asked[name] for name in CommitLine._fields[_OF_CLIENT] if not name.endswith("_ms")},
            "log": pa.repeat(METADATA_LOG, rows.num_rows),
            "commit_id": pa.array(self._ids, pa.string()),
            "by_id": pc.is_valid(rows["topic_id"]),
            "committed_topic_id": pc.fill_null(rows["topic_id"], ""),
            "origin_topic_id": pa.array([of for of, _ in self._origins], pa.string()),
            "origin_partition_epoch": pa.array(epochs, pa.int32()),
            "origin": pa.array([how for _, how in self._origins], pa.string()),
            "error": pa.repeat(NONE, rows.num_rows),
            "requested_at": _timestamps(asked["requested_ms"]),
            "responded_at": _timestamps(asked["responded_ms"]),
            "from_position": pa.array([window.lowest for window in windows], pa.int64()),
            "to_position": pa.array([window.highest + 1 for window in windows], pa.int64()),
            "committed_at": at,
            "from_time": at,
            "to_time": at,
        }
        found = pa.table([columns[name] for name in MET_COMMITS.columns], names=list(MET_COMMITS.columns))
        return found.cast(MET_COMMITS.arrow_schema)

    def _refused(self, line: CommitLine) -> tuple[Any, ...]:
        facts, window = self._facts, self._facts.asked_in(line)
        found, lists = facts.met(window, line.topic, line.partition)
        identity = digest_of(line.request_id, line.topic, line.topic_id, line.partition)
        origin = line.fetched_topic_id
        return (
            line.cluster, METADATA_LOG, line.topic, line.partition, identity, line.group_id,
            line.offset, line.leader_epoch, line.topic_id is not None, line.topic_id or "",
            *found, origin, facts.partition_epoch(origin, line.partition),
            "fetched" if origin else None, line.error, None, None, None, *tuple(line)[_OF_CLIENT],
            line.file, line.position, None, window.lowest, window.highest + 1, line.requested_ms,
            line.responded_ms, *lists,
        )  # fmt: skip

    def placed(self, positions: Sequence[Row]) -> list[Row]:
        """Places that OffsetFetch gave, each with the commit that it was."""
        if not positions:
            return []
        found: dict[tuple[Any, ...], list[tuple[int, str, str | None, int]]] = {}
        names = ("group_id", "topic", "partition", "offset")
        contents = zip(*(self._stored[name] for name in names), strict=True)
        told = zip(self._stored["ms"], self._ids, self._origins, self._stored["leader_epoch"], strict=True)
        for content, (ms, commit_id, (origin, _), leader_epoch) in zip(contents, told, strict=True):
            found.setdefault(content, []).append((ms, commit_id, origin, leader_epoch))
        by_content = {content: RepeatedCommits(of) for content, of in found.items()}
        return [self._placed(position, by_content) for position in positions]

    def _placed(self, position: Row, commits: Mapping[tuple[Any, ...], RepeatedCommits]) -> Row:
        names = ("group_id", "topic", "partition", "fetch_offset")
        of = commits.get(tuple(position[name] for name in names))
        asked_ms = position["requested_at"].timestamp() * 1000 + self._facts.tolerance_ms
        newest = None if of is None else of.newest_at(asked_ms)
        if newest is None:
            return position
        commit_id, topic_id, leader_epoch, one = newest
        epoch = self._facts.partition_epoch(topic_id, position["partition"])
        return {
            **position,
            "origin_commit_id": commit_id,
            "origin_topic_id": topic_id if one else None,
            "origin_partition_epoch": epoch if one else None,
            "origin_leader_epoch": leader_epoch,
        }


def _timestamps(ms: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.multiply(ms, pa.scalar(1000, pa.int64())).cast(pa.timestamp("us", tz="UTC"))

"""What the toy brings: evidence of its own, two tables, their rebuild by replay from a state, lines for the
report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import pyarrow as pa
from fencepost.protocols.heartbeats.capture import QUORUM_STATE, QUORUM_STATES

from fencepost.engines import Rows
from fencepost.formats.request_log import every_line
from fencepost.protocols.base import Protocol
from fencepost.reading import Reader, rows
from fencepost.replay.columns import Columns
from fencepost.replay.entities import tuples, with_entity
from fencepost.replay.evidence import Evidence
from fencepost.replay.requests import LATEST_MS, each_line
from fencepost.tables import REQUESTS, Table
from fencepost.tables.table import INTERVAL

HEARTBEAT, FIND_COORDINATOR = 12, "FIND_COORDINATOR"
_OF_GROUP = {"cluster": "string", "group_id": "string"}
_LINE = {"file": "string", "position": "bigint"}
HEARTBEATS = Table(
    "silver.heartbeats",
    "What a member last said of its generation, from one heartbeat to the next.",
    {
        **_OF_GROUP,
        "member_id": "string",
        "generation": "int",
        **INTERVAL,
        **_LINE,
    },
    ("cluster", "group_id", "member_id", "from_position"),
)
COVERAGE = Table(
    "silver.heartbeat_coverage",
    "Which groups were heard.",
    {**_OF_GROUP, "covered": "boolean", **INTERVAL},
    ("cluster", "group_id"),
    stays_open=True,
)


LAST_HEARTBEATS = Table(
    "states.last_heartbeats",
    "The last heartbeat of each member.",
    {**_OF_GROUP, "member_id": "string", "generation": "int", "ms": "bigint", **_LINE},
    ("cluster", "group_id", "member_id"),
)


def rebuild(given: Evidence) -> Mapping[str, Rows]:
    """Every cluster's heartbeats are one entity: their order is that of the lines."""

    def spread(table: Table, rows: Rows) -> list[Rows]:
        return [with_entity(given.engine, table, rows, lambda each: each["cluster"])]

    lines = spread(REQUESTS, given.engine.scan(REQUESTS, where=[{"api_key": HEARTBEAT}]))
    states = spread(LAST_HEARTBEATS, given.state(LAST_HEARTBEATS))
    # lines are read from so much later on than logs
    dump_ms = {cluster: ms + LATEST_MS for cluster, ms in given.next_ms.items()}
    tables = (HEARTBEATS, COVERAGE, LAST_HEARTBEATS)
    return given.engine.replay({"lines": lines, "states": states}, partial(_replay, dump_ms), tables)


def _replay(
    dump_ms: Mapping[str, int], cluster: str, evidence: Mapping[str, pa.Table]
) -> Iterable[tuple[Table, pa.Table]]:
    """The state is the last heartbeat of each member. The replay goes on from it, and dumps it before the
    first line from ``dump_ms`` on.
    """
    heartbeats, coverage, states = Columns(HEARTBEATS), Columns(COVERAGE), Columns(LAST_HEARTBEATS)
    last = {(group, member): heard for _, group, member, *heard in tuples(evidence["states"])}
    begins = {group: ms for (group, _), (_, ms, *_) in last.items()}
    dumped = None

    def add(member: tuple[str, str], until_position: int | None, until_ms: int | None) -> None:
        generation, ms, file, position = last[member]
        heartbeats.add(cluster, *member, generation, position, until_position, ms, until_ms, file, position)

    for line in each_line(evidence["lines"], {HEARTBEAT}):
        if dumped is None and line.responded_ms >= dump_ms.get(cluster, line.responded_ms + 1):
            dumped = dict(last)
        member = (line.sent["groupId"], line.sent["memberId"])
        if member in last:
            add(member, line.position, line.responded_ms)
        last[member] = [line.sent["generationId"], line.responded_ms, line.file, line.position]
        begins.setdefault(member[0], line.responded_ms)
    for member in last:
        add(member, None, None)
    for group, ms in sorted(begins.items()):
        coverage.add(cluster, group, True, 0, None, ms, None)
    for member, heard in (last if dumped is None else dumped).items():
        states.add(cluster, *member, *heard)
    yield from ((each.table, each.to_arrow()) for each in (heartbeats, coverage, states))


def report(reader: Reader) -> Callable[[str], list[str]]:
    """How many heartbeats a cluster heard, who looked for coordinators, and who led the metadata log."""

    def told(what: str, table: Table, where: str = "TRUE") -> dict[str, int]:
        query = f"SELECT cluster, {what} AS told FROM {table.name} WHERE {where} GROUP BY cluster"
        return {row["cluster"]: row["told"] for row in rows(reader.query(query))}

    heard = told("count(*)", HEARTBEATS)
    asked = told("count(*)", REQUESTS, f"api_name = '{FIND_COORDINATOR}'")
    epochs = told("max(leader_epoch)", QUORUM_STATES)
    return lambda cluster: [
        f"{heard.get(cluster, 0)} heartbeats were heard.",
        f"{asked.get(cluster, 0)} lines ask for a coordinator.",
        f"The controllers' epoch is {epochs.get(cluster)}.",
    ]


PROTOCOL = Protocol(
    name="heartbeats",
    tables=(HEARTBEATS, COVERAGE),
    rebuild=rebuild,
    states=(LAST_HEARTBEATS,),
    requests={"HEARTBEAT": every_line, FIND_COORDINATOR: lambda line: b'"keyType":0' in line},
    kinds=lambda: (QUORUM_STATE,),
    bronze=(QUORUM_STATES,),
    report=report,
)

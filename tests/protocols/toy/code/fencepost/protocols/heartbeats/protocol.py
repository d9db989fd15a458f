"""What the toy brings: evidence of its own, two tables, their rebuild by replay, lines for the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa
from fencepost.protocols.heartbeats.capture import QUORUM_STATE, QUORUM_STATES

from fencepost.engines import Rows
from fencepost.formats.request_log import every_line
from fencepost.protocols.base import Protocol
from fencepost.reading import Reader, rows
from fencepost.replay.columns import Columns
from fencepost.replay.evidence import Evidence
from fencepost.replay.requests import each_line
from fencepost.tables import REQUESTS, Table
from fencepost.tables.table import INTERVAL

HEARTBEAT, FIND_COORDINATOR = 12, "FIND_COORDINATOR"
_OF_GROUP = {"cluster": "string", "group_id": "string"}
HEARTBEATS = Table(
    "silver.heartbeats",
    "What a member last said of its generation, from one heartbeat to the next.",
    {
        **_OF_GROUP,
        "member_id": "string",
        "generation": "int",
        **INTERVAL,
        "file": "string",
        "position": "bigint",
    },
    ("cluster", "group_id", "member_id", "from_position"),
)
COVERAGE = Table(
    "silver.heartbeat_coverage",
    "Which groups were heard.",
    {**_OF_GROUP, "covered": "boolean", **INTERVAL},
    ("cluster", "group_id"),
)


def rebuild(given: Evidence) -> Mapping[str, Rows]:
    """Every cluster's heartbeats are one entity: their order is that of the lines."""
    lines = given.engine.scan(REQUESTS, where=[{"api_key": HEARTBEAT}])
    schema = REQUESTS.arrow_schema.append(pa.field("entity", pa.string()))
    named = given.engine.map(lines, lambda each: each.append_column("entity", each["cluster"]), schema)
    return given.engine.replay({"lines": [named]}, _replay, (HEARTBEATS, COVERAGE))


def _replay(cluster: str, evidence: Mapping[str, pa.Table]) -> Iterable[tuple[Table, pa.Table]]:
    heartbeats, coverage, groups = Columns(HEARTBEATS), Columns(COVERAGE), set()
    lines = list(each_line(evidence["lines"], {HEARTBEAT}))
    ends: dict[tuple[str, str], tuple[int, int]] = {}
    rows_ = []
    for number, line in reversed(list(enumerate(lines))):
        group, member = line.sent["groupId"], line.sent["memberId"]
        until = ends.get((group, member), (None, None))
        ends[group, member] = (number, line.responded_ms)
        generation = line.sent["generationId"]
        at = (number, until[0], line.responded_ms, until[1], line.file, line.position)
        rows_.append((cluster, group, member, generation, *at))
        groups.add(group)
    for row in reversed(rows_):
        heartbeats.add(*row)
    for group in sorted(groups):
        coverage.add(cluster, group, True, 0, None, lines[0].responded_ms, None)
    yield HEARTBEATS, heartbeats.to_arrow()
    yield COVERAGE, coverage.to_arrow()


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
    requests={"HEARTBEAT": every_line, FIND_COORDINATOR: lambda line: b'"keyType":0' in line},
    kinds=lambda: (QUORUM_STATE,),
    bronze=(QUORUM_STATES,),
    report=report,
)

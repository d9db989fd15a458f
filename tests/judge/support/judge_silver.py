"""Random tables of silver, and a lake that is nowhere."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost.conditions import Where
from fencepost.conditions.arrow import filter_rows, mask
from fencepost.definitions import definitions
from fencepost.ledger import KEPT, Entry, Key, Ledger
from fencepost.protocols import tables
from fencepost.settings import Broker, Cluster, Lake, Settings
from fencepost.tables import LEDGER, Table
from tlasql.plan.reach import STEP

ARROW = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<string>": pa.list_(pa.string()),
}
SILVER = {table.name: table for table in tables() if table.in_chapters}
CLUSTERS = ("north", "south")
STEPPED = {
    table: each.beside["columns"]
    for each in definitions()
    if each.beside and each.looks_at == STEP
    for table in each.beside["tables"]
}
"""Tables of whose rows steps are judged, and what names one history of them."""
Tables = dict[str, pa.Table]
Row = dict[str, Any]

# names as a broker takes them, and worse: JSON must say them alike on both engines
_NAMES = ("a", "b", 'quoted "b"', "back\\slash", "söuth", "tab\there", "\u0001", "a/b", "<x> & 'y'")
_WORDS: Mapping[str, Sequence[str]] = {
    "cluster": CLUSTERS,
    "rule": ("strict", "generation", "assignment_epoch"),
    "protocol": ("classic", "consumer", "streams"),
    "status": ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"),
    "due_type": ("COMMIT", "ABORT"),
    "error": ("NONE", "NONE", "ILLEGAL_GENERATION", "INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"),
    "topic": ("__transaction_state", "orders"),
    "partition_key": ("orders:0", "orders:1"),
}
# the states that an element of a record set may have met: the table of the elements, and what names one
ELEMENTS = {
    "silver.offset_commit_states": ("silver.offset_commits", "commit_id"),
    "silver.init_producer_id_states": ("silver.init_producer_ids", "request_id"),
    "silver.end_txn_states": ("silver.end_txns", "request_id"),
    "silver.add_partitions_to_txn_states": ("silver.add_partitions_to_txns", "addition_id"),
    "silver.group_join_states": ("silver.group_joins", "request_id"),
    "silver.committed_offset_states": ("silver.committed_offsets", "commit_id"),
    "silver.fetch_position_states": ("silver.fetch_positions", "fetch_position_id"),
}


def settings(**severities: str) -> Settings:
    """Of a lake that is nowhere, with two clusters."""
    lake = Lake("/nowhere", "sqlite:////nowhere/catalog.db")
    clusters = tuple(Cluster(name, (Broker(1),)) for name in CLUSTERS)
    return Settings(Path("/nowhere/fencepost.toml"), lake, clusters, severities=severities)


def moment(position: int) -> dt.datetime:
    """The time of a position."""
    return dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=1001 * position)


_OF_EVENT = ("group_id", "log", "partition_key")
"""What is the same in all rows of a request: they are of one scope."""


def random_silver(seed: int, size: int = 300) -> Tables:
    """Tables of silver with few names and low numbers, so that much meets; one value in twenty is null."""
    chance = random.Random(seed)
    found: Tables = {}
    for table in SILVER.values():
        if table.name not in ELEMENTS:
            rows = [_row(chance, table, n) for n in range(size)]
            found[table.name] = _arrow(table, _in_turn(rows, STEPPED.get(table.name)))
    for name, (universe, identity) in ELEMENTS.items():
        wanted = ("cluster", "request_id", identity, *_OF_EVENT)
        both = SILVER[name].columns.keys() & SILVER[universe].columns.keys()
        shared = [each for each in wanted if each in both]
        elements, counts = found[universe].select(shared).to_pylist(), found[universe]["candidates"]
        rows = []
        for element, count in zip(elements, counts.to_pylist(), strict=True):
            agreed = _row(chance, SILVER[name], 0)
            for candidate in range((count or 0) + chance.choice((0, 0, 0, 0, 1))):
                # candidates that differ in everything would leave little known
                row = agreed if chance.random() < 0.7 else _row(chance, SILVER[name], 0)
                rows.append({**row, **element, "candidate": candidate})
        found[name] = _arrow(SILVER[name], rows)
    return found


def _row(chance: random.Random, table: Table, number: int) -> Row:
    # often a row ends where another begins, as steps need it
    begin = 4 * chance.randrange(10)
    end = begin + chance.choice((1, 4, 4, 4, 8))
    row = {name: _value(chance, name, kind, number) for name, kind in table.columns.items()}
    row |= {"from_position": begin, "to_position": end, "from_time": moment(begin), "to_time": moment(end)}
    if chance.random() < 0.2:
        row |= {"to_position": None, "to_time": None}
    if "request_id" in table.columns:
        event = random.Random(row["request_id"])
        row |= {name: _value(event, name, "string", number) for name in _OF_EVENT}
    return {name: row[name] for name in table.columns}


def _in_turn(rows: list[Row], columns: Sequence[str] | None) -> list[Row]:
    """As silver has them: of one history, which ``columns`` name, a row ends where the next begins."""
    if columns is None:
        return rows
    by_key: dict[tuple[Any, ...], dict[int, Row]] = {}
    for row in rows:
        by_key.setdefault(tuple(row[name] for name in columns), {})[row["from_position"]] = row
    found = []
    for history in by_key.values():
        begins = sorted(history)
        for begin, then in zip(begins, [*begins[1:], None], strict=True):
            row = history[begin]
            if then is not None and (row["to_position"] is None or row["to_position"] > then):
                row |= {"to_position": then, "to_time": moment(then)}
            found.append(row)
    return found


def _value(chance: random.Random, name: str, kind: str, number: int) -> Any:
    if name in ("commit_id", "request_id", "life"):
        return {"commit_id": f"{number:04}", "request_id": f"r{number // 2}", "life": chance.choice((1, 2))}[
            name
        ]
    if name in _WORDS:
        return chance.choice(_WORDS[name])
    if chance.random() < 0.05:
        return None
    values = {
        "string": chance.choice(_NAMES if chance.random() < 0.1 else _NAMES[:2]),
        "boolean": chance.random() < 0.7,
        "timestamp": moment(chance.randrange(40)),
        "array<string>": [chance.choice(_NAMES)],
    }
    return values.get(kind, chance.choice((0, 1, 1, 1, 2)))


def _arrow(table: Table, rows: Sequence[Row]) -> pa.Table:
    """One row for each key, as silver has."""
    kept = {tuple(row[name] for name in table.key): row for row in rows}
    schema = pa.schema([(name, ARROW[kind]) for name, kind in table.columns.items()])
    return pa.Table.from_pylist(list(kept.values()), schema=schema)


def in_chapters(silver: Tables, begins: Sequence[int]) -> Tables:
    """Every table with the chapter that each row was over in; a state's is that of what met it."""
    found = {name: _with_chapter(rows, _ends(rows), begins) for name, rows in silver.items()}
    for name, (universe, _) in ELEMENTS.items():
        identity = "request_id" if "request_id" in silver[name].column_names else "commit_id"
        if identity not in silver[name].column_names or identity not in silver[universe].column_names:
            continue
        # what a verdict on an element says ends with the last state that the element may have met
        ends: dict[tuple[str, str], list[dt.datetime | None]] = {}
        for row in silver[name].select(["cluster", identity, "to_time"]).to_pylist():
            ends.setdefault((row["cluster"], row[identity]), []).append(row["to_time"])
        for table in (name, universe):
            rows = silver[table].select(["cluster", identity]).to_pylist()
            of = [ends.get((row["cluster"], row[identity]), [None]) for row in rows]
            last = [None if None in each else max(each) for each in of]
            found[table] = _with_chapter(silver[table], last, begins)
    return found


def _ends(rows: pa.Table) -> list[dt.datetime | None]:
    return rows["to_time"].to_pylist() if "to_time" in rows.column_names else [None] * rows.num_rows


def _with_chapter(rows: pa.Table, ends: Sequence[dt.datetime | None], begins: Sequence[int]) -> pa.Table:
    chapters = [
        max(each for each in begins if end is None or moment(each) <= end or not each) for end in ends
    ]
    return rows.append_column("chapter", pa.array(chapters, pa.int64()))


class Lakeless:
    """What an engine reads, and what it wrote."""

    def __init__(self, silver: Tables) -> None:
        self.silver = silver
        self.written: Tables = {}
        self.replaced: list[tuple[str, Where | None]] = []
        self.writes_left: int | None = None

    def read(self, table: Table, columns: Sequence[str], where: Where | None) -> pa.RecordBatchReader:
        rows = self.written.get(table.name, self.silver.get(table.name, table.arrow_schema.empty_table()))
        return filter_rows(rows, where).select(list(columns)).to_reader()

    def write(self, table: Table, rows: Iterable[pa.RecordBatch], where: Where | None) -> None:
        if self.writes_left is not None:
            if not self.writes_left:
                raise KeyboardInterrupt
            self.writes_left -= 1
        self.replaced.append((table.name, where))
        batches = list(rows)
        new = pa.Table.from_batches(batches) if batches else table.arrow_schema.empty_table()
        new = new.cast(table.arrow_schema)
        before = self.written.get(table.name, new.slice(0, 0))
        kept = before.filter(pc.invert(mask(before, [{}] if where is None else where)))
        self.written[table.name] = pa.concat_tables([kept, new])


class LedgerOf(Ledger):
    """A ledger that lies in a lake that is nowhere, of chapters of silver with these revisions."""

    def __init__(self, lake: Lakeless, settings: Settings, revisions: Mapping[Key, str]) -> None:
        super().__init__(cast(Catalog, None), settings)
        self._lake = lake
        rebuilt = [
            Entry(cluster=name, chapter=at, state=KEPT, revision=of) for (name, at), of in revisions.items()
        ]
        self._entries["rebuild"] = [Entry(state="done"), *rebuilt]

    def states(self, names: Iterable[str]) -> dict[str, str | None]:
        """None: what is nowhere has no snapshots."""
        return {}

    def _written(self, step: str) -> dict[str, str | None]:
        return {}

    def _rows(self) -> pa.Table:
        return self._lake.written.get(LEDGER.name, LEDGER.arrow_schema.empty_table())

    def _replace(self, step: str, rows: pa.Table) -> None:
        self._lake.write(LEDGER, rows.to_batches(), [{"step": step}])


def ordered(rows: pa.Table) -> list[Row]:
    """Rows in an order that does not depend on how they came."""
    found: list[Row] = rows.to_pylist()
    return sorted(found, key=lambda row: [str(row[name]) for name in sorted(row)])

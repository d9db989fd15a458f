"""The SQL that the specifications became says of the stored traces what TLC says; TLC confirms what it finds.

Of offset commits tests/tlasql says it, on many more states. Here are what those do not have: functions of a
partition and a producer, functions to sets without a table of their own, a scope that is one log, constants
with values, several sets of records, decisions that give a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fencepost.protocols import schemas_json
from fencepost.protocols.leader_epoch.tables import METADATA_LOG
from tlasql import CompiledModule, compile_module
from tlasql.commands.data import Data, duckdb_type
from tlasql.lang.errors import TlaSqlError
from tlasql.mapping.model import History, Records
from tlasql.replay.confirm import confirm
from tlasql.replay.window import window
from tlasql.sql.duckdb import DUCKDB

SPEC = Path(__file__).resolve().parents[2] / "spec"
PRODUCERS = SPEC / "producer_epoch"
FOLDERS = [SPEC / "leader_epoch", SPEC / "ownership_claim", PRODUCERS, SPEC / "lag_report"]
PARTITION = "p0"
# the column of the scope that has the name of a trace, and what the scope has beside it
NAMED = {
    "lag_report": "log",
    "leader_epoch": "log",
    "ownership_claim": "group_id",
    "producer_epoch": "partition_key",
}
SCOPES: dict[str, Row] = {
    "lag_report": {"cluster": "c", "application_id": "a"},
    "leader_epoch": {"cluster": "c"},
    "ownership_claim": {"cluster": "c", "life": 0},
    "producer_epoch": {"cluster": "c", "topic": "t", "partition": 0},
}
Row = dict[str, Any]


def traces_of(folder: Path) -> dict[str, dict[str, Any]]:
    """Every stored trace, named by its definition and by whether it holds."""
    return {
        f"{path.stem}/{kind}": trace
        for path in sorted((folder / "traces").glob("*.json"))
        for kind, trace in json.loads(path.read_text(encoding="utf-8")).items()
    }


@pytest.fixture(scope="module")
def schemas() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(schemas_json())
    return found


def compile_folder(folder: Path, schemas: dict[str, dict[str, str]]) -> CompiledModule:
    (props,) = folder.glob("*Props.tla")
    return compile_module(props, folder / "mapping.toml", schemas, dialect="duckdb")


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: str(folder.name))
def folder(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture(scope="module")
def compiled(folder: Path, schemas: dict[str, dict[str, str]]) -> CompiledModule:
    return compile_folder(folder, schemas)


def create_tables(connection: duckdb.DuckDBPyConnection, schemas: dict[str, dict[str, str]]) -> None:
    connection.execute("CREATE SCHEMA silver")
    for table, kinds in schemas.items():
        if table.startswith("silver."):
            columns = ", ".join(f'"{c}" {duckdb_type(kind)}' for c, kind in kinds.items())
            connection.execute(f"CREATE TABLE {table} ({columns})")


def values_of(state: Row, name: str) -> list[tuple[str, Any]]:
    """What a variable of at most one argument has; the rows of sets are those of the variable they invert."""
    found = state.get(name, {})
    values = found if isinstance(found, dict) else {"": found}
    return [(key, value) for key, value in values.items() if not isinstance(value, list)]


def rows_of(
    compiled: CompiledModule, protocol: str, trace: str, states: list[Row]
) -> Iterator[tuple[str, Row]]:
    """(table, row): the trace as one log, named as it is; every state as far as the next one."""
    scope: Row = {**SCOPES[protocol], NAMED[protocol]: trace}
    yield compiled.mapping.coverage, {**scope, "covered": True, "from_position": states[0]["position"]}
    ends = [each["position"] for each in states[1:]] + [None]
    for state, end in zip(states, ends, strict=True):
        where = {**scope, "from_position": state["position"], "to_position": end}
        histories: dict[tuple[str, str], Row] = {}
        for each in compiled.mapping.variables.values():
            match each:
                case History(name=name, homes=(home, *_)) if len(home.key) <= 1:
                    for key, value in values_of(state, name):
                        row = histories.setdefault((home.table, key), dict.fromkeys(home.key, key))
                        row[str(home.column)] = value
                case History(name=name, homes=(home, *_)):
                    for key, value in state.get(name, {}).get(PARTITION, {}).items():
                        row = histories.setdefault((home.table, key), {home.key[1]: int(key)})
                        row[str(home.column)] = value
                case Records(name=name):
                    for number, element in enumerate(state.get(name, [])):
                        row = {column: element[field] for field, column in each.fields.items()}
                        identity = f"{trace}/{state['position']}" + ("+" * number)
                        row |= dict.fromkeys(each.identity, identity)
                        yield each.table, {**row, **where, "candidate": 0}
                        yield each.universe.table, {**row, **where, "candidates": 1}
        for (table, _), row in histories.items():
            yield table, {**row, **where}


@pytest.fixture(scope="module")
def data(
    folder: Path,
    compiled: CompiledModule,
    schemas: dict[str, dict[str, str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Data:
    path = tmp_path_factory.mktemp("traces") / "traces.duckdb"
    with duckdb.connect(str(path)) as connection:
        create_tables(connection, schemas)
        seen = set()
        for table, row in (
            each
            for name, trace in traces_of(folder).items()
            for each in rows_of(compiled, folder.name, name, trace["states"])
        ):
            known = {column: row[column] for column in schemas[table] if column in row}
            # a set of records that is its own universe has one row for each
            if (table, str(known)) not in seen:
                seen.add((table, str(known)))
                names = ", ".join(f'"{each}"' for each in known)
                marks = ", ".join("?" * len(known))
                connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", [*known.values()])
    return Data(path, schemas)


def test_sql_finds_in_each_trace_what_tlc_finds(folder: Path, compiled: CompiledModule, data: Data) -> None:
    traces = traces_of(folder)
    found: dict[str, set[str]] = {name: set() for name in traces}
    exercised: set[tuple[str, str]] = set()
    unknown = []
    for each in compiled.definitions:
        if each.mark.kind != "decision":
            for row in data.rows(each.sql):
                name = json.loads(row["scope"])[NAMED[folder.name]]
                if row["verdict"] is None:
                    unknown.append((each.mark.id, name))
                elif not row["verdict"]:
                    found[name].add(each.mark.id)
                if row["exercised"]:
                    exercised.add((name, each.mark.id))
    about = {name: name.partition("/")[0] for name in traces}
    expected = {
        name: set(trace["also"]) | ({about[name]} if name.endswith("violated") else set())
        for name, trace in traces.items()
    }
    assert found == expected
    assert unknown == []
    assert about.items() <= exercised


def test_tlc_confirms_what_sql_finds(compiled: CompiledModule, data: Data) -> None:
    for each in compiled.definitions:
        if each.mark.kind != "decision":
            row = next(row for row in data.rows(each.sql) if row["verdict"] is False)
            around = window(compiled, each, row, data.rows, DUCKDB)
            said = confirm(compiled, each, around.states)
            assert said.confirmed, (each.mark.id, row, said.module, said.output)


# of each protocol: a log, the columns of the scope that it is, and what only such a log shows
HOLES = {
    "lag_report": {"instance:a": {"no_locked_directory_deleted"}, "group": set()},
    "leader_epoch": {
        METADATA_LOG: {
            *("partition_epochs_unique", "partition_epoch_grows"),
            *("leader_epoch_never_falls", "broker_epoch_never_falls"),
        },
        "A:orders-0": {"batch_leader_epochs_in_order", "batch_leader_epoch_known"},
    },
    "ownership_claim": {"orders": {"generation_grows_by_one"}},
    "producer_epoch": {
        "__transaction_state": {
            *("status_transitions", "producer_epoch_steps", "end_txn_bumps_epoch"),
            *("next_producer_id_at_exhaustion", "epoch_headroom"),
        },
        "orders": {
            *("no_write_after_fence", "new_epoch_starts_at_sequence_zero", "no_sequence_gap"),
            *("no_sequence_reset", "marker_coordinator_epoch_never_falls"),
        },
    },
}


def test_a_hole_in_a_log_is_unknown_only_to_what_such_logs_have(
    folder: Path, compiled: CompiledModule, schemas: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    told = {
        "lag_report": "log", "leader_epoch": "log", "ownership_claim": "group_id", "producer_epoch": "topic",
    }[folder.name]  # fmt: skip
    with duckdb.connect(str(tmp_path / "holes.duckdb")) as connection:
        create_tables(connection, schemas)
        for log in HOLES[folder.name]:
            scope = {**dict.fromkeys(compiled.mapping.scope, "0"), told: log}
            hole = {**scope, "covered": False, "from_position": 3, "to_position": 9}
            marks = ", ".join("?" * len(hole))
            connection.execute(
                f"INSERT INTO {compiled.mapping.coverage} ({', '.join(hole)}) VALUES ({marks})",
                [*hole.values()],
            )
    found = Data(tmp_path / "holes.duckdb", schemas)
    unknown: dict[str, set[str]] = {}
    # a pass names the definition in each row; what shares a table with no other is judged alone
    queries = [("", each.sql) for each in compiled.passes]
    queries += [(each.mark.id, each.sql) for each in compiled.definitions]
    for name, sql in queries:
        for row in found.rows(sql):
            if "verdict" in row:
                assert row["verdict"] is None
                unknown.setdefault(json.loads(row["scope"])[told], set()).add(name or row["definition"])
    assert unknown == {log: ids for log, ids in HOLES[folder.name].items() if ids}


def test_scopes_are_told_apart_by_text_in_their_own_columns(
    schemas: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    mapping = tmp_path / "mapping.toml"
    text = (PRODUCERS / "mapping.toml").read_text(encoding="utf-8")
    mapping.write_text(text.replace("{ topic = ", "{ status = "), encoding="utf-8")
    with pytest.raises(TlaSqlError, match="is no text in a column of the scope"):
        compile_module(PRODUCERS / "ProducerEpochProps.tla", mapping, schemas)


@pytest.mark.parametrize("folder", [PRODUCERS], indirect=True)
def test_each_init_producer_id_gets_one_answer_of_each_rule(compiled: CompiledModule, data: Data) -> None:
    answers: dict[str, set[str]] = {}
    for each in compiled.definitions:
        if each.mark.records == "initProducerIds":
            for row in data.rows(each.sql):
                answers.setdefault(row["subject"], set())
                if row["outcome"]:
                    answers[row["subject"]].add(each.mark.id)
    assert answers
    for given in answers.values():
        assert len({each for each in given if each.startswith("kip_360")}) == 1
        assert len({each for each in given if each.startswith("shipped")}) == 1


# what each rule says of the records in the traces of these definitions
ANSWERS = {
    "no_older_metadata_accepted": {
        "holds": {
            "outdated_with_max": "OUTDATED",
            "outdated": "OUTDATED",
            "shipped_metadata_rule": "OUTDATED",
        },
        "violated": {
            "outdated_with_max": "OUTDATED",
            "outdated": "OUTDATED",
            "shipped_metadata_rule": "NONE",
        },
    },
    "committed_leader_epoch_bound": {
        "holds": {"commit_incarnation": "NONE", "shipped_commit_rule": "NONE"},
        "violated": {"commit_incarnation": "INVALID_PARTITION_EPOCH", "shipped_commit_rule": "NONE"},
    },
    "commit_to_live_incarnation": {
        "holds": {"commit_incarnation": "NONE", "shipped_commit_rule": "NONE"},
        "violated": {
            "commit_incarnation": "INVALID_PARTITION_EPOCH",
            "shipped_commit_rule": "UNKNOWN_TOPIC_ID",
        },
    },
    "no_offset_of_earlier_incarnation": {
        "holds": {"fetch_incarnation": "NONE", "shipped_fetch_rule": "NONE"},
        "violated": {"fetch_incarnation": "INVALID_PARTITION_EPOCH", "shipped_fetch_rule": "NONE"},
    },
    "no_two_valid_claims": {
        "holds": {"claim_by_generation": "stale, valid", "claim_by_newest_generation": "stale, valid"},
        "violated": {
            "claim_by_generation": "contradicted, contradicted",
            "claim_by_newest_generation": "contradicted, contradicted",
        },
    },
    "no_stale_claim_wins": {
        "holds": {"claim_by_generation": "stale, valid", "claim_by_newest_generation": "stale, valid"},
        "violated": {"claim_by_generation": "stale, valid", "claim_by_newest_generation": "stale, valid"},
    },
    "no_handover_before_revocation": {
        "holds": {"claim_by_generation": "valid, valid", "claim_by_newest_generation": "valid, valid"},
        "violated": {"claim_by_generation": "valid, valid", "claim_by_newest_generation": "valid, stale"},
    },
    "claim_was_assigned": {
        "holds": {"claim_by_generation": "valid, valid", "claim_by_newest_generation": "valid, valid"},
        "violated": {"claim_by_generation": "valid, valid", "claim_by_newest_generation": "valid, valid"},
    },
    "broker_keeps_its_join_rule": {
        "holds": dict.fromkeys(
            ("shipped_join", "proposed_join"),
            "MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, INCONSISTENT_GROUP_PROTOCOL",
        ),
        "violated": {"shipped_join": "NONE", "proposed_join": "ILLEGAL_GENERATION"},
    },
    "no_stale_join_admitted": {
        "holds": {"shipped_join": "NONE, NONE, NONE, NONE", "proposed_join": "NONE, NONE, NONE, NONE"},
        "violated": {"shipped_join": "NONE", "proposed_join": "ILLEGAL_GENERATION"},
    },
}


# the total lag by KIP-441 and as shipped, of what is reported in these traces, in their order
TOTAL_LAGS = {
    "reported_sum_is_of_logged_stores/holds": [(44, 44), (-2, -2), (100, 100)],
    "reported_sum_is_of_logged_stores/violated": [(19, 19)],
    "zero_is_the_identity/holds": [(44, 44), (0, -1)],
    "zero_is_the_identity/violated": [(43, 43)],
}


@pytest.mark.parametrize("folder", [SPEC / "lag_report"], indirect=True)
def test_each_rule_gives_the_total_lag_that_it_makes_of_a_report(
    compiled: CompiledModule, data: Data
) -> None:
    lags: dict[str, dict[int, dict[str, Any]]] = {}
    for each in compiled.definitions:
        if each.mark.kind == "decision":
            for row in data.rows(each.sql):
                trace, _, position = row["subject"].rpartition("/")
                lags.setdefault(trace, {}).setdefault(int(position), {})[each.mark.id] = row["outcome"]
    both = ("proposed_total_lag", "shipped_total_lag")
    found = {
        trace: [tuple(given[rule] for rule in both) for _, given in sorted(by_position.items())]
        for trace, by_position in lags.items()
    }
    assert found == TOTAL_LAGS


@pytest.mark.parametrize("folder", FOLDERS[:2], ids=lambda folder: str(folder.name), indirect=True)
def test_each_rule_gives_the_answers_of_a_trace_in_their_order(
    folder: Path, compiled: CompiledModule, data: Data
) -> None:
    answers: dict[str, dict[str, dict[str, str]]] = {}
    for each in compiled.definitions:
        if each.mark.kind == "decision":
            for row in sorted(data.rows(each.sql), key=lambda row: str(row["subject"])):
                definition, verdict, _ = row["subject"].split("/")
                of_trace = answers.setdefault(definition, {}).setdefault(verdict, {})
                before = of_trace.get(each.mark.id)
                of_trace[each.mark.id] = f"{before}, {row['outcome']}" if before else row["outcome"]
    assert answers == {
        each: said for each, said in ANSWERS.items() if (folder / "traces" / f"{each}.json").is_file()
    }

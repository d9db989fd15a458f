"""The schema table equals the message schemas inside Kafka's own jars, field by field."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fencepost.formats.decode import arrow_type
from fencepost.formats.schemas import snake

SCHEMAS = Path(__file__).resolve().parents[2] / "spark" / "fencepost" / "formats" / "schemas"
TERMS = ("type", "versions", "nullableVersions", "taggedVersions", "tag", "default")
REFERENCE, OLDER = "4.4.0", ("4.3.1", "4.2.1")


def jar_schemas(jars: Path, version: str) -> dict[str, Any]:
    """Every message schema of the jars by name, comments removed."""
    found = {}
    for jar in sorted((jars / f"kafka-{version}").glob(f"kafka-*-{version}.jar")):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if re.fullmatch(r"common/(message|metadata)/\w+\.json", name):
                    text = re.sub(r"^\s*//.*$", "", archive.read(name).decode(), flags=re.MULTILINE)
                    schema = json.loads(text)
                    found[schema["name"]] = schema
    assert len(found) > 200, f"{jars}/kafka-{version} holds no Kafka: run `make jars`"
    return found


def ours() -> Iterator[tuple[str, dict[str, Any], dict[str, Any], str]]:
    """(Kafka's name, record, message, part) of everything in the table."""
    for file in sorted(SCHEMAS.glob("*.json")):
        table = json.loads(file.read_text(encoding="utf-8"))
        for record in table["records"]:
            for part in ("key", "value"):
                if part in record:
                    coordinator = table["framing"] == "coordinator"
                    name = record.get("schema", record["name"]) + (part.capitalize() if coordinator else "")
                    yield name, record, record[part], part


def flat(fields: list[Any], structs: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Each field under its path, with the terms that decide how it is read."""
    found = {}
    for field in fields:
        path = prefix + snake(field["name"])
        kept = {term: field[term] for term in TERMS if term in field}
        kept["default"] = default(field)
        found[path] = kept
        inner = field.get("fields") or structs.get(field["type"].removeprefix("[]"))
        found |= flat(inner, structs, path + ".") if inner else {}
    return found


def default(field: dict[str, Any]) -> Any:
    """A default as a value: Kafka writes them as text or not, and JSON null as if there were none."""
    raw = field.get("default")
    if isinstance(raw, str) and re.fullmatch(r"-?\d+", raw):
        return int(raw)
    return {"null": "null", "true": True, "false": False}.get(raw, raw) if isinstance(raw, str) else raw


def normal(raw: dict[str, Any]) -> dict[str, Any]:
    """The jar's schema in the table's terms."""
    structs = {struct["name"]: struct["fields"] for struct in raw.get("commonStructs", [])}
    return flat(raw["fields"], structs)


def table_fields(message: dict[str, Any]) -> dict[str, Any]:
    """The table's fields; an explicit null default is Kafka's text "null"."""
    found = flat(message["fields"], message.get("structs", {}))
    declared = flat_defaults(message["fields"], message.get("structs", {}))
    for path, kept in found.items():
        if declared.get(path, 0) is None:
            kept["default"] = "null"
    return found


def flat_defaults(fields: list[Any], structs: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The declared defaults by path."""
    found = {}
    for field in fields:
        path = prefix + snake(field["name"])
        if "default" in field:
            found[path] = field["default"]
        inner = field.get("fields") or structs.get(field["type"].removeprefix("[]"))
        found |= flat_defaults(inner, structs, path + ".") if inner else {}
    return found


def test_every_field_equals_kafkas_own(jars: Path) -> None:
    kafka = jar_schemas(jars, REFERENCE)
    missing = set()
    for name, record, message, part in ours():
        if name not in kafka:
            missing.add(record["name"])
            continue
        mine, theirs = table_fields(message), normal(kafka[name])
        assert mine == theirs, name
        assert list(mine) == list(theirs), f"{name}: the order of fields is the order of bytes"
        assert message["flexible"] == kafka[name].get("flexibleVersions", "none"), name
        if part == "value":
            assert message["versions"] == kafka[name]["validVersions"], name
        if "apiKey" in kafka[name]:
            assert record["type"] == kafka[name]["apiKey"], name
    # the last two are of Kafka Streams: tests/protocols/lag_report reads what its classes wrote
    assert missing == {"ShareGroupPartitionMetadata", "SubscriptionInfoData", "AssignmentInfo"}


def test_no_record_type_of_kafka_is_missing(jars: Path) -> None:
    """The share coordinator's and the test records are of other topics."""
    kinds = {"coordinator-key", "coordinator-value", "metadata"}
    theirs = {name for name, schema in jar_schemas(jars, REFERENCE).items() if schema["type"] in kinds}
    others = {"ShareSnapshotKey", "ShareSnapshotValue", "ShareUpdateKey", "ShareUpdateValue"}
    assert theirs - others <= {name for name, *_ in ours()}


@pytest.mark.parametrize("version", OLDER)
def test_an_older_broker_writes_nothing_else(jars: Path, version: str) -> None:
    """What an older release has is in the table as it is, so its records read with the newer schema."""
    kafka = jar_schemas(jars, version)
    for name, _, message, _ in ours():
        if name in kafka:
            mine, theirs = table_fields(message), normal(kafka[name])
            assert theirs.items() <= mine.items(), name
            added = mine.keys() - theirs.keys()
            old = int(kafka[name]["validVersions"].rpartition("-")[2])
            for path in added:
                later = int(re.split(r"[+-]", mine[path].get("versions", "0"))[0]) > old
                assert "tag" in mine[path] or later, f"{name}.{path} shifts the bytes behind it"


@pytest.mark.parametrize(
    ("kafka", "column"),
    [
        ("memberEpoch", "member_epoch"),
        ("MemberEpoch", "member_epoch"),
        ("KRaftVersion", "k_raft_version"),
        ("offset", "offset"),
        ("topicId", "topic_id"),
    ],
)
def test_columns_are_kafkas_names_in_snake_case(kafka: str, column: str) -> None:
    assert snake(kafka) == column


def test_the_type_of_a_record_is_known_without_data() -> None:
    kind = arrow_type("ConsumerGroupCurrentMemberAssignment")
    assert str(kind.field("assigned_partitions").type) == (
        "list<item: struct<topic_id: string, partitions: list<item: int32>, "
        "assignment_epochs: list<item: int32>>>"
    )
    with pytest.raises(KeyError, match="no schema for the key of 'TopicRecord'"):
        arrow_type("TopicRecord", "key")

"""An audit with pseudonyms finds what it finds without, and its lake and pages have no name."""

from __future__ import annotations

import gzip
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fencepost import cli
from fencepost.opening import open_lake
from fencepost.pseudonyms import Pseudonyms
from fencepost.settings import SettingsError, load

KEY = "a key for tests, long enough"
CAPTURES = ("groups-4.3.1", "streams-4.3.1")
"""Classic, consumer and share groups and transactions; Kafka Streams with the logs of its clients."""
SCHEMAS = ("bronze", "silver", "verdicts", "marts", "staging", "ledger")
NOT_REPLACED = ("group_id", "transactional_id", "topic", "client")
KAFKAS_OWN = re.compile(
    r"(AddPartitionsManager-client|Persister-client|adminclient|producer|raft-client)-\d+|broker-\d+-.*|"
)
CONFIG = '[pseudonyms]\nkey = "${FENCEPOST_PSEUDONYM_KEY}"\n'


@dataclass(frozen=True)
class Audited:
    """The same logs, audited into two lakes: with the names, and with pseudonyms."""

    plain: Path
    pseudonymous: Path

    def reader(self, config: Path) -> Any:
        return open_lake(load(config), "duckdb")


@pytest.fixture(scope="module")
def audited(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    folder = tmp_path_factory.mktemp("audited")
    clusters = ""
    for name in CAPTURES:
        shutil.copytree(captures / name, folder / name)
        config = (captures / name / "fencepost.toml").read_text()
        clusters += re.sub(r'"(?=broker-|clients/)', f'"{name}/', config)
        for log in (folder / name).glob("broker-*/kafka-request.log*"):
            opened = gzip.open if log.suffix == ".gz" else open
            with opened(log, "rb") as file:
                lines = file.read()
            with opened(log, "wb") as file:
                file.write(lines.replace(b"User:ANONYMOUS", b"User:alice.from.payments"))
    made = Audited(folder / "plain.toml", folder / "pseudonymous.toml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FENCEPOST_PSEUDONYM_KEY", KEY)
        patch.setenv("TZ", "UTC")
        for path, head in ((made.plain, ""), (made.pseudonymous, CONFIG)):
            lake = (
                f'[lake]\ncatalog = "sqlite:///{path.stem}/catalog.db"\nwarehouse = "{path.stem}/warehouse"\n'
            )
            path.write_text(lake + head + clusters)
            assert cli.main(["audit", "--config", str(path)]) in {0, 1, 3}
        yield made


def test_the_verdicts_and_the_rows_are_the_same(audited: Audited) -> None:
    with audited.reader(audited.plain) as plain, audited.reader(audited.pseudonymous) as other:
        verdicts = "SELECT invariant, verdict, count(*) AS n FROM verdicts.episodes GROUP BY 1, 2"
        of_each = [Counter(map(str, lake.query(verdicts).to_pylist())) for lake in (plain, other)]
        assert of_each[0] == of_each[1]
        tables = [each for schema in ("bronze", "silver", "marts") for each in _tables(plain, schema)]
        assert len(tables) > 100
        for table in tables:
            # as many rows, of which as many join
            assert _shape(plain, table) == _shape(other, table), table


def test_no_name_is_in_the_lake_nor_beside_it(audited: Audited) -> None:
    with audited.reader(audited.plain) as plain, audited.reader(audited.pseudonymous) as other:
        names = _names(plain)
        assert len(names) > 10
        pattern = _pattern(sorted(names))
        searched = 0
        for table in (each for schema in SCHEMAS for each in _tables(other, schema)):
            rows = other.scan(table)
            for column in rows.column_names:
                # the paths of logs are the configuration's
                if column != "file":
                    searched += 1
                    found = pattern.search(b"\n".join(_texts(rows[column].to_pylist())))
                    assert found is None, (table, column, found)
        assert searched > 1000
    lake = audited.pseudonymous.with_suffix("")
    # nor in pages, alerts, notes and the catalog, whose own words are names of clients here
    told = [name for name in sorted(names) if re.search(r"[\d.-]", name)]
    pattern = _pattern(told)
    files = [each for each in lake.rglob("*") if each.is_file() and each.suffix != ".parquet"]
    assert any(each.suffix == ".html" for each in files) and any(each.name == "catalog.db" for each in files)
    for file in files:
        assert pattern.search(file.read_bytes()) is None, file


def _pattern(names: list[str]) -> re.Pattern[bytes]:
    return re.compile(
        rb"(?<![\w.])(?:" + b"|".join(re.escape(each.encode()) for each in names) + rb")(?![\w.])"
    )


def _tables(lake: Any, schema: str) -> list[str]:
    # what is known of Kafka's releases is the same everywhere, and has words that are names of clients here
    return [f"{schema}.{each}" for each in lake.tables(schema) if each != "fct_known_issues"]


def _shape(lake: Any, table: str) -> dict[str, int]:
    rows = lake.scan(table)
    return {"": rows.num_rows, **{name: rows[name].null_count for name in rows.column_names}}


def _names(plain: Any) -> set[str]:
    """The clients, hosts and principals of the logs; without names that something else has, too."""
    told = plain.query("SELECT DISTINCT client_id, principal FROM bronze.requests").to_pylist()
    ids = plain.query("SELECT DISTINCT client_id FROM bronze.request_ids").to_pylist()
    clients = {each["client_id"] or "" for each in (*told, *ids)}
    others: set[str] = set()
    for table in _tables(plain, "bronze") + _tables(plain, "marts"):
        rows = plain.scan(table)
        for name in set(NOT_REPLACED) & set(rows.column_names):
            others |= {str(each) for each in rows[name].unique().to_pylist()}
    principals = {each["principal"].removeprefix("User:") for each in told}
    hosts = {"127.0.0.1", "localhost"}
    # a number is a name of some clients of brokers, and may stand anywhere
    named = {each for each in clients if not KAFKAS_OWN.fullmatch(each) and not each.isdecimal()}
    return (named | principals | hosts) - others


def _texts(values: list[Any]) -> Iterator[bytes]:
    for value in values:
        if isinstance(value, str):
            yield value.encode()
        elif isinstance(value, bytes):
            yield value
        elif isinstance(value, list):
            yield from _texts(value)
        elif isinstance(value, dict):
            yield from _texts(list(value.values()))


def test_a_lake_keeps_its_key(
    audited: Audited, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names under two keys would not join, nor would names with pseudonyms."""
    pseudonymous = audited.pseudonymous.read_text()
    log = next(audited.pseudonymous.parent.glob("groups-4.3.1/broker-1/kafka-request.log"))
    with log.open("ab") as file:
        file.write(b"a line more\n")

    def refused(config: Path, key: str) -> str:
        monkeypatch.setenv("FENCEPOST_PSEUDONYM_KEY", key)
        assert cli.main(["audit", "--config", str(config)]) == cli.BAD_USAGE
        said = capsys.readouterr().err
        assert key not in said
        return said

    assert "pseudonyms of another key" in refused(audited.pseudonymous, f"not {KEY}")
    without = audited.pseudonymous.with_name("without.toml")
    without.write_text(pseudonymous.replace(CONFIG, ""))
    assert "pseudonyms in place of names" in refused(without, KEY)
    switched_on = audited.plain.with_name("switched_on.toml")
    switched_on.write_text(
        pseudonymous.replace('"sqlite:///pseudonymous/', '"sqlite:///plain/').replace(
            '"pseudonymous/', '"plain/'
        )
    )
    assert "names as the logs have them" in refused(switched_on, KEY)
    monkeypatch.setenv("FENCEPOST_PSEUDONYM_KEY", KEY)
    assert cli.main(["audit", "--config", str(audited.pseudonymous)]) in {0, 1, 3}


def test_a_name_is_found_by_its_pseudonym(
    audited: Audited, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FENCEPOST_PSEUDONYM_KEY", KEY)
    command = ["pseudonym", "host", "127.0.0.1", "--config", str(audited.pseudonymous)]
    assert cli.main(command) == 0
    host = capsys.readouterr().out.strip()
    assert host == Pseudonyms(KEY).host("127.0.0.1")
    with audited.reader(audited.pseudonymous) as lake:
        (row,) = lake.query(
            "SELECT count(*) AS n FROM marts.fct_lag_reports WHERE client_host = :host", host=host
        ).to_pylist()
        assert row["n"] > 0
    assert cli.main([*command[:-1], str(audited.plain)]) == cli.BAD_USAGE


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('key = "hidden in plain sight"', "secret"),
        ('key = "${FENCEPOST_PSEUDONYM_KEY}"\nof = ["groups"]', "client_ids, hosts, principals"),
        ('of = ["hosts"]', "key"),
        ('key = "${NOT_SET}"', "NOT_SET"),
        ('key = "${SHORT}"', "16 characters"),
    ],
)
def test_a_key_is_a_secret(table: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_PSEUDONYM_KEY", KEY)
    monkeypatch.setenv("SHORT", "guess me")
    config = tmp_path / "fencepost.toml"
    config.write_text(f'[pseudonyms]\n{table}\n[[clusters]]\nname = "c"\n[[clusters.brokers]]\nid = 1\n')
    with pytest.raises(SettingsError, match=re.escape(said)) as error:
        load(config)
    assert "guess me" not in str(error.value) and "hidden in plain sight" not in str(error.value)

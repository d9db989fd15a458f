"""Groups whose history is rebuilt chapter by chapter: the rows are those of one rebuild of all of it.

Chapters of seconds, which read a few seconds beyond their ends: so each capture is cut many times, in the
middle of rebalances.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from chaptered import Audit, Row

from fencepost import lake
from fencepost.protocols.offset_commit.tables import (
    COVERAGE,
    GROUPS,
    MEMBERS,
    OWNED_PARTITIONS,
    REVOKED_PARTITIONS,
    SHARE_REDELIVERIES,
)
from fencepost.replay import (
    chapter_snapshots,
    chapters,
    cuts,
    run,
    silver_writer,
    time_bounds,
)
from fencepost.replay.chapters import Chapter
from fencepost.replay.evidence import Evidence
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.tables import BATCHES, CHAPTER, HANDED_DOWN, LEDGER, QUARANTINE, Table

KILLED_AT = 4
"""A run is killed when it has begun with so many chapters."""

PROTOCOLS = ("offset_commit", "ownership_claim", "lag_report")


@pytest.fixture(scope="module")
def audits(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Audit]:
    """By the capture's name."""
    return {
        name: Audit.of(captures / name, tmp_path_factory.mktemp(name), PROTOCOLS)
        for name in ("groups-4.0.2", "streams-3.9.2")
    }


@pytest.mark.parametrize(("name", "chapter_ms"), [("groups-4.0.2", 10_000), ("streams-3.9.2", 30_000)])
def test_chapters_are_as_one_history(
    audits: Mapping[str, Audit], name: str, chapter_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row is there once, and says the same."""
    monkeypatch.setattr(chapters, "OVERLAP_MS", 5_000)
    audit = audits[name]
    cut = audit.rebuilt(chapter_ms)
    assert audit.chapters > 2
    assert lake.count(audit.catalog, HANDED_DOWN)
    for table in audit.tables:
        if table.name not in {"silver.group_joins", "silver.group_join_states"}:
            assert cut[table.name] == audit.whole[table.name], table.name
        if table.ends_with is None:
            _assert_in_chapter(audit, table)
    # a JoinGroup that was answered at once: that its generation had begun is told by one long before
    _says_less(audit.whole, cut)


def test_what_share_groups_got_again_is_told_alike(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for what was delivered long before the chapter begins."""
    monkeypatch.setattr(chapters, "OVERLAP_MS", 5_000)
    audit = Audit.of(captures / "share-4.3.1", tmp_path, ("offset_commit",))
    cut = audit.rebuilt(10_000)[SHARE_REDELIVERIES.name]
    assert audit.chapters > 2
    whole = audit.whole[SHARE_REDELIVERIES.name]
    assert not cut - whole
    assert {dict(row)["cause"] for row in whole - cut} == {"'leader_moved'"}


def _says_less(whole: Mapping[str, Counter[Row]], cut: Mapping[str, Counter[Row]]) -> None:
    """JoinGroups: no column is another but the number of states that one may have met, which are more."""
    joins = [
        Counter({_without(row, "candidates"): n for row, n in each["silver.group_joins"].items()})
        for each in (whole, cut)
    ]
    assert joins[0] == joins[1]
    states = [_by_request(each["silver.group_join_states"]) for each in (whole, cut)]
    assert states[0].keys() == states[1].keys()
    assert all(states[0][request] <= states[1][request] for request in states[0])


def _by_request(rows: Counter[Row]) -> dict[Any, set[Row]]:
    found: defaultdict[Any, set[Row]] = defaultdict(set)
    for row in rows:
        found[dict(row)["request_id"]].add(_without(row, "candidate"))
    return found


def _without(row: Row, column: str) -> Row:
    return tuple((name, value) for name, value in row if name != column)


def test_idle_logs_are_not_forgotten(audits: Mapping[str, Audit], monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapters in which nothing was written to a log have its groups, and the later ones too."""
    monkeypatch.setattr(chapters, "OVERLAP_MS", 1_000)
    monkeypatch.setattr(chapters, "LATEST_MS", 0)
    for module in (time_bounds, cuts):
        monkeypatch.setattr(module, "SLACK_MS", 0)
    audit = audits["groups-4.0.2"]
    cut = audit.rebuilt(4_000, "offset_commit")
    for table in (GROUPS, MEMBERS, OWNED_PARTITIONS, REVOKED_PARTITIONS, COVERAGE):
        assert cut[table.name] == audit.whole[table.name], table.name


class _KilledError(Exception):
    pass


def test_a_killed_run_is_gone_on_with(audits: Mapping[str, Audit], monkeypatch: pytest.MonkeyPatch) -> None:
    """From the newest chapter whose rows are in silver; and a later run from any of the newest chapters, or
    the first one of the day.
    """
    monkeypatch.setattr(chapters, "OVERLAP_MS", 1_000)
    monkeypatch.setattr(chapter_snapshots, "KEPT", 3)
    audit = audits["groups-4.0.2"]
    cut = audit.rebuilt(5_000, "offset_commit")
    assert audit.chapters > KILLED_AT + 2
    kept = sorted(chapter_snapshots.stored_snapshots(audit.catalog))
    planned = sorted(each.key[1] for each in audit.ledger.entries("rebuild"))
    assert [begin for _, begin in kept] == [planned[1], *planned[-3:]]
    audit.rebuilt(None, "offset_commit")
    monkeypatch.setattr(silver_writer, "HELD_BYTES", 0)
    rebuilt: list[int] = []
    evidence_of = run.evidence_of

    def noted(chapter: Chapter, *rest: Any) -> Evidence:
        rebuilt.append(chapter.begin)
        return evidence_of(chapter, *rest)

    def killed(chapter: Chapter, *rest: Any) -> Evidence:
        given = noted(chapter, *rest)
        if len(rebuilt) == KILLED_AT:
            raise _KilledError
        return given

    monkeypatch.setattr(run, "evidence_of", killed)
    with pytest.raises(_KilledError):
        audit.rebuilt(5_000, "offset_commit")
    monkeypatch.setattr(run, "evidence_of", noted)
    assert audit.rebuilt(5_000, "offset_commit") == cut
    # the one that was newest in silver was rebuilt again, and none before it
    assert rebuilt[KILLED_AT] == rebuilt[KILLED_AT - 2]
    assert sorted(chapter_snapshots.stored_snapshots(audit.catalog)) == kept
    for begin in (planned[-1], planned[-4], planned[0]):
        lake.delete(audit.catalog, LEDGER, [{"chapter": begin}])
        rebuilt.clear()
        assert audit.rebuilt(5_000, "offset_commit") == cut
        assert rebuilt[0] == max((each for _, each in kept if each <= begin), default=chapters.FIRST)
        assert sorted(chapter_snapshots.stored_snapshots(audit.catalog)) == kept


def test_what_cannot_be_read_later_hides_nothing_before(
    audits: Mapping[str, Audit], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A piece of a segment behind all that an earlier chapter reads is no hole in it."""
    monkeypatch.setattr(chapters, "OVERLAP_MS", 5_000)
    audit = audits["groups-4.0.2"]
    batches = lake.scan(audit.catalog, BATCHES, (), [{"topic": OFFSETS_TOPIC, "partition": 0}]).to_pylist()
    newest = max(batches, key=lambda row: row["base_offset"])
    torn = {name: newest.get(name) for name in QUARANTINE.columns}
    torn |= {"kind": "segment", "reason": "bad_crc", "position": newest["position"] + newest["size"]}
    lake.replace(audit.catalog, QUARANTINE, pa.Table.from_pylist([torn], schema=QUARANTINE.arrow_schema))
    whole, cut = audit.rebuilt(None, "offset_commit"), audit.rebuilt(10_000, "offset_commit")
    lake.replace(audit.catalog, QUARANTINE, QUARANTINE.arrow_schema.empty_table())
    assert whole[COVERAGE.name] != audit.whole[COVERAGE.name]
    for table in (GROUPS, MEMBERS, OWNED_PARTITIONS, REVOKED_PARTITIONS, COVERAGE):
        assert cut[table.name] == whole[table.name], table.name


def _assert_in_chapter(audit: Audit, table: Table) -> None:
    until = {each.chapter: each.until for each in audit.ledger.entries("rebuild")}
    for row in lake.scan(audit.catalog, table, (*table.columns, CHAPTER)).to_pylist():
        over = next((row[name] for name in table.effective_end_columns if row[name] is not None), None)
        end = until[row[CHAPTER]]
        assert end is None or over is not None
        assert over is None or row[CHAPTER] <= over.timestamp() * 1000 < (end or float("inf"))

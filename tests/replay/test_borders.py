"""Evidence that is deleted by its age is gone: a rebuild knows less without it and says nothing else, no
capture brings it back, and who is killed while it is deleted leaves nothing of it that counts.
"""

from __future__ import annotations

import gzip
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from pyiceberg.catalog import Catalog

from fencepost import cli, expiry, lake
from fencepost.capture.plan import REQUEST_LOG, SEGMENT
from fencepost.capture.run import capture
from fencepost.commands import expired_lines
from fencepost.engines.tasks import TaskEngine
from fencepost.expiry import Expired, expire
from fencepost.formats.batches import walk
from fencepost.formats.request_log import parse_lines
from fencepost.judge import judge
from fencepost.ledger import Ledger, book
from fencepost.opening import ensure, open_lake
from fencepost.protocols import protocols, requests
from fencepost.replay import borders, chapter_snapshots, chapters, cuts, time_bounds
from fencepost.replay.borders import Borders
from fencepost.replay.run import rebuild
from fencepost.report import deleted_sentences
from fencepost.settings import Lake, Settings, load
from fencepost.tables import (
    BATCHES,
    EPISODES,
    FILES,
    QUARANTINE,
    RECORDS,
    REQUEST_IDS,
    REQUESTS,
    VERDICT_COVERAGE,
)

NAME = "producers-4.3.1"
CHAPTER_MS, WINDOW_MS = 5_000, 12_000
DELETED = (REQUEST_IDS, REQUESTS, BATCHES, RECORDS)
DERIVED = (*(table for protocol in protocols() for table in protocol.tables), EPISODES, VERDICT_COVERAGE)
Row = dict[str, Any]


@dataclass
class Site:
    """A broker's logs, of half a minute, and a lake."""

    logs: Path
    settings: Settings
    catalog: Catalog

    def capture(self) -> None:
        """Capture what is new."""
        capture(self.settings, self.catalog, lambda *_: TaskEngine(self.catalog), "run")

    def audit(self, window_ms: int | None) -> dict[str, Counter[str]]:
        """Rebuild and judge, and note the marts; the rows that were made."""
        settings = replace(self.settings, window_ms=window_ms)
        rebuild(settings, self.catalog, lambda *_: TaskEngine(self.catalog))
        judge(settings, self.catalog, lambda *_: TaskEngine(self.catalog))
        ledger = Ledger(self.catalog, settings)
        ledger.begin("marts")
        ledger.done("marts", (), {})
        return {
            table.name: Counter(map(repr, lake.scan(self.catalog, table).to_pylist())) for table in DERIVED
        }

    def expire(self, window_ms: int | None = WINDOW_MS) -> Expired:
        """Delete what is older than the window."""
        return expire(self.catalog, replace(self.settings, window_ms=window_ms, keep_evidence_ms=WINDOW_MS))

    def counts(self) -> dict[str, int]:
        """How many rows the tables have of which rows are deleted."""
        return {table.name: lake.count(self.catalog, table) for table in DELETED}

    def too_late(self) -> Counter[str]:
        """By kind of file, how much came when the evidence of its time was deleted."""
        notes = lake.scan(self.catalog, FILES, ("kind", "too_late")).to_pylist()
        return sum((Counter({each["kind"]: each["too_late"] or 0}) for each in notes), Counter())

    def episodes(self) -> list[Row]:
        """All episodes."""
        return lake.scan(self.catalog, EPISODES).to_pylist()


@dataclass
class Deleted:
    """A site whose older evidence is deleted.

    ``judged``: the episodes that all evidence gave; ``incremental``: what two runs made, one before and one
    after; ``after_a_kill``, ``after``: what rebuilds of all history made where the deletion was killed, and
    where it was repeated; ``episodes``: those of the last one.
    """

    site: Site
    counts: Mapping[str, int]
    expired: Expired
    judged: list[Row]
    incremental: tuple[dict[str, Counter[str]], dict[str, Counter[str]]]
    after_a_kill: dict[str, Counter[str]]
    after: dict[str, Counter[str]]
    episodes: list[Row]


@pytest.fixture(scope="module", autouse=True)
def patch() -> Iterator[pytest.MonkeyPatch]:
    """The capture is of half a minute, and the snapshots of most of its chapters would be kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chapters, "OVERLAP_MS", 2_000)
        patch.setattr(chapters, "LATEST_MS", 500)
        for module in (cuts, borders, time_bounds):
            patch.setattr(module, "SLACK_MS", 500)
        patch.setattr(chapter_snapshots, "_kept_begins", _newest)
        yield patch


def _newest(plan: list[chapters.Chapter]) -> set[tuple[str, int]]:
    return {(name, begins[-1]) for name, begins in chapter_snapshots._begins(plan).items()}


@pytest.fixture(scope="module")
def deleted(captures: Path, tmp_path_factory: pytest.TempPathFactory, patch: pytest.MonkeyPatch) -> Deleted:
    home = tmp_path_factory.mktemp("expiry")
    logs = shutil.copytree(captures / NAME, home / "logs")
    own = Lake(str(home / "warehouse"), f"sqlite:///{home / 'catalog.db'}")
    settings = replace(
        load(logs / "fencepost.toml"), lake=own, chapter_ms=CHAPTER_MS, longest_chapter_ms=None
    )
    site = Site(logs, settings, ensure(own))
    site.capture()
    site.audit(None)
    judged = site.episodes()
    before, counts = site.audit(WINDOW_MS), site.counts()
    with pytest.MonkeyPatch.context() as killed:
        killed.setattr(expiry.lake, "forget", _killed_at(REQUESTS.name))
        with pytest.raises(KeyboardInterrupt):
            site.expire()
    again = site.audit(WINDOW_MS)
    _other_code(patch, "killed")
    after_a_kill = site.audit(None)
    expired = site.expire(None)
    _other_code(patch, "repeated")
    after = site.audit(None)
    return Deleted(site, counts, expired, judged, (before, again), after_a_kill, after, site.episodes())


def _killed_at(name: str) -> Any:
    forget = lake.forget

    def forget_until(catalog: Catalog, table: Any, *given: Any) -> Any:
        if table.name == name:
            raise KeyboardInterrupt
        return forget(catalog, table, *given)

    return forget_until


def _other_code(patch: pytest.MonkeyPatch, salt: str) -> None:
    """As after an upgrade, everything is rebuilt."""
    of_code = book.made_by
    patch.setattr(book, "made_by", lambda *given: f"{of_code(*given)} {salt}")


def test_rows_are_deleted_and_the_next_run_makes_the_same(deleted: Deleted) -> None:
    site, since = deleted.site, deleted.expired.since_ms[NAME]
    now = site.counts()
    assert {name: 0 < rows < deleted.counts[name] for name, rows in now.items()} == dict.fromkeys(now, True)
    dates = lake.scan(site.catalog, REQUESTS, ("logged_at_ms",))["logged_at_ms"].to_pylist()
    assert since <= min(dates) < since + CHAPTER_MS
    assert deleted.incremental[0] == deleted.incremental[1]


def test_a_rebuild_knows_less_and_says_nothing_else(deleted: Deleted) -> None:
    of_place: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for each in deleted.judged:
        of_place[each["invariant"], each["scope"]].append(each)
    verdicts = Counter(each["verdict"] for each in deleted.episodes)
    assert verdicts["holds"] > 10 < verdicts["unknown"] and verdicts["violated"] > 2
    for each in deleted.episodes:
        said = [row for row in of_place[each["invariant"], each["scope"]] if _meet(row, each)]
        found = {row["verdict"] for row in said if row["witness"] == each["witness"]}
        assert each["verdict"] == "unknown" or each["verdict"] in found, each
        assert not (each["verdict"] == "holds" and "violated" in found), each
        assert (each["verdict"] == "unknown") == (each["reason"] is not None), each

    left: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for each in deleted.episodes:
        left[each["invariant"], each["scope"]].append(each)
    since = lake.scan(deleted.site.catalog, VERDICT_COVERAGE, ("since",))["since"][0].as_py()
    unmet = [row for row in deleted.judged if row["verdict"] == "violated" and row["from_time"] >= since]
    assert unmet
    for each in unmet:
        verdicts_now = {row["verdict"] for row in left[each["invariant"], each["scope"]] if _meet(row, each)}
        assert verdicts_now & {"violated", "unknown"}, each


def _meet(one: Row, other: Row) -> bool:
    """Whether some position is in both episodes."""
    ends = [row["to_position"] for row in (one, other)]
    begins = [row["from_position"] for row in (one, other)]
    if None in begins:
        return True
    return (ends[1] is None or begins[0] < ends[1]) and (ends[0] is None or begins[1] < ends[0])


def test_what_is_left_by_a_kill_does_not_count(deleted: Deleted) -> None:
    assert deleted.expired.tables[REQUESTS.name].rows > 0
    assert {name for name in deleted.after if deleted.after[name] != deleted.after_a_kill[name]} == set()


def test_the_chapters_that_lack_evidence_are_not_judged(deleted: Deleted) -> None:
    coverage = lake.scan(deleted.site.catalog, VERDICT_COVERAGE, ("since",))["since"].to_pylist()
    since = {each.timestamp() * 1000 for each in coverage}
    assert since and all(deleted.expired.since_ms[NAME] < each for each in since)


def test_what_comes_when_its_time_was_deleted_is_counted_once(deleted: Deleted) -> None:
    """Another log of the broker has lines that nobody has read, and the notes of a segment are lost."""
    site, since = deleted.site, deleted.expired.since_ms[NAME]
    logs = [site.logs / "broker-1" / f"kafka-request.log.{number}.gz" for number in (1, 2, 3, 4)]
    late = logs[0].with_name("kafka-request.log.5")
    text = b"".join(gzip.decompress(each.read_bytes()) for each in logs)
    late.write_bytes(text.replace(b'"connection":"', b'"connection":"late-'))
    assert site.too_late() == {}
    before = site.counts()
    site.capture()
    lines = parse_lines(late.read_bytes(), requests()).rows["logged_at_ms"].to_pylist()
    of_lines = {REQUEST_LOG: sum(each < since for each in lines)}
    assert site.too_late() == of_lines
    assert site.counts()[REQUESTS.name] - before[REQUESTS.name] == sum(each >= since for each in lines) > 0

    late.with_name("kafka-request.log.5.gz").write_bytes(gzip.compress(late.read_bytes()))
    late.unlink()
    site.capture()
    assert site.too_late() == of_lines

    topic, offset = next(
        (topic, offset)
        for (_, topic, _, number), offset in Borders.of(site.catalog).offsets.items()
        if number == 0
    )
    segment = next(site.logs.glob(f"broker-1/**/{topic}-0/{0:020d}.log"))
    notes = lake.scan(site.catalog, FILES)
    lake.replace(site.catalog, FILES, notes.filter(pc.not_equal(notes["file"], str(segment))))
    site.capture()
    batches = walk(segment.read_bytes()).batches["base_offset"].to_pylist()
    assert site.too_late() == {**of_lines, SEGMENT: sum(each < offset for each in batches)}
    with open_lake(site.settings) as reader:
        told = deleted_sentences(reader)[NAME]
    assert f"{of_lines[REQUEST_LOG]:,} lines of request logs and {site.too_late()[SEGMENT]:,} batches" in told


def test_files_that_are_found_again_bring_nothing_back(deleted: Deleted) -> None:
    """The notes of all files are lost, and the request log is packed under another name."""
    site = deleted.site
    before = site.counts(), lake.count(site.catalog, QUARANTINE)
    lake.replace(site.catalog, FILES, FILES.arrow_schema.empty_table())
    log = next(site.logs.glob("broker-1/kafka-request.log"))
    log.with_name("kafka-request.log.6.gz").write_bytes(gzip.compress(log.read_bytes()))
    log.unlink()
    site.capture()
    assert (site.counts(), lake.count(site.catalog, QUARANTINE)) == before


def test_people_are_told_since_when_evidence_is_kept(deleted: Deleted) -> None:
    with open_lake(deleted.site.settings) as reader:
        told = deleted_sentences(reader)
    since = datetime.fromtimestamp(deleted.expired.since_ms[NAME] / 1000, UTC)
    assert told.keys() == {NAME}
    assert f"{NAME} is kept since {since:%Y-%m-%d %H:%M} UTC: older lines" in told[NAME]


@pytest.mark.parametrize(
    ("expired", "keep_ms", "said"),
    [
        (Expired(), None, []),
        (Expired(), 1, ["No evidence was old enough to be deleted: that of the window"]),
        (Expired(waits=True), 1, ["No evidence was deleted: the last audit is not done"]),
        (
            Expired({"c": 0}, {REQUESTS.name: lake.Forgotten(2, 3_000_000), RECORDS.name: lake.Forgotten()}),
            1,
            ["bronze.requests: deleted 2 rows (3.0 MB)", "evidence of cluster c is kept since 1970-01-01"],
        ),
    ],
)
def test_maintenance_says_what_became_of_old_evidence(
    expired: Expired, keep_ms: int | None, said: list[str]
) -> None:
    lines = list(expired_lines(expired, keep_ms))
    assert len(lines) == len(said)
    assert all(line.startswith(begin) for line, begin in zip(lines, said, strict=True))


def test_what_was_not_used_yet_is_not_deleted(
    deleted: Deleted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = deleted.site
    counts = site.counts()
    borders_before = Borders.of(site.catalog)
    Ledger(site.catalog, replace(site.settings, window_ms=None)).begin("judge")
    assert site.expire(None).waits
    assert (site.counts(), Borders.of(site.catalog)) == (counts, borders_before)
    config = site.logs / "fencepost.toml"
    config.write_text(f'{config.read_text()}\n[audit]\nwindow = "12s"\nkeep_evidence = "12s"\n')
    monkeypatch.setenv("FENCEPOST_LAKE", str(site.logs.parent))
    assert cli.main(["maintain", "--config", str(config)]) == 0
    assert "No evidence was deleted: the last audit is not done" in capsys.readouterr().out
    assert site.counts() == counts

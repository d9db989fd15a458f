"""A run that judges the chapters that changed writes what a run that judges all of history writes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from judge_silver import (
    CLUSTERS,
    SILVER,
    Lakeless,
    LedgerOf,
    Row,
    Tables,
    in_chapters,
    ordered,
    random_silver,
)
from judge_silver import settings as some_settings

from fencepost.conditions import Condition, Within
from fencepost.definitions import Query, queries
from fencepost.judge.chapters import WHOLE, Chapters, compared
from fencepost.judge.engine import Engine
from fencepost.judge.run import JudgeSummary, judge_changes, run
from fencepost.ledger import Key
from fencepost.tables import DECISIONS, EPISODES, PIECES, VERDICTS
from tlasql.plan.reach import ROW

BEGINS = (0, 12, 25)
"""Positions at which chapters begin."""
IDS = (
    "assignment_epoch",
    "broker_keeps_its_rule",
    "assignment_epoch_bound",
    "group_epoch_never_falls",
    "no_partition_owned_twice",
)
"""Of every kind: on an element and what is of its request, on a row, on a step, on rows that overlap."""
Found = dict[str, list[Row]]
Revisions = dict[Key, str]


def compiled() -> list[Query]:
    """The queries of IDS, each by itself."""
    return [
        Query((each,), f"SELECT * FROM (\n{query.sql}\n) WHERE definition = '{each.id}'")
        for query in queries()
        for each in query.definitions
        if each.id in IDS
    ]


COMPILED = compiled()


class Runs:
    """Runs of the judge over one lake, each with the silver that it is called with."""

    def __init__(self, scratch: Path) -> None:
        self.lake = Lakeless({})
        self._scratch = scratch
        self.history = WHOLE
        self.settings = some_settings()

    def __call__(self, silver: Tables, revisions: Revisions | None = None) -> Found:
        """The verdicts; ``revisions`` of the chapters of silver, if it has any."""
        self.lake.silver = silver
        compiled = COMPILED
        engine = Engine(self.lake.read, self.lake.write, self._scratch, compiled)

        def judged(history: Chapters = WHOLE, *, finished: bool = True) -> JudgeSummary:
            self.history = history
            return run(engine, self.settings, compiled, None, history, finished=finished)

        if revisions is None:
            judged()
        else:
            judge_changes(LedgerOf(self.lake, self.settings, revisions), judged)
        return {table.name: ordered(self.lake.written[table.name]) for table in VERDICTS}

    @property
    def judged(self) -> set[Key]:
        """The chapters that the last run judged."""
        return set(self.history.judged)


def revisions(begins: Sequence[int], **of: str) -> Revisions:
    """A revision of each chapter; ``of``: of chapters with a later one, as chapter_12."""
    return {(cluster, begin): of.get(f"chapter_{begin}", "first") for cluster in CLUSTERS for begin in begins}


def said(found: Found) -> Found:
    """What is the same in however many chapters it was found. Where something that does not hold was open at
    a chapter's end, what held before may be said to reach to its begin.
    """
    rows = {name: [{**row, "chapter": None} for row in of] for name, of in found.items()}
    for row in rows[EPISODES.name]:
        if row["verdict"] == "holds":
            row |= {"to_position": None, "to_time": None}
    return {
        name: sorted(of, key=lambda row: [str(each) for each in row.values()]) for name, of in rows.items()
    }


def mixed(silver: Tables, later: Tables, chapters: frozenset[int]) -> Tables:
    """Silver, of which these chapters have other rows."""

    def rows(of: Tables, name: str, *, chosen: bool) -> pa.Table:
        inside = pc.is_in(of[name]["chapter"], pa.array(chapters, pa.int64()))
        return of[name].filter(inside if chosen else pc.invert(inside))

    def once(name: str, rows: pa.Table) -> pa.Table:
        """As silver has them: no two rows of one key."""
        keys = rows.select(SILVER[name].key).to_pylist()
        first = {tuple(key.values()): number for number, key in reversed(list(enumerate(keys)))}
        return rows.take(pa.array(sorted(first.values()), pa.int64()))

    return {
        name: once(
            name,
            pa.concat_tables([rows(silver, name, chosen=False), rows(later, name, chosen=True)]),
        )
        for name in silver
    }


def renamed(silver: Tables) -> Tables:
    """With other commits and requests."""
    found = {}
    for name, rows in silver.items():
        other = {
            column: pc.binary_join_element_wise(rows[column], "later", "-")
            for column in ("commit_id", "request_id")
            if column in rows.column_names
        }
        found[name] = pa.table({column: other.get(column, rows[column]) for column in rows.column_names})
    return found


@pytest.fixture(scope="module")
def silver() -> Tables:
    return random_silver(1, size=120)


@pytest.fixture(scope="module")
def later() -> Tables:
    """What silver has of a chapter, or of several, after a later run."""
    return renamed(random_silver(7, size=120))


def test_chapters_change_no_verdict(silver: Tables, tmp_path: Path) -> None:
    """What began before a chapter, or goes on after it, is judged once."""
    whole = Runs(tmp_path)(silver)
    assert {row["verdict"] for row in whole[EPISODES.name]} == {"holds", "violated", "unknown"}
    found = Runs(tmp_path)(in_chapters(silver, BEGINS), revisions(BEGINS))
    assert said(found) == said(whole)
    here, there = (
        {row["verdict_id"]: {**row, "chapter": 0} for row in each[EPISODES.name] if row["verdict"] == "holds"}
        for each in (whole, found)
    )
    longer = [there[each] for each in here if here[each] != there[each]]
    assert len(longer) < len(here) / 4
    begins = {
        (row["invariant"], row["cluster"], row["scope"], row["from_position"])
        for row in whole[EPISODES.name]
        if row["verdict"] != "holds"
    }
    for row in longer:
        assert row["to_position"] > here[row["verdict_id"]]["to_position"]
        assert (row["invariant"], row["cluster"], row["scope"], row["to_position"]) in begins


def test_one_chapter_is_history(silver: Tables, tmp_path: Path) -> None:
    one = Runs(tmp_path)(in_chapters(silver, (0,)), revisions((0,)))
    whole = Runs(tmp_path)(silver)
    assert one[EPISODES.name] == [{**row, "chapter": 0} for row in whole[EPISODES.name]]


def test_a_run_judges_what_changed(silver: Tables, later: Tables, tmp_path: Path) -> None:
    """The last chapter, one in the middle; then there is a chapter more."""
    runs, before, after = Runs(tmp_path), in_chapters(silver, BEGINS), in_chapters(later, BEGINS)
    runs(before, revisions(BEGINS))
    for changed in (frozenset({25}), frozenset({12})):
        before = mixed(before, after, changed)
        now = {f"chapter_{each}": "second" for each in {25, *changed}}
        found = runs(before, revisions(BEGINS, **now))
        assert runs.judged == {(name, each) for name in CLUSTERS for each in BEGINS if each >= min(changed)}
        assert found == Runs(tmp_path)(before, revisions(BEGINS))
    more = (*BEGINS, 33)
    moved = in_chapters(silver, more)
    now = {f"chapter_{each}": "third" for each in more}
    assert runs(moved, revisions(more, **now)) == Runs(tmp_path)(moved, revisions(more))


def test_a_run_judges_a_chapter_that_was_a_part_of_another(silver: Tables, tmp_path: Path) -> None:
    """As late evidence of a day makes one. Episodes are in other chapters then."""
    runs, one, two = Runs(tmp_path), (0, 8, 25), (0, 8, 16, 25)
    runs(in_chapters(silver, one), revisions(one))
    found = runs(in_chapters(silver, two), revisions(two, chapter_8="second"))
    assert runs.judged == {(name, each) for name in CLUSTERS for each in (8, 16, 25)}
    assert found == Runs(tmp_path)(in_chapters(silver, two), revisions(two))


def test_a_definition_that_looks_further_is_judged_over_all_of_history(
    silver: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken for one that looks at rows alone it misses what it should see: so the tests above can fail."""
    whole = said(Runs(tmp_path)(silver))
    for looks_at in ("overlap", "step"):
        wrong = [_taken_for_one_of_rows(each, looks_at) for each in compiled()]
        assert wrong != COMPILED
        monkeypatch.setattr(sys.modules[__name__], "COMPILED", wrong)
        assert said(Runs(tmp_path)(in_chapters(silver, BEGINS), revisions(BEGINS))) != whole


def _taken_for_one_of_rows(query: Query, looks_at: str) -> Query:
    found = [replace(each, looks_at=ROW) if each.looks_at == looks_at else each for each in query.definitions]
    return replace(query, definitions=tuple(found))


def test_a_chapter_that_is_no_longer_kept_is_forgotten(silver: Tables, tmp_path: Path) -> None:
    """The others stand. They say nothing that they would not say if it were there, and if the run judges all
    of them anew, it says the same of all that looks at rows alone.
    """
    runs, before, kept = Runs(tmp_path), in_chapters(silver, BEGINS), BEGINS[1:]
    whole = runs(before, revisions(BEGINS))
    after = {name: rows.filter(pc.greater_equal(rows["chapter"], kept[0])) for name, rows in before.items()}
    found = runs(after, revisions(kept))
    assert runs.judged == set()
    for table in (PIECES, DECISIONS, EPISODES):
        assert pc.min(runs.lake.written[table.name]["chapter"]).as_py() == kept[0]
    ids = {row["verdict_id"] for row in whole[EPISODES.name]}
    unmet = [row for row in found[EPISODES.name] if row["verdict"] != "holds"]
    assert len(unmet) > 20
    # a stretch may have begun in the chapter that is gone
    cut = [row for row in unmet if row["verdict_id"] not in ids]
    assert len(cut) < len(unmet) / 4
    fresh = Runs(tmp_path)(after, revisions(kept))
    of_rows = {each.id for query in compiled() for each in query.definitions if each.looks_at == ROW}
    for name, rows in found.items():
        of = "decision" if name == DECISIONS.name else "invariant"
        assert [row for row in rows if row[of] in of_rows] == [
            row for row in fresh[name] if row[of] in of_rows
        ]


@pytest.mark.parametrize("commits", range(7))
def test_a_run_that_was_killed_is_repeated(
    silver: Tables, later: Tables, tmp_path: Path, commits: int
) -> None:
    """After any of its commits; silver may be as it was before by then, or as it was when it was killed."""
    runs, before = Runs(tmp_path), in_chapters(silver, BEGINS)
    first = runs(before, revisions(BEGINS))
    after = mixed(before, in_chapters(later, BEGINS), frozenset({25}))
    runs.lake.writes_left = commits
    with pytest.raises(KeyboardInterrupt):
        runs(after, revisions(BEGINS, chapter_25="second"))
    runs.lake.writes_left = None
    if commits % 2:
        assert runs(before, revisions(BEGINS)) == first
    else:
        found = runs(after, revisions(BEGINS, chapter_25="second"))
        assert found == Runs(tmp_path)(after, revisions(BEGINS))
    assert runs(before, revisions(BEGINS)) == first


def test_a_run_writes_what_changed(silver: Tables, later: Tables, tmp_path: Path) -> None:
    """Of pieces and decisions the chapters that were judged, and of episodes those of which some changed."""
    runs, before = Runs(tmp_path), in_chapters(silver, BEGINS)
    runs(before, revisions(BEGINS))
    was = {row["verdict_id"]: row for row in ordered(runs.lake.written[EPISODES.name])}
    runs.lake.replaced.clear()
    after = mixed(before, in_chapters(later, BEGINS), frozenset({25}))
    found = runs(after, revisions(BEGINS, chapter_25="second"))
    replaced = dict(runs.lake.replaced)
    for table in (PIECES, DECISIONS):
        chapters = {chapter for each in replaced[table.name] or () for chapter in _chapters(each)}
        assert chapters - {None} == {25}
    now = {row["verdict_id"]: row for row in found[EPISODES.name]}
    changed = [each.get(name) for each in (was, now) for name in was.keys() | now.keys()]
    moved = {
        (row["cluster"], row["chapter"])
        for row in changed
        if row and was.get(row["verdict_id"]) != now.get(row["verdict_id"])
    }
    chosen = replaced[EPISODES.name]
    assert chosen is not None
    assert {(each["cluster"], chapter) for each in chosen for chapter in _chapters(each)} == moved


def _chapters(condition: Condition) -> frozenset[int | None]:
    chosen = condition["chapter"]
    if isinstance(chosen, Within):
        least, below = chosen.least or 0, 1_000 if chosen.below is None else chosen.below
        return frozenset(each for each in BEGINS if cast(int, least) <= each < cast(int, below))
    return chosen if isinstance(chosen, frozenset) else frozenset({chosen})


def test_other_settings_make_episodes_anew(silver: Tables, tmp_path: Path) -> None:
    """Of all chapters: none stands."""
    runs, cut = Runs(tmp_path), in_chapters(silver, BEGINS)
    runs(cut, revisions(BEGINS))
    runs.settings = some_settings(no_partition_owned_twice="info")
    found = runs(cut, revisions(BEGINS))
    said = {row["severity"] for row in found[EPISODES.name] if row["invariant"] == "no_partition_owned_twice"}
    assert said == {"info"}


def test_what_was_judged_otherwise_does_not_stand() -> None:
    present = {("c", 0): "a", ("c", 1): "b", ("d", 0): "c"}
    assert compared(present, {}).standing == frozenset()
    assert compared(present, {("c", 0): "a", ("c", 1): "a", ("d", 0): "c"}).standing == {("c", 0), ("d", 0)}
    assert compared(present, {("c", 0): "b", ("c", 1): "b"}).standing == frozenset()
    found = compared(present, {("c", 0): "a", ("e", 0): "a"}, [("d", 0)])
    assert (found.standing, found.stale) == ({("c", 0)}, {("e", 0), ("d", 0)})
    assert found.judged == [("d", 0), ("c", 1)]
    later = compared({("c", 1): "b", ("c", 2): "c"}, {("c", 0): "a", ("c", 1): "b", ("c", 2): "c"})
    assert (later.judged, later.stale) == ([], {("c", 0)})
    assert Chapters().known is False

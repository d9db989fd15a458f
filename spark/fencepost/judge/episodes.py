"""Updates episodes and coverage from the pieces of all chapters, where pieces have changed.

New pieces are those of the chapters just judged; *stale* pieces are the earlier ones of chapters that do not
stand. Both touch certain definitions in certain scopes. For these, and for no others, episodes and counts are
computed twice: as they are now, and as they were. Only the difference is written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fencepost.conditions import Where
from fencepost.judge.chapters import Chapters, where
from fencepost.judge.rules import keep_intervals, rule
from fencepost.ledger import Key
from fencepost.replay.chapters import FIRST
from fencepost.tables import EPISODES, PIECES, UNKNOWN_REASONS, VERDICT_COVERAGE

if TYPE_CHECKING:
    from fencepost.judge.engine import Engine

_NOW, _OLD = "now ", "old "
"""The prefixes of the two sides of a cluster: the name of a side is the prefix and the cluster's name."""
_SCOPE = ("cluster", "definition", "scope")
_WITNESS = (*_SCOPE, "witness", "verdict", "failed_conjunct")
_COUNTED = ("checked", "exercised", "holds", "violated", "unknown")
_PLACED = ("chapter", "kind", *_WITNESS, "reason", "begins", "ends", "from_time", "to_time", *_COUNTED)
"""The columns of pieces without the texts of what fails, which take most of the space."""
_TIME = pa.timestamp("us", tz="UTC")
TIMES = pa.schema({"place": pa.string(), "chapter": pa.int64(), "begins": _TIME, "until": _TIME})
"""The times of the chapters of each side; the last chapter has no end."""
_SIDES = f"""
SELECT DISTINCT
  cluster AS place,
  SUBSTRING(cluster, {len(_NOW) + 1}) AS cluster,
  CASE WHEN cluster LIKE '{_NOW}%' THEN 1 ELSE -1 END AS sign
FROM gathered
"""


def update_episodes(engine: Engine, history: Chapters, *, whole: bool) -> None:
    """Update the episodes and the coverage from ``pieces``, those of the chapters just judged.

    ``whole``: compute them anew from the pieces of all chapters. Otherwise the lake's episodes must be those
    of the stale and of the standing chapters' pieces.
    """
    now, old = ((*history.standing, *others) for others in (history.judged, history.stale))
    engine.give("chapters", pa.concat_tables([_times(_NOW, now), _times(_OLD, old)]))
    if whole:
        engine.fetch("standing", PIECES, history.where_standing)
        engine.view("gathered", _by_side({_NOW: ("pieces", "standing")}, PIECES.columns))
        engine.view("gathered_witnesses", "SELECT * FROM gathered")
    else:
        _gather_touched(engine, history)
    engine.keep("sides", _SIDES)
    keep_intervals(engine, judged=rule("whole_held"), scopes=rule("whole_scopes"), unmet=rule("whole_unmet"))
    engine.view("failing", rule("whole_failing"))
    engine.view("unmet", rule("unmet"))
    if whole:
        episodes = f"{rule('episodes')}\nORDER BY chapter" if history.several else rule("episodes")
        engine.replace(EPISODES, [episodes])
    else:
        engine.keep("made", rule("episodes"))
        _replace_changed(engine)
    engine.fetch("counted_reasons", UNKNOWN_REASONS, () if whole else None)
    engine.keep("reasons", rule("reasons"))
    engine.replace(UNKNOWN_REASONS, ["SELECT * FROM reasons"])
    engine.fetch("counted", VERDICT_COVERAGE, () if whole else None)
    engine.keep("counts", rule("counts"))
    engine.keep("coverage", rule("coverage"))
    engine.replace(VERDICT_COVERAGE, ["SELECT * FROM coverage"])


def _gather_touched(engine: Engine, history: Chapters) -> None:
    """Gather the pieces of touched scopes; of standing chapters with texts only where the same witness
    fails.
    """
    engine.keep("touched", rule("touched"))
    engine.keep("touched_witnesses", rule("touched_witnesses"))
    engine.fetch("standing", PIECES, history.where_standing, _PLACED, ("touched", _SCOPE))
    sources = {_NOW: ("pieces", "standing"), _OLD: ("stale", "standing")}
    engine.view("gathered", _by_side(sources, _PLACED))
    alike = " AND ".join(f"one.{name} IS NOT DISTINCT FROM other.{name}" for name in _WITNESS)
    chapters = engine.rows(
        "SELECT DISTINCT one.cluster, one.chapter FROM standing AS one "
        f"JOIN touched_witnesses AS other ON one.kind = 'failing' AND {alike}"
    )
    engine.fetch("failed", PIECES, _where(chapters), (), ("touched_witnesses", _WITNESS))
    sources = {_NOW: ("pieces", "failed"), _OLD: ("stale", "failed")}
    engine.view("gathered_witnesses", _by_side(sources, PIECES.columns))


def _replace_changed(engine: Engine) -> None:
    """Replace the chapters whose episodes changed."""
    columns = ", ".join(f"made.{name}" for name in EPISODES.columns)
    now, before = (f"SELECT {columns} FROM made WHERE sign = {sign}" for sign in (1, -1))
    engine.keep("added", f"{now} EXCEPT {before}")
    engine.keep("removed", f"{before} EXCEPT {now}")
    changed = engine.rows("SELECT cluster, chapter FROM added UNION SELECT cluster, chapter FROM removed")
    if changed:
        engine.fetch("kept", EPISODES, _where(changed))
        engine.replace(
            EPISODES,
            [
                "SELECT * FROM kept WHERE verdict_id NOT IN (SELECT verdict_id FROM removed) "
                "UNION ALL SELECT * FROM added"
            ],
            _where(changed),
        )


def _by_side(sources: Mapping[str, Sequence[str]], columns: Iterable[str]) -> str:
    """A query for the rows stored under several names, with each side of a cluster as a cluster
    of its own.
    """
    selected = []
    for side, names in sources.items():
        for name in names:
            others = ", ".join(f"{name}.{column}" for column in columns if column != "cluster")
            selected.append(f"SELECT CONCAT('{side}', {name}.cluster) AS cluster, {others} FROM {name}")
    return " UNION ALL ".join(selected)


def _where(rows: Iterable[Mapping[str, Any]]) -> Where:
    return where((row["cluster"], row["chapter"]) for row in rows)


def _times(side: str, chapters: Iterable[Key]) -> pa.Table:
    begins: dict[str, list[int]] = defaultdict(list)
    for cluster, begin in sorted(chapters):
        begins[cluster].append(begin)
    rows = [
        {
            "place": f"{side}{cluster}",
            "chapter": begin,
            # what is earlier than the first chapter that is kept belongs to it
            "begins": _moment(FIRST if begin == cluster_begins[0] else begin),
            "until": None if until is None else _moment(until),
        }
        for cluster, cluster_begins in begins.items()
        for begin, until in zip(cluster_begins, [*cluster_begins[1:], None], strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=TIMES)


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)

"""What a lake is like after scheduled runs over a year that is as long as DAYS says: ``make year``.

All runs are in this process, so a run has no cost of a start. The table of each day is printed (``-s``). With
FOLDER the logs and the lake are there, and a year that was ended goes on.
"""

from __future__ import annotations

import os
import pickle
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from datetime import timedelta
from io import StringIO
from pathlib import Path
from random import Random
from statistics import median

import pytest
from calendar_of import BEGIN_MS, DAY_MS, Calendar
from cluster_files import Brokers
from history import History
from pyiceberg.catalog import Catalog

from fencepost import cli, lake
from fencepost.capture.superseded import delete_superseded
from fencepost.iceberg.commits import FILES_TOGETHER, SNAPSHOTS_KEPT
from fencepost.ledger import Ledger
from fencepost.ledger.states import find
from fencepost.maintenance import remove_old_files
from fencepost.opening import ensure
from fencepost.places import write_whole
from fencepost.protocols import protocols
from fencepost.settings import load
from fencepost.tables import FILES, LEDGER, SCHEMAS, VERDICTS

pytestmark = pytest.mark.year
DAYS, RUNS_A_DAY, AT_ONCE = (
    int(os.environ.get(name, least)) for name, least in (("DAYS", "2"), ("RUNS_A_DAY", "1"), ("AT_ONCE", "0"))
)
"""The first AT_ONCE of the DAYS are audited by one run."""
FOLDER = os.environ.get("FOLDER", "")
CHECKED = 10 if DAYS >= 100 else 1
GROWTH = 2.0
"""A run in the last tenth of the year costs at most so many times what one in its third tenth does."""
_RUN = ("run_id", "captured_at")
_SILVER = tuple(table for protocol in protocols() for table in protocol.tables if table.in_chapters)
_FINISHED = (0, 1, 3)
_TELL_OF_RUNS = ("marts.fct_audit_runs", "marts.fct_incidents")
"""Marts with what runs have told before: one run has told nothing."""


class Site:
    """The cluster's files and the lake beside them."""

    def __init__(self, folder: Path) -> None:
        self._history = History(Calendar(DAYS))
        self._brokers = Brokers(self._history, folder)
        self._config, self._state = folder / "fencepost.toml", folder / "year.pickle"
        self._slept: list[tuple[int, float]] = []
        self._written = self._audited = 0
        self._costs: dict[int, list[float]] = defaultdict(list)
        self.days: dict[int, tuple[float, Counter[str]]] = {}
        """Of each day that has ended: the CPU seconds of a run, and the sizes after it."""

    @classmethod
    def of(cls, folder: Path) -> Site:
        """The one that was ended in this folder, or a new one."""
        state = folder / "year.pickle"
        if not state.exists():
            return cls(folder)
        ended = pickle.loads(state.read_bytes())
        assert isinstance(ended, cls)
        return ended

    def live(self) -> Iterator[int]:
        """Live on day by day."""
        if AT_ONCE and not self.days:
            for day in range(1, AT_ONCE + 1):
                self._brokers.advance(BEGIN_MS + day * DAY_MS, deletes=False)
            yield self._ended(AT_ONCE, [self.audit(BEGIN_MS + AT_ONCE * DAY_MS)])
            self._written = self._audited = AT_ONCE * RUNS_A_DAY
        for run in range(self._audited, DAYS * RUNS_A_DAY):
            now, day = BEGIN_MS + (run + 1) * DAY_MS // RUNS_A_DAY, run // RUNS_A_DAY + 1
            if self._written == run:
                self._brokers.advance(now)
                self._written += 1
                self._save()
            calendar = self._history.calendar
            gaps = (calendar.all_kept_ms, calendar.partly_lost_ms)
            if not any(begin <= now < end for begin, end in gaps):
                self._costs[day].append(self.audit(now))
            self._audited += 1
            if self._audited % RUNS_A_DAY == 0 and day in self._costs:
                self._maintain(now)
                yield self._ended(day, self._costs[day])
                self._save()

    def _ended(self, day: int, costs: list[float]) -> int:
        self.days[day] = median(costs), self.sizes()
        return day

    def _save(self) -> None:
        """A year that is ended while logs are written cannot go on; at any other moment it can."""
        if FOLDER:
            write_whole(self._state, pickle.dumps(self))

    def audit(self, now: int | None = None) -> float:
        """Audit; returns the CPU seconds that it took."""
        if now is not None:
            self._configure(now)
        said, begun = StringIO(), time.process_time()
        with redirect_stdout(said), redirect_stderr(said):
            code = cli.main(["audit", "--config", str(self._config)])
        assert code in _FINISHED, said.getvalue()[-4_000:]
        return time.process_time() - begun

    @property
    def catalog(self) -> Catalog:
        """Of the lake."""
        return ensure(load(self._config).lake)

    def sizes(self) -> Counter[str]:
        """Of all tables together; ``most_``: of the table that has most."""
        found: Counter[str] = Counter()
        catalog = self.catalog
        for schema in SCHEMAS:
            for name in catalog.list_tables(schema):
                metadata = catalog.load_table(name).metadata
                snapshot = metadata.current_snapshot()
                files, rows = (
                    int((snapshot.summary or {})[f"total-{each}"] or 0) if snapshot else 0
                    for each in ("data-files", "records")
                )
                found += Counter(files=files, rows=rows, snapshots=len(metadata.snapshots))
                found["most_snapshots"] = max(found["most_snapshots"], len(metadata.snapshots))
        folder = self._config.parent / ".fencepost"
        found["bytes"] = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        return found

    def rows(self) -> dict[str, Counter[str]]:
        """The rows of silver, verdicts and marts, less what tells of the runs."""
        catalog = self.catalog
        found = {}
        for table in (*_SILVER, *VERDICTS):
            columns = [name for name in table.columns if name not in _RUN]
            found[table.name] = Counter(map(repr, lake.scan(catalog, table, columns).to_pylist()))
        for name in catalog.list_tables("marts"):
            mart = find(catalog, ".".join(name)) if ".".join(name) not in _TELL_OF_RUNS else None
            if mart is not None:
                rows = mart.scan().to_arrow()
                kept = [each for each in rows.column_names if each not in _RUN]
                found[".".join(name)] = Counter(map(repr, rows.select(kept).to_pylist()))
        return found

    def forget(self) -> None:
        """Have the next run make everything anew, of all evidence that bronze has."""
        lake.replace(self.catalog, LEDGER, LEDGER.arrow_schema.empty_table())

    def _maintain(self, now: int) -> None:
        """What ``fencepost maintain`` does after three days, of which here each lasts some seconds."""
        self._slept.append((now, time.time()))
        older = [real for ms, real in self._slept if ms <= now - 3 * DAY_MS]
        if older:
            remove_old_files(self.catalog, timedelta(seconds=time.time() - older[-1]))
        delete_superseded(self.catalog, Ledger(self.catalog, load(self._config)).read_at(FILES))

    def _configure(self, now: int) -> None:
        """A broker that is gone stays in the configuration, without paths."""
        ids = self._history.brokers(now)
        text = '[[clusters]]\nname = "year"\n'
        for broker_id in sorted({*ids, 3}):
            text += f"\n[[clusters.brokers]]\nid = {broker_id}\n"
            if broker_id in ids:
                text += f'log_dirs = ["broker-{broker_id}/log_dir"]\n'
                text += f'request_logs = ["broker-{broker_id}/kafka-request.log*"]\ntimezone = "UTC"\n'
        self._config.write_text(f'{text}\n[engine]\nrun_on = "process"\n')


def test_a_year(tmp_path: Path) -> None:
    site = Site.of(Path(FOLDER) if FOLDER else tmp_path)
    checked = set(Random(1).sample(range(DAYS // 2 + 1, DAYS + 1), CHECKED)) | {DAYS}
    print("\nday  CPU s a run  files  snapshots  MB of lake      rows")
    for day in site.live():
        cost, size = site.days[day]
        print(
            f"{day:>3} {cost:>12.1f} {size['files']:>6} {size['snapshots']:>10} "
            f"{size['bytes'] / 1e6:>11.1f} {size['rows']:>9}",
            flush=True,
        )
        # a tag may keep one more
        assert size["most_snapshots"] <= SNAPSHOTS_KEPT + 1
        if day in checked:
            _equals_one_rebuild(site)
    if DAYS >= 30 and not AT_ONCE:
        early, late = (
            median(cost for day, (cost, _) in site.days.items() if begin <= day / DAYS <= end)
            for begin, end in ((0.3, 0.4), (0.9, 1.0))
        )
        print(f"a run of the last tenth costs {late / early:.2f} times one of the third")
        assert late <= GROWTH * early
    tables = 153
    chapters = DAYS + 1
    assert site.days[DAYS][1]["files"] <= tables * FILES_TOGETHER + chapters * tables


def _equals_one_rebuild(site: Site) -> None:
    """What many runs have made is what one makes of all that they captured, which bronze keeps."""
    found = site.rows()
    site.forget()
    site.audit()
    expected = site.rows()
    assert found.keys() == expected.keys()
    different = {
        name: (list(rows - expected[name])[:2], list(expected[name] - rows)[:2])
        for name, rows in found.items()
        if rows != expected[name]
    }
    assert different == {}, sorted(different)

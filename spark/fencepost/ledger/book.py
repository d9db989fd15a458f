"""The ledger: what steps have made, and which part of it still stands."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.ledger.code import made_by
from fencepost.ledger.evidence import first_that_read_more
from fencepost.ledger.files import Since, changed_since, earliest
from fencepost.ledger.states import STEPS, States, find, read_by, snapshot_in, state_of, states, written_by
from fencepost.ledger.upgrade import remove_earlier_notes
from fencepost.protocols import captured
from fencepost.settings import Settings
from fencepost.tables import LEDGER, Table

Summary = dict[str, Any]
"""What a step says at its end, as plain values."""
Key = tuple[str, int]
"""A cluster, and when a chapter of it begins, in ms."""
T = TypeVar("T")

BEGUN, DONE, KEPT, DROPPED = "begun", "done", "kept", "dropped"


class UnfinishedError(Exception):
    """An earlier step has begun and not finished: its tables are partly of this run, partly of the last."""


@dataclass(frozen=True)
class Entry:
    """A row of LEDGER: of a chapter or a mart that a step has made, or of the step as a whole."""

    mart: str | None = None
    cluster: str | None = None
    chapter: int | None = None
    until: int | None = None
    state: str | None = None
    revision: str | None = None
    inputs: States = field(default_factory=dict)
    outputs: States = field(default_factory=dict)
    made_by: str | None = None
    summary: Summary | None = None

    @property
    def key(self) -> Key:
        """The cluster and the begin of its chapter."""
        assert self.cluster is not None and self.chapter is not None
        return self.cluster, self.chapter


class Ledger:
    """The entries of all steps; a process that writes to the lake has one. It must hold the lake's lock."""

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        self._catalog, self._settings = catalog, settings
        self._read: dict[str, States] = {}

    def summary(self, step: str) -> Summary | None:
        """What the step said when it was done; None if it has to be done again, because the tables that it
        reads or has written, the code or the settings are not what they were then.

        Raises UnfinishedError as ``require_finished`` does.
        """
        self.require_finished(step)
        of_step = self._of_step(step)
        if not self.is_done(step) or of_step.inputs != self.states(read_by(step)):
            return None
        return of_step.summary if of_step.outputs == self._written(step) else None

    def require_finished(self, step: str) -> None:
        """Raises UnfinishedError if a step before this one was killed or failed, and has not been repeated
        since.
        """
        for before in STEPS[: STEPS.index(step)]:
            if self._of_step(before).state == BEGUN:
                raise UnfinishedError(f"{before} was begun and did not end: repeat it before {step}")

    def begin(self, step: str, stand: Iterable[Entry] = ()) -> None:
        """Write that a step begins, and that of its earlier entries only these stand. It must be done before
        the step writes any of its rows.
        """
        if not any(self._entries.values()):
            remove_earlier_notes(self._catalog)
        self._read[step] = self.states(read_by(step))
        self._write(step, Entry(state=BEGUN, inputs=self._of_step(step).inputs), stand)

    def note(self, step: str, entries: Iterable[Entry]) -> None:
        """Write that these entries are true now, while the step goes on."""
        self._write(step, Entry(state=BEGUN, inputs=self._read[step]), entries)

    def done(self, step: str, entries: Iterable[Entry], summary: Summary) -> None:
        """Write that a step is done, that these are its entries, and what it says."""
        done = Entry(state=DONE, inputs=self._read[step], outputs=self._written(step), summary=summary)
        self._write(step, done, entries)

    def entries(self, step: str) -> list[Entry]:
        """The entries of a step's chapters and marts."""
        return [each for each in self._entries.get(step, ()) if each.mart or each.cluster]

    def standing(self, step: str) -> dict[Key, Entry]:
        """The chapters that a step has made with the present code and settings."""
        return {each.key: each for each in self._made_by_present(step) if each.cluster is not None}

    @property
    def marts(self) -> dict[str, Entry]:
        """The marts that were built with the present code and settings, by name."""
        return {each.mart: each for each in self._made_by_present("marts") if each.mart is not None}

    def _made_by_present(self, step: str) -> list[Entry]:
        return self.entries(step) if self._of_step(step).made_by == self.made_by(step) else []

    @property
    def history(self) -> dict[Key, str | None]:
        """The revision of each chapter of which silver has the rows."""
        return {each.key: each.revision for each in self.entries("rebuild") if each.state == KEPT}

    def is_done(self, step: str) -> bool:
        """Whether the step was done last, and not only begun, by the present code and settings."""
        return self._of_step(step).state == DONE and self._of_step(step).made_by == self.made_by(step)

    @property
    def has_used_all(self) -> bool:
        """Whether rebuild, judge and marts are done, by the present code and settings, each with what the
        steps before it have left. What was captured since the rebuild is not asked for.
        """
        written: set[str] = set()
        for step in ("rebuild", "judge", "marts"):
            made_of = self._of_step(step).inputs
            left = [name for name in read_by(step) if name in written]
            if not self.is_done(step) or any(
                made_of.get(name) != state for name, state in self.states(left).items()
            ):
                return False
            written |= {*written_by(step, self._catalog)}
        return True

    def read_at(self, table: Table) -> int | None:
        """The snapshot up to which the rebuild has read a table of bronze; None if it has read no row."""
        state = self._of_step("rebuild").inputs.get(table.name)
        return None if state is None else snapshot_in(state)

    def made_by(self, step: str) -> str:
        """A digest of the code and the settings that determine the step's rows."""
        return made_by(step, self._settings)

    def changed_evidence(self, planned: Mapping[Key, int | None]) -> dict[str, int]:
        """By cluster, the first chapter of which the rebuild has no rows, or would make other rows now.
        Clusters without such a chapter are left out.

        ``planned``: chapter -> the begin of the next one of its cluster.
        """
        noted = {key: each.until for key, each in self.standing("rebuild").items()}
        begins = _begins(planned)
        first = first_different(noted, planned)
        for cluster, begin in first.items():
            if cluster in begins and begin not in begins[cluster]:
                first[cluster] = max(each for each in begins[cluster] if each < begin)
        inputs = {
            name: None if state is None else snapshot_in(state)
            for name, state in self._of_step("rebuild").inputs.items()
        }
        of_noted = {name: begins[name] for name in {cluster for cluster, _ in noted} & begins.keys()}
        news = first_that_read_more(self._catalog, inputs, of_noted) if of_noted else {}
        return {name: each for name, each in earliest([first, news]).items() if name in begins}

    def changed_inputs(self, mart: str, inputs: States, outputs: States, *, by_chapter: bool) -> Since | None:
        """The chapters from which on these inputs of a mart have changed since it was built; empty if none
        has. None if all of it has to be built: it never was, it is not as it was built, or what has changed
        is not known ``by_chapter``.
        """
        made = self.marts.get(mart)
        if made is None or made.outputs != outputs or made.inputs.keys() != inputs.keys():
            return None
        changed = [name for name in inputs if made.inputs[name] != inputs[name]]
        if changed and not by_chapter:
            return None
        since = [self._changed(name, made.inputs[name]) for name in changed]
        return earliest(each for each in since if each is not None) if None not in since else None

    def _changed(self, name: str, before: str | None) -> Since | None:
        table = find(self._catalog, name)
        if table is None:
            return None
        if before is None:
            return changed_since(table, None)
        same_table = before.split()[0] == str(table.metadata.table_uuid)
        return changed_since(table, snapshot_in(before)) if same_table else None

    def keep_unread(self) -> None:
        """Have tables of bronze keep the snapshots since those that the rebuild has read, however many
        captures come before the next rebuild: they tell what is new then.
        """
        read = self._of_step("rebuild").inputs
        for table in captured():
            state = read.get(table.name)
            present = find(self._catalog, table.name)
            if state is None or present is None or state == state_of(present):
                continue
            if (snapshot := snapshot_in(state)) is not None:
                lake.keep_since(self._catalog, table, snapshot)

    def states(self, names: Iterable[str]) -> States:
        """The states of tables now."""
        return states(self._catalog, names)

    def _written(self, step: str) -> States:
        return self.states(written_by(step, self._catalog))

    def _of_step(self, step: str) -> Entry:
        """The entry of the step as a whole."""
        return next(
            (each for each in self._entries.get(step, ()) if not (each.mart or each.cluster)), Entry()
        )

    def _write(self, step: str, of_step: Entry, entries: Iterable[Entry]) -> None:
        made = Entry(**{**vars(of_step), "made_by": self.made_by(step)})
        self._entries[step] = [made, *entries]
        self._replace(step, LEDGER.rows(_row(step, each) for each in self._entries[step]))

    @cached_property
    def _entries(self) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = {}
        for row in self._rows().to_pylist():
            found.setdefault(row["step"], []).append(_entry(row))
        return found

    def _rows(self) -> pa.Table:
        return lake.scan(self._catalog, LEDGER)

    def _replace(self, step: str, rows: pa.Table) -> None:
        lake.replace(self._catalog, LEDGER, rows, [{"step": step}])


def first_different(noted: Mapping[Key, T], present: Mapping[Key, T]) -> dict[str, int]:
    """By cluster, the first chapter that is in one of both only, or is another one."""
    different = (
        key
        for key in noted.keys() | present.keys()
        if key not in noted or key not in present or noted[key] != present[key]
    )
    return dict(earliest(dict([key]) for key in different))


def _begins(planned: Collection[Key]) -> dict[str, Sequence[int]]:
    begins: dict[str, list[int]] = {}
    for cluster, begin in sorted(planned):
        begins.setdefault(cluster, []).append(begin)
    return dict(begins)


def _row(step: str, entry: Entry) -> tuple[Any, ...]:
    begins = datetime.fromtimestamp(entry.chapter / 1000, UTC) if entry.chapter else None
    values = {"step": step, "begins": begins, **vars(entry)}
    values |= {name: _json(values[name] or None) for name in ("inputs", "outputs")}
    values |= {"summary": _json(entry.summary)}
    return tuple(values[name] for name in LEDGER.columns)


def _entry(row: Mapping[str, Any]) -> Entry:
    inputs, outputs, summary = (json.loads(row[name] or "null") for name in ("inputs", "outputs", "summary"))
    names = ("mart", "cluster", "chapter", "until", "state", "revision", "made_by")
    of_entry = {name: row[name] for name in names}
    return Entry(**of_entry, inputs=inputs or {}, outputs=outputs or {}, summary=summary)


def _json(values: Any) -> str | None:
    return None if values is None else json.dumps(values, default=str)

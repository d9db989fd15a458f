"""The outcomes of definitions, and the decision of the gate: which of them are critical."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from fencepost.words import printable, time_of


@dataclass(frozen=True)
class Outcome:
    """The outcome of one marked definition in one cluster; counts are states, steps or commits.

    ``status`` is violated, unknown, holds or not_exercised; ``severity`` is the one of the configuration, if
    that overrides it. ``since``: the time from which the cluster was audited, None for all of history.
    """

    cluster: str
    module: str
    invariant: str
    kind: str
    severity: str
    status: str
    checked: int
    exercised: int
    violated: int
    unknown: int
    description: str
    since: datetime | None = None

    def __str__(self) -> str:
        return f"{self.invariant} in cluster {self.cluster}"


@dataclass(frozen=True)
class GateResult:
    """The result of the gate. ``passed`` is false exactly when something ``critical`` is violated.

    ``warnings`` are violated with a lower severity. ``unknown`` (not violated, but evidence is missing
    somewhere) and ``not_exercised`` have definitions of any severity about which the gate can say nothing.
    ``data_docs`` is the page to open; ``alert`` the file with the alert, if one was written. ``since``: the
    time from which each cluster was audited, for clusters whose history was audited only in part.
    """

    critical: tuple[Outcome, ...]
    warnings: tuple[Outcome, ...]
    unknown: tuple[Outcome, ...]
    not_exercised: tuple[Outcome, ...]
    holding: int
    data_docs: Path
    alert: Path | None = None
    since: tuple[tuple[str, datetime], ...] = ()

    @property
    def passed(self) -> bool:
        return not self.critical

    def summary(self) -> str:
        """One line with the counts."""
        return (
            f"{len(self.critical)} critical, {len(self.warnings)} warnings, {len(self.unknown)} unknown, "
            f"{len(self.not_exercised)} not exercised, {self.holding} hold"
            + "".join(f"; {printable(name)} since {time_of(since)}" for name, since in self.since)
        )


class GateError(Exception):
    """The gate could not do its work; nothing is said about the cluster."""


class GateFailed(Exception):  # noqa: N818 (a verdict about the cluster, not an error of the gate)
    """A critical invariant is violated. ``result`` has the details, the message is for the person on call."""

    def __init__(self, result: GateResult) -> None:
        names = "; ".join(f"{each} ({each.violated} of {each.checked})" for each in result.critical)
        where = f" Alert: {result.alert}." if result.alert else ""
        super().__init__(f"Critical and violated: {names}.{where} Data Docs: {result.data_docs}")
        self.result = result


def outcomes(rows: Iterable[Mapping[str, Any]], severities: Mapping[str, str]) -> list[Outcome]:
    """Rows of ``marts.fct_invariant_coverage`` -> outcomes, severities overridden per invariant."""
    all_outcomes = []
    for row in rows:
        values = {name: row[name] for name in Outcome.__dataclass_fields__ if name != "since"}
        values["since"] = row.get("since")
        values["severity"] = severities.get(values["invariant"], values["severity"])
        all_outcomes.append(Outcome(**values))
    return sorted(all_outcomes, key=lambda each: (each.cluster, each.module, each.invariant))


def decide(all_outcomes: Iterable[Outcome], data_docs: Path) -> GateResult:
    """Sort the outcomes by what they mean for the run."""
    all_outcomes = list(all_outcomes)
    violated = sorted(
        (each for each in all_outcomes if each.status == "violated"), key=lambda each: -each.violated
    )
    return GateResult(
        critical=tuple(each for each in violated if each.severity == "critical"),
        warnings=tuple(each for each in violated if each.severity != "critical"),
        unknown=tuple(each for each in all_outcomes if each.status == "unknown"),
        not_exercised=tuple(each for each in all_outcomes if each.status == "not_exercised"),
        holding=sum(each.status == "holds" for each in all_outcomes),
        data_docs=data_docs,
        since=tuple(sorted({(each.cluster, each.since) for each in all_outcomes if each.since is not None})),
    )

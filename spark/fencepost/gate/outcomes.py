"""The decision of the gate: whether the run passes, and which definitions the summary and the alert name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from fencepost.outcomes import NOT_JUDGED, PASSED, ClusterOutcome, Outcome, gravest, headline
from fencepost.words import printable, time_of


@dataclass(frozen=True)
class GateResult:
    """The result of the gate.

    ``critical`` are violated by incidents that are new or go on, ``past`` only by incidents that are over or
    waived. ``lesser`` are violated with a lower severity. ``partly`` (what could be told
    holds), ``unknown`` (nothing could be told) and ``not_exercised`` have definitions of any severity for
    which the gate cannot vouch. ``clusters``: what all of it says of each cluster; ``not_judged_passes``:
    whether the run may pass although a cluster was not judged (``gate.not_judged``). ``page`` is the
    address of the page to open, ``data_docs`` that of Data Docs, None where none is written; ``alert`` the
    file with the alert, if one was written: one is for critical incidents of which nobody was told, and for
    clusters that could be judged in the run before. ``incidents``: how many are new, ongoing, over since the
    run before, and waived. ``since``: the time from which each
    cluster was audited, for clusters whose history was audited only in part.
    """

    critical: tuple[Outcome, ...]
    past: tuple[Outcome, ...]
    lesser: tuple[Outcome, ...]
    partly: tuple[Outcome, ...]
    unknown: tuple[Outcome, ...]
    not_exercised: tuple[Outcome, ...]
    holding: int
    clusters: tuple[ClusterOutcome, ...]
    page: str | None = None
    data_docs: Path | None = None
    alert: Path | None = None
    since: tuple[tuple[str, datetime], ...] = ()
    not_judged_passes: bool = False
    incidents: Mapping[str, int] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        """PASSED, FAILED or NOT JUDGED: the gravest of all clusters."""
        return gravest(self.clusters)

    @property
    def passed(self) -> bool:
        """Whether the gate is open for every cluster."""
        return all(self.closed(each) is None for each in self.clusters)

    def closed(self, of: ClusterOutcome) -> str | None:
        """Why the gate is closed for a cluster, in a line; None if it is open for it."""
        is_open = of.headline == PASSED or (of.headline == NOT_JUDGED and self.not_judged_passes)
        return None if is_open else headline([of])

    @property
    def pages(self) -> str:
        """Where to read on, in a line; empty if no page was written."""
        docs = None if self.data_docs is None else str(self.data_docs)
        return ". ".join(
            f"{name}: {printable(at)}" for name, at in (("Page", self.page), ("Data Docs", docs)) if at
        )

    def summary(self) -> str:
        """One line with the headline and the counts."""
        return (
            f"{self.headline}: {', '.join(f'{number} {state}' for state, number in self.incidents.items())}; "
            f"{len(self.critical)} critical, {self._number_of('warning')}, {self._number_of('info')}, "
            f"{self.holding} hold, {len(self.partly)} hold here and there, {len(self.unknown)} unknown, "
            f"{len(self.not_exercised)} not exercised"
            + "".join(f"; {printable(name)} since {time_of(since)}" for name, since in self.since)
        )

    def _number_of(self, severity: str) -> str:
        return f"{sum(each.severity == severity for each in self.lesser)} {severity}"


class GateError(Exception):
    """The gate could not do its work; nothing is said about the cluster."""


class GateFailed(Exception):  # noqa: N818 (a verdict about the cluster, not an error of the gate)
    """A critical invariant is violated, or a cluster was not judged. ``result`` has the details, the message
    is for the person on call.
    """

    def __init__(self, result: GateResult) -> None:
        where = (
            f" Alert: {result.alert}."
            if result.alert
            else " Nothing of it is new: the alert was sent before."
        )
        super().__init__(f"{headline(result.clusters)}.{where} {result.pages}".rstrip())
        self.result = result


def decide(
    all_outcomes: Iterable[Outcome],
    clusters: Sequence[ClusterOutcome],
    *,
    page: str | None = None,
    data_docs: Path | None = None,
    not_judged_passes: bool = False,
    incidents: Mapping[str, int] = MappingProxyType({}),
) -> GateResult:
    """Sort the outcomes by what they mean for the run."""
    all_outcomes = list(all_outcomes)
    violated = sorted((each for each in all_outcomes if each.status == "violated"), key=_most_first)
    return GateResult(
        critical=tuple(sorted(chain.from_iterable(each.violated for each in clusters), key=_most_first)),
        past=tuple(sorted(chain.from_iterable(each.past for each in clusters), key=_most_first)),
        lesser=tuple(each for each in violated if not each.is_critical),
        partly=tuple(each for each in all_outcomes if each.status == "holds_partly"),
        unknown=tuple(each for each in all_outcomes if each.status == "unknown"),
        not_exercised=tuple(each for each in all_outcomes if each.status == "not_exercised"),
        holding=sum(each.status == "holds" for each in all_outcomes),
        clusters=tuple(clusters),
        page=page,
        data_docs=data_docs,
        since=tuple(sorted({(each.cluster, each.since) for each in all_outcomes if each.since is not None})),
        not_judged_passes=not_judged_passes,
        incidents=incidents,
    )


def _most_first(outcome: Outcome) -> int:
    return -outcome.violated

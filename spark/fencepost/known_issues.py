"""Known issues: whose fault a violation is, which ticket it has, and which release has the correction.

Each protocol lists its own in ``known_issues.toml``. ``python -m fencepost.known_issues PAGE`` writes them as
a table into a page.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

from fencepost.definitions import definition
from fencepost.markdown import row, with_part
from fencepost.protocol_folders import protocol_folders

FILE = "known_issues.toml"
FAULT_OF = ("broker", "client", "configuration", "operator")
MARKERS = (
    "<!-- generated from known_issues.toml of each protocol by `make compile`; do not edit -->",
    "<!-- end of what is generated -->",
)


@dataclass(frozen=True)
class KnownIssue:
    """One known issue. ``violates``: the invariants that it violates. ``fault_of``: one of FAULT_OF, None if
    several may be at fault. ``tickets``: of Kafka, or of the project at fault, or the proposal that corrects
    it. ``seen_in``: the releases that showed it. ``fixed_in``: what has the correction, None if nothing that
    is known. ``ruled_out_by``: by invariant, values in the evidence of a verdict (as JSON has them, strings
    without quotes), each of which shows that something else is behind it.
    """

    id: str
    protocol: str
    title: str
    violates: tuple[str, ...]
    fault_of: str | None
    tickets: tuple[str, ...]
    seen_in: tuple[str, ...]
    fixed_in: str | None
    ruled_out_by: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """What it is, whose fault, and where it is corrected, in one sentence."""
        fault = f"a fault of the {self.fault_of}" if self.fault_of else "whose fault is not settled"
        if self.fault_of in ("configuration", "operator"):
            fault = f"the {self.fault_of}'s doing"
        facts = [fault, *self.tickets, f"corrected: {self.fixed_in}" if self.fixed_in else ""]
        if self.fault_of in (None, "broker") and not self.fixed_in:
            facts.append("no release that is known has a correction")
        return f"{self.title} ({'; '.join(filter(None, facts))})"


@cache
def known_issues() -> tuple[KnownIssue, ...]:
    """All of them. Raises ValueError for one that names an invariant that does not exist."""
    return tuple(
        _issue(name, protocol, entry)
        for protocol, folder in protocol_folders().items()
        if (folder / FILE).is_file()
        for name, entry in tomllib.loads((folder / FILE).read_text(encoding="utf-8")).items()
    )


def issues_behind(invariant: str, evidence: Mapping[str, Any]) -> list[KnownIssue]:
    """The known issues that may be behind a violation of an invariant, by the evidence of its verdict."""
    return [
        each
        for each in known_issues()
        if invariant in each.violates
        and not any(
            value == _as_json(evidence.get(name))
            for name, value in each.ruled_out_by.get(invariant, {}).items()
        )
    ]


def _as_json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def named(ids: Collection[str] | None) -> list[KnownIssue]:
    """The known issues with these ids; none for None."""
    return [each for each in known_issues() if each.id in (ids or ())]


def sentences(issues: Iterable[KnownIssue]) -> list[str]:
    """What to say of the issues that may be behind something; nothing if none is known."""
    return [f"Perhaps a known issue: {each.words}." for each in issues]


def table(issues: Iterable[KnownIssue]) -> Iterator[str]:
    """The issues as a table of Markdown."""
    yield from (row(("issue", "invariants", "fault of", "ticket", "corrected")), "|---|---|---|---|---|")
    for each in issues:
        invariants = ", ".join(f"[`{name}`](invariants/{name}.md)" for name in each.violates)
        cells = (each.fault_of or "not settled", ", ".join(each.tickets) or "–", each.fixed_in or "–")
        yield row((each.title, invariants, *cells))
    yield ""


def _issue(name: str, protocol: str, entry: dict[str, object]) -> KnownIssue:
    issue = KnownIssue(
        name,
        protocol,
        str(entry["title"]),
        _texts(entry["violates"]),
        None if "fault_of" not in entry else str(entry["fault_of"]),
        _texts(entry.get("tickets", [])),
        _texts(entry["seen_in"]),
        None if "fixed_in" not in entry else str(entry["fixed_in"]),
        cast("dict[str, dict[str, str]]", entry.get("ruled_out_by", {})),
    )
    unknown = [each for each in issue.violates if definition(each) is None]
    if unknown or issue.fault_of not in (None, *FAULT_OF):
        raise ValueError(f"{protocol}/{FILE}, {name}: nothing is called {unknown or issue.fault_of}")
    return issue


def _texts(values: object) -> tuple[str, ...]:
    return tuple(map(str, values)) if isinstance(values, list) else ()


if __name__ == "__main__":
    written = Path(sys.argv[1])
    page = with_part(written.read_text(encoding="utf-8"), MARKERS, table(known_issues()))
    written.write_text(page, encoding="utf-8")

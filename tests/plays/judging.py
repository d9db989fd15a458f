"""Audits performances together and judges them, each by all oracles."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from plays.audits import Audit, audit, configure, forget, rows_of
from plays.oracles import judge
from plays.oracles.case import Case, Fault
from plays.oracles.pieces import compare
from plays.stage import Performance


@dataclass
class Judgement:
    """The faults found on each cluster, by its name, and what the audits cost."""

    faults: dict[str, list[Fault]]
    cpu_s: float = 0.0
    audits: int = 0
    cases: list[Case] = field(default_factory=list)


def judge_all(given: Sequence[Performance], work: Path, cut: bool = False) -> Judgement:
    """Audit these as clusters of one lake, and judge each. If the audit fails, each is audited alone.

    With ``cut`` the copies that were made of running brokers are audited first, and then everything in that
    lake: the rows must be those of an audit of everything at once (O6).
    """
    forget(work)
    homes = {each.script.name: each for each in given}
    config = configure(work / "once", {name: (p.home, p.script.setting.brokers) for name, p in homes.items()})
    done = audit(config)
    if not done.is_done:
        return _apart(given, work, done)
    rows = rows_of(config)
    cases = {name: Case(p.script, p.facts, rows[name]) for name, p in homes.items()}
    found = Judgement(
        {name: judge(case) for name, case in cases.items()}, done.cpu_s, 1, list(cases.values())
    )
    copied = {name: p for name, p in homes.items() if (p.home / "copy").exists()}
    if cut and copied:
        _cut(copied, cases, work / "twice", found)
    return found


def _apart(given: Sequence[Performance], work: Path, failed: Audit) -> Judgement:
    if len(given) == 1:
        fault = {"fault": f"O1:exit_{failed.code}", "said": failed.said[-3000:]}
        return Judgement({given[0].script.name: [fault]}, failed.cpu_s, 1)
    found = Judgement({}, failed.cpu_s, 1)
    for each in given:
        alone = judge_all([each], work / each.script.name)
        found.faults |= alone.faults
        found.cpu_s += alone.cpu_s
        found.audits += alone.audits
        found.cases += alone.cases
    if not any(fault["fault"].startswith("O1:") for faults in found.faults.values() for fault in faults):
        found.faults[given[0].script.name].append({"fault": "O1:only_together", "said": failed.said[-3000:]})
    return found


def _cut(copied: dict[str, Performance], cases: dict[str, Case], work: Path, found: Judgement) -> None:
    """The folders at the configured places are first the copies, then all."""
    places = {name: work / "files" / name for name in copied}
    config = configure(work, {name: (places[name], p.script.setting.brokers) for name, p in copied.items()})
    for part in ("copy", "."):
        for name, performance in copied.items():
            shutil.rmtree(places[name], ignore_errors=True)
            for folder in (performance.home / part).glob("broker-*"):
                shutil.copytree(folder, places[name] / folder.name)
        done = audit(config)
        found.cpu_s += done.cpu_s
        found.audits += 1
        if not done.is_done:
            for name in copied:
                found.faults[name].append(
                    {"fault": f"O6:exit_{done.code}", "of": part, "said": done.said[-3000:]}
                )
            return
    rows = rows_of(config)
    for name in copied:
        case = Case(cases[name].script, cases[name].facts, rows[name])
        found.faults[name] += compare(cases[name].rows, rows[name])
        again = {json.dumps(f, default=str) for f in found.faults[name]}
        found.faults[name] += [f for f in judge(case) if json.dumps(f, default=str) not in again]


def keep_faults(performance: Performance, faults: list[Fault]) -> None:
    """Write the faults beside the performance."""
    lines = (json.dumps(fault, default=str) + "\n" for fault in faults)
    (performance.home / "faults.jsonl").write_text("".join(lines))

"""Audits performances together and judges them, each by all oracles."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from plays.audits import Audit, audit, configure, forget, rows_of
from plays.oracles import judge
from plays.oracles.case import Case, Fault
from plays.oracles.holes import holes
from plays.oracles.pieces import compare
from plays.stage import Performance

_MISSING = 0.15


@dataclass
class Judgement:
    """The faults found on each cluster, by its name, and what the audits cost."""

    faults: dict[str, list[Fault]]
    cpu_s: float = 0.0
    audits: int = 0
    cases: list[Case] = field(default_factory=list)


Homes = dict[str, Performance]
Way = Callable[[Homes, dict[str, Case], Path, Judgement], None]
"""A further audit of the same performances, and what it must have in common with the first."""


def judge_all(given: Sequence[Performance], work: Path, ways: Sequence[Way] = ()) -> Judgement:
    """Audit these as clusters of one lake, and judge each. If the audit fails, each is audited alone.

    ``ways`` are further audits of the same files, whose rows are compared with these.
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
    for way in ways:
        way(homes, cases, work / "again", found)
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


def in_pieces(homes: Homes, cases: dict[str, Case], work: Path, found: Judgement) -> None:
    """O6: first the copies of running brokers, then everything at the same places in the same lake."""
    copied = {name: p for name, p in homes.items() if (p.home / "copy").exists()}
    if not copied:
        return
    forget(work)
    config = _configured(copied, work)
    for part in ("copy", "."):
        for name, performance in copied.items():
            _copy(performance.home / part, work / "files" / name)
        if not _audited(config, copied, f"O6:exit_{part}", found):
            return
    rows = rows_of(config)
    for name in copied:
        found.faults[name] += compare(cases[name].rows, rows[name])
        told = {json.dumps(fault, default=str) for fault in found.faults[name]}
        again = judge(Case(cases[name].script, cases[name].facts, rows[name]))
        found.faults[name] += [fault for fault in again if json.dumps(fault, default=str) not in told]


def with_holes(homes: Homes, cases: dict[str, Case], work: Path, found: Judgement) -> None:
    """O9: a part of the lines of the request logs is missing."""
    forget(work)
    config = _configured(homes, work)
    for name, performance in homes.items():
        _copy(performance.home, work / "files" / name)
        rng = random.Random(name)
        for log in sorted((work / "files" / name).glob("broker-*/kafka-request.log")):
            lines = log.read_bytes().splitlines(keepends=True)
            log.write_bytes(b"".join(line for line in lines if rng.random() > _MISSING))
    if _audited(config, homes, "O9:exit", found):
        rows = rows_of(config)
        for name in homes:
            found.faults[name] += holes(cases[name].rows, rows[name])


WAYS: tuple[Way, ...] = (in_pieces, with_holes)


def _configured(homes: Homes, work: Path) -> Path:
    sources = {name: (work / "files" / name, p.script.setting.brokers) for name, p in homes.items()}
    return configure(work, sources)


def _copy(home: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    for folder in home.glob("broker-*"):
        shutil.copytree(folder, target / folder.name)


def _audited(config: Path, homes: Homes, fault: str, found: Judgement) -> bool:
    done = audit(config)
    found.cpu_s += done.cpu_s
    found.audits += 1
    for name in () if done.is_done else homes:
        found.faults[name].append({"fault": f"{fault}:{done.code}", "said": done.said[-3000:]})
    return done.is_done


def keep_faults(performance: Performance, faults: list[Fault]) -> None:
    """Write the faults beside the performance."""
    lines = (json.dumps(fault, default=str) + "\n" for fault in faults)
    (performance.home / "faults.jsonl").write_text("".join(lines))

"""The oracles: what must be true of an audit whatever was played, without a human who looks at it."""

from __future__ import annotations

import traceback

from plays.oracles.case import Case, Fault
from plays.oracles.mirrors import mirrors
from plays.oracles.owners import owners
from plays.oracles.refusals import refusals
from plays.oracles.rules import rules
from plays.oracles.state import state

ORACLES = (rules, state, refusals, owners, mirrors)


def judge(case: Case) -> list[Fault]:
    """The faults that all oracles find. An oracle that fails is a fault of its own, and is seen."""
    faults: list[Fault] = []
    for oracle in ORACLES:
        try:
            faults += oracle(case)
        except Exception:
            faults.append({"fault": f"oracle:{oracle.__name__}", "why": traceback.format_exc()[-900:]})
    return faults

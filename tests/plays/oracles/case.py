"""What an oracle judges: the account of a script, and the rows of the audit of its cluster."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from plays.audits import Rows
from plays.calls import Fact
from plays.script import Script, Step

Fault = dict[str, Any]
"""``fault`` is its name, which is the same whenever the fault is; ``play`` the label, if it is one play's."""

LABEL = re.compile(r"-(p\d+)\b")
"""The label of a play in a name."""

_LOST_BEFORE_KILL_MS = 3000  # lines that a killed broker may not have written
_AROUND_DOWN_MS = 15_000


@dataclass
class Case:
    """One cluster: its script, the facts, and the rows of the marts by table (``audits.TABLES``)."""

    script: Script
    facts: list[Fact]
    rows: Rows

    def requests(self) -> Iterator[Fact]:
        """Every answered request, in the order of the answers."""
        return (fact for fact in self.facts if fact["event"] == "request")

    def answers(self) -> Iterator[Fact]:
        """What Kafka said: for each play when it ended, at last for everything."""
        return (fact for fact in self.facts if fact["event"] == "answers")

    @property
    def last_answers(self) -> Fact | None:
        """What Kafka said of everything before the stop; None if the script did not come so far."""
        return next((fact for fact in self.answers() if fact["of"] is None), None)

    @cached_property
    def downs(self) -> list[tuple[int, int, str]]:
        """When a broker was being taken down: from, to, how."""
        begun = [(fact["ts_ms"], fact["how"]) for fact in self.facts if fact["event"] == "down"]
        ended = [fact["ts_ms"] for fact in self.facts if fact["event"] == "up"]
        return [(at, next((e for e in ended if e >= at), at), how) for at, how in begun]

    def is_logged(self, request: Fact) -> bool:
        """Whether the request log must have its line: a killed broker may not have written the last."""
        kills = [at for at, _, how in self.downs if how == "kill"]
        return not any(-_LOST_BEFORE_KILL_MS < request["ts_ms"] - at <= 1000 for at in kills)

    @cached_property
    def ahead_ms(self) -> tuple[int, int]:
        """By how much brokers' clocks were ahead of the players', at least and at most."""
        told = [fact["ahead_s"] for fact in self.facts if fact["event"] == "clock"]
        known = [0.0, *self.script.setting.ahead_s, *told]
        return round(1000 * min(known)), round(1000 * max(known))

    def is_near_down(self, at_ms: int | None) -> bool:
        """Whether a broker was away shortly before a time of a broker's clock."""
        least, most = self.ahead_ms
        return at_ms is None or any(
            at - 1000 <= at_ms - least and at_ms - most <= up + _AROUND_DOWN_MS for at, up, _ in self.downs
        )

    @cached_property
    def owners(self) -> dict[int, str]:
        """The play of each producer id."""
        found = {}
        for fact in self.requests():
            if (
                fact["api"] in ("InitProducerId", "EndTxn")
                and fact["play"]
                and fact["answer"].get("ProducerId", -1) >= 0
            ):
                found[fact["answer"]["ProducerId"]] = fact["play"]
        return found

    def plays_of(self, row: dict[str, Any]) -> set[str]:
        """The plays that a verdict is about, by the names and producer ids in it."""
        text = " ".join(str(row[name]) for name in ("scope", "witness", "evidence"))
        ids = re.findall(r'"producer_id": ?"?(\d+)', text)
        return set(LABEL.findall(text)) | {self.owners[int(i)] for i in ids if int(i) in self.owners}

    @cached_property
    def steps(self) -> dict[str | None, list[Step]]:
        """The steps by play."""
        found: dict[str | None, list[Step]] = {}
        for step in self.script.steps:
            found.setdefault(step.get("play"), []).append(step)
        return found

    def done(self, plays: Iterable[str]) -> set[str]:
        """What was done in these plays (``op``), and in any play to the whole cluster; and the options."""
        ops = {step["op"] for play in plays for step in self.steps.get(play, ())}
        ops |= {step["op"] for step in self.script.steps if step["op"] == "lose"}
        ops |= {step["name"] for step in self.script.steps if step["op"] == "config"}
        return ops | set(self.script.setting.options)

    @cached_property
    def lines(self) -> dict[tuple[str, int], tuple[str, int]]:
        """The place of a request's line, by client id and correlation id."""
        return {
            (line["client_id"], line["correlation_id"]): (line["file"], line["position"])
            for line in self.rows["lines"]
        }


def request_of(fact: Fact) -> tuple[str, int]:
    """The client id and correlation id of a request."""
    return fact["client"], fact["correlation_id"]


def millis(at: dt.datetime | str | None) -> int | None:
    """A moment in UTC as milliseconds since the epoch."""
    if at is None:
        return None
    if isinstance(at, str):
        at = dt.datetime.fromisoformat(at.replace("Z", "+00:00"))
    return round((at if at.tzinfo else at.replace(tzinfo=dt.UTC)).timestamp() * 1000)


def evidence(row: dict[str, Any]) -> dict[str, Any]:
    """The evidence of a verdict or event."""
    found: dict[str, Any] = json.loads(row["evidence"])
    return found


def differ(name: str, kafka: set[Any], marts: set[Any]) -> Iterator[Fault]:
    """A fault if two sets differ."""
    if kafka != marts:
        yield {
            "fault": name,
            "kafka_only": sorted(kafka - marts, key=str)[:8],
            "marts_only": sorted(marts - kafka, key=str)[:8],
        }

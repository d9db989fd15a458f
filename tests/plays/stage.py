"""Gives a script on a real cluster, and keeps the account of it."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brokers import Plan
from cluster import Cluster
from plays.administrators import FAILURES, Administrators
from plays.calls import Calls, Fact
from plays.casts import Casts
from plays.classic_members import ClassicMembers
from plays.committers import Committers
from plays.knowledge import World
from plays.members import Members
from plays.producers import Producers
from plays.questions import Questions
from plays.script import Script, Setting, Step, read
from plays.server_logs import skipped_markers

_SCRIPT, _FACTS = "script.jsonl", "facts.jsonl"


@dataclass(frozen=True)
class Performance:
    """A script that was given: its folder has ``script.jsonl``, ``facts.jsonl`` and the brokers' folders."""

    home: Path

    @property
    def script(self) -> Script:
        """What was played."""
        return read(self.home / _SCRIPT)

    @property
    def facts(self) -> list[Fact]:
        """What the players know, and which markers the coordinators say that they never wrote."""
        known = [json.loads(line) for line in (self.home / _FACTS).read_text().splitlines()]
        return known + list(skipped_markers(self.home.glob("broker-*/server.log*")))


def perform(script: Script, home: Path) -> Performance:
    """Give a script. Raises ``LabError`` if a broker does not start."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    script.write(home / _SCRIPT)
    calls = Calls(Cluster(_plan(script.setting), home))
    try:
        with calls.cluster:
            _play(script, calls, home)
    finally:
        calls.drop()
        lines = (json.dumps(fact, default=repr) + "\n" for fact in calls.facts)
        (home / _FACTS).write_text("".join(lines))
    return Performance(home)


def _plan(setting: Setting) -> Plan:
    return Plan(
        setting.release,
        brokers=setting.brokers,
        session_timeout_ms=2500 if "short_sessions" in setting.options else 45_000,
        # of several brokers the heartbeats show by how much their clocks differ
        unlogged=("FETCH_SNAPSHOT",) if setting.brokers > 1 else ("BROKER_HEARTBEAT", "FETCH_SNAPSHOT"),
        features=(f"transaction.version={setting.transaction_version}",) if setting.is_new else (),
        settings=setting.settings,
        ahead_s=setting.ahead_s,
    )


def _play(script: Script, calls: Calls, home: Path) -> None:
    world, setting = World(), script.setting
    administrators = Administrators(calls, world, setting, home)
    classic, casts, questions = ClassicMembers(calls, world), Casts(calls, setting, home), Questions(calls)
    players = (administrators, classic, casts, Members(calls, world), Producers(calls, world, setting),
               Committers(calls, world, setting, classic))  # fmt: skip
    actions = _actions(players) | {"ask": lambda step: questions.ask(step["play"])}
    administrators.prepare()
    try:
        for number, step in enumerate(script.steps):
            calls.step = (number, step.get("play"))
            begun = time.monotonic()
            try:
                actions[step["op"]](step)
            except FAILURES as error:
                calls.fact("step_failed", op=step["op"], why=repr(error)[:300])
            if (took := time.monotonic() - begun) > 1:
                calls.fact("slow", op=step["op"], seconds=round(took, 1))
        calls.step = (len(script.steps), None)
        administrators.all_up()
        casts.stop()
        for group in world.members:
            classic.settle(group, 0.1)
        time.sleep(4 if "short_timeouts" in setting.options else 0.7)  # until nothing more ends by itself
        questions.ask()
    finally:
        casts.stop()
    calls.fact("stop")


def _actions(players: tuple[Any, ...]) -> dict[str, Callable[[Step], None]]:
    """Every step that the players know: their methods ``do_...``."""
    named = (
        (name, getattr(player, name)) for player in players for name in dir(player) if name.startswith("do_")
    )
    return {name.removeprefix("do_"): action for name, action in named}

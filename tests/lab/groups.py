"""The scenarios ``groups`` and ``early``: every kind of group and commit of a version, on one broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import classic_cases
import migration_cases
import share_cases
import static_cases
import streams_cases
import transaction_cases
from brokers import Plan
from cases import CASES, OTHER_TOPIC, TOPIC, Case
from commits import release
from scenario import Scenario, Stage, play_cases, prepare

_PAUSE_S = 0.05
_CONSUMER = (
    "late-kept",
    "late-moved",
    "pending-revocation",
    "current-epoch-anothers",
    "left-member",
    "admin",
)
"""The consumer groups of ``troubled`` that are recorded here, too, for comparison with the other groups.

Up to 4.1, of which there is no ``troubled``, also the zombie that brokers from 4.2 accept.
"""
_TIMEZONES = {"4.1.2": "Europe/Berlin", "4.0.2": "Australia/Darwin", "3.9.2": "America/Los_Angeles"}


def play(stage: Stage) -> None:
    """Every case that the version supports."""
    kafka = release(stage.cluster.plan.version)
    prepare(stage, {TOPIC: 4, OTHER_TOPIC: 1})

    def chapter(cases: Mapping[str, Case], protocol: str) -> None:
        play_cases(stage, cases, protocol, _PAUSE_S)

    chapter(classic_cases.CASES, "classic")
    chapter(static_cases.CLASSIC, "classic")
    chapter(transaction_cases.cases("classic"), "classic")
    if kafka < (4,):
        return
    older = ("zombie-current-epoch",) if kafka < (4, 2) else ()
    chapter({group_id: CASES[group_id] for group_id in (*_CONSUMER, *older)}, "consumer")
    chapter(static_cases.CONSUMER, "consumer")
    chapter(transaction_cases.cases("consumer"), "consumer")
    chapter(migration_cases.CASES, "classic")
    if kafka >= (4, 1):
        chapter(share_cases.CASES, "share")
    if kafka >= (4, 2):
        chapter(streams_cases.CASES, "streams")
        chapter(transaction_cases.cases("streams"), "streams")
    if kafka >= (4, 4):
        chapter(static_cases.STREAMS, "streams")


def play_early(stage: Stage) -> None:
    """Groups of a type that the version has only as early access."""
    prepare(stage, {TOPIC: 4, OTHER_TOPIC: 1})
    play_cases(stage, streams_cases.CASES, "streams", _PAUSE_S)
    play_cases(stage, transaction_cases.cases("streams"), "streams", _PAUSE_S)
    chosen = ("late-kept", "late-moved", "left-member")
    play_cases(stage, {group_id: CASES[group_id] for group_id in chosen}, "consumer", _PAUSE_S)


def plan(version: str) -> Plan:
    """One broker with every group protocol that the version has ready; in 4.1 share groups are a preview."""
    settings: dict[str, object] = {"group.min.session.timeout.ms": 1000}
    if release(version) >= (4,):
        settings |= {
            "group.consumer.migration.policy": "bidirectional",
            "group.streams.heartbeat.interval.ms": 500,
            "group.streams.min.heartbeat.interval.ms": 100,
            "group.streams.initial.rebalance.delay.ms": 0,
            "group.share.min.heartbeat.interval.ms": 100,
        }
    if version == "4.1.2":
        settings["group.coordinator.rebalance.protocols"] = "classic,consumer,share"
    return Plan(
        version,
        offsets_partitions=3,
        timezone=_TIMEZONES.get(version, "UTC"),
        roll_bytes=100_000,
        features=("share.version=1",) if version == "4.1.2" else (),
        settings=settings,
    )


def early_plan(version: str) -> Plan:
    """One broker with all unstable features; it registers with the levels of the next release."""
    usual = plan(version)
    unstable = {
        "group.coordinator.rebalance.protocols": "classic,consumer,share,streams",
        "unstable.api.versions.enable": "true",
        "unstable.feature.versions.enable": "true",
    }
    return replace(usual, features=("streams.version=1",), settings={**usual.settings, **unstable})


SCENARIO = Scenario(plan, play)
EARLY = Scenario(early_plan, play_early)

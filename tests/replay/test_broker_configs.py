"""The configuration of a broker: dynamic values before those with which its process started."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fencepost.replay.broker_configs import BrokerConfigs, Logged, Registration, logged_settings
from fencepost.replay.dynamic_configs import DynamicConfigs
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.metadata_log import Commit, Hole, MetadataLog
from fencepost.replay.metadata_records import CONFIG, REGISTER_BROKER, MetadataRecord

NAME = "producer.id.expiration.ms"
MINUTE, HOUR = 60_000, 3_600_000


def _set(ms: int, resource: str, value: str | None) -> MetadataRecord:
    fields = {"resource_type": 4, "resource_name": resource, "name": NAME, "value": value}
    return MetadataRecord(ms, ms, CONFIG, fields)


def _started(ms: int, incarnation: str, broker_id: int = 1) -> MetadataRecord:
    fields = {"broker_id": broker_id, "broker_epoch": ms, "incarnation_id": incarnation}
    return MetadataRecord(ms, ms, REGISTER_BROKER, fields)


def _logged(*told: tuple[int, str]) -> dict[int, list[Logged]]:
    return {1: [Logged(ms, {NAME: value}) for ms, value in told]}


END = _started(9 * HOUR, "z", 9)


def _configs(*records: MetadataRecord, told: dict[int, list[Logged]]) -> BrokerConfigs:
    return ClusterMetadata.of(MetadataLog.of_records([*records, END]), logged=told).configs


def _at(configs: BrokerConfigs, hours: float) -> tuple[str, ...] | None:
    ms = round(hours * HOUR)
    return configs.between(NAME, 1, ms, ms)


def test_a_process_has_what_it_logged_when_it_started_until_the_next_one() -> None:
    told = _logged((HOUR - 5000, "10"), (3 * HOUR - 5000, "20"))
    configs = _configs(_started(HOUR, "a"), _started(3 * HOUR, "b"), told=told)
    assert [_at(configs, hours) for hours in (0.5, 1, 2, 3, 4)] == [
        None,
        ("10",),
        ("10",),
        ("10", "20"),
        ("20",),
    ]
    assert configs.between(NAME, 1, HOUR + HOUR // 2, 4 * HOUR) == ("10", "20")
    # it had not run before
    assert configs.between(NAME, 1, 0, 2 * HOUR) == ("10",)
    assert configs.between("log.retention.ms", 1, 2 * HOUR, 2 * HOUR) is None
    assert configs.between(NAME, 2, 2 * HOUR, 2 * HOUR) is None
    # the metadata log ends at nine
    assert _at(configs, 10) is None


def test_a_dynamic_value_comes_first_and_may_be_what_a_process_logged() -> None:
    told = _logged((HOUR, "10"), (2 * HOUR, "30"), (4 * HOUR, "30"))
    again = [_started(4 * HOUR, "b"), _set(5 * HOUR, "1", None)]
    records = [_started(HOUR, "a"), _set(2 * HOUR, "1", "30"), *again]
    configs = _configs(*records, told=told)
    assert [_at(configs, hours) for hours in (1.5, 3, 4.5)] == [("10",), ("30",), ("30",)]
    # whether server.properties has 30, too, nobody knows
    assert _at(configs, 6) is None
    of_all = _configs(_started(HOUR, "a"), _set(2 * HOUR, "", "30"), _set(3 * HOUR, "", None), told=told)
    assert [_at(of_all, hours) for hours in (1.5, 2.5, 3.5)] == [("10",), ("30",), ("10",)]


def test_a_process_whose_start_was_not_captured_may_have_other_settings() -> None:
    told = _logged((HOUR, "10"))
    configs = _configs(_started(HOUR, "a"), _started(3 * HOUR, "b"), told=told)
    assert [_at(configs, hours) for hours in (2, 4)] == [("10",), None]
    # the same process registered again
    assert _at(_configs(_started(HOUR, "a"), _started(3 * HOUR, "a"), told=told), 4) == ("10",)


SNAPSHOT = Commit(2, 2 * HOUR, (_started(0, "a"),), is_snapshot=True)


@pytest.mark.parametrize("hidden", [Hole(2, 2 * HOUR), SNAPSHOT])
def test_after_a_hole_and_of_a_snapshot_nothing_tells_when_a_process_started(hidden: Hole | Commit) -> None:
    first, last = Commit(1, HOUR, (_started(HOUR, "a"),)), Commit(9, 9 * HOUR, (END,))
    log = MetadataLog((first, Hole(2, HOUR), hidden, last), (), 10, 9 * HOUR, True)
    known = ClusterMetadata.of(log, logged=_logged((HOUR, "10"), (2 * HOUR, "10")))
    assert _at(known.configs, 4) is None
    later = MetadataLog((Hole(0, 0), first, last), (), 10, 9 * HOUR, False)
    assert _at(ClusterMetadata.of(later, logged=_logged((HOUR, "10"))).configs, 4) is None


def test_a_snapshot_tells_that_nothing_is_dynamic_and_a_later_start_the_rest() -> None:
    snapshot = Commit(1, HOUR, (_started(0, "a"),), is_snapshot=True)
    again = Commit(3, 3 * HOUR, (_started(3 * HOUR, "b"),))
    log = MetadataLog((snapshot, again, Commit(9, 9 * HOUR, (END,))), (), 10, 9 * HOUR, False)
    configs = ClusterMetadata.of(log, logged=_logged((HOUR, "10"), (3 * HOUR, "20"))).configs
    assert [_at(configs, hours) for hours in (2, 4)] == [None, ("20",)]
    # another process may have run before the first one that is known
    without = replace(configs, starts={1: (Registration(3 * HOUR, None, "b"),)})
    assert without.between(NAME, 1, 2 * HOUR, 4 * HOUR) is None


def test_without_a_date_a_log_does_not_say_which_process_it_was() -> None:
    def row(ms: int | None) -> dict[str, Any]:
        return {"cluster": "c", "broker_id": 1, "settings": '{"a": "1"}', "logged_at_ms": ms}

    assert logged_settings([row(None), row(5)]) == {"c": {1: [Logged(5, {"a": "1"})]}}
    assert BrokerConfigs(DynamicConfigs()).between(NAME, 1, 0, 0) is None

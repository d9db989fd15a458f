"""What the report says of a request log that has another clock than the records."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from fencepost.report.clocks import brokers_with_another_clock, clock_sentences

HOUR = 3_600_000
FIVE_SECONDS = dt.timedelta(seconds=5)
WINTER, SUMMER = dt.datetime(2026, 1, 10, tzinfo=dt.UTC), dt.datetime(2026, 7, 10, tzinfo=dt.UTC)


def _row(ahead_ms: int, at: dt.datetime = WINTER, requests: int = 40, broker_id: int = 1) -> dict[str, Any]:
    return {
        "broker_id": broker_id,
        "finding": "other_clock",
        "ahead_ms": ahead_ms,
        "first_at": at,
        "requests": requests,
    }


@pytest.mark.parametrize(
    ("rows", "zone", "said"),
    [
        # log4j writes local time, and the default is UTC
        (
            [_row(HOUR)],
            "UTC",
            'Set timezone = "+01:00" for it (or the name of its zone, such as "Europe/Berlin"',
        ),
        (
            [_row(-5 * HOUR + 7)],
            "UTC",
            'Set timezone = "-05:00" for it (or the name of its zone, such as "America/',
        ),
        ([_row(5 * HOUR + HOUR // 2 - 40)], "UTC", 'Set timezone = "+05:30" for it'),
        ([_row(HOUR)], "America/Chicago", 'Set timezone = "-05:00" for it'),
        ([_row(-HOUR)], "+01:00", 'Set timezone = "UTC" for it'),
        # one zone explains both
        (
            [_row(HOUR), _row(2 * HOUR, SUMMER)],
            "UTC",
            'Set timezone = "Europe/Berlin" for it, or another zone',
        ),
        ([_row(-HOUR), _row(-HOUR, SUMMER)], "Europe/Berlin", 'Set timezone = "Europe/London" for it'),
        # requests that were matched with another record
        ([_row(HOUR, requests=500), _row(9 * HOUR, requests=3)], "UTC", 'Set timezone = "+01:00" for it'),
        ([_row(HOUR), _row(5 * HOUR)], "UTC", "Its files are of several time zones"),
        ([_row(-10_000)], "UTC", "is 10 s behind its records, as 40 requests show"),
        ([_row(-10_000)], "UTC", "No time zone is so far"),
        ([_row(400)], "UTC", "is less than a second ahead of its records"),
        ([_row(90 * HOUR)], "UTC", "No time zone is so far"),
    ],
)
def test_the_zone_that_fits_is_named(rows: list[dict[str, Any]], zone: str, said: str) -> None:
    (sentence,) = clock_sentences(rows, {1: zone})
    assert said in sentence


def test_a_zone_that_was_corrected_since_is_not_called_wrong() -> None:
    (sentence,) = clock_sentences([_row(HOUR)], {1: "Europe/Berlin"}, {1: "UTC"})
    assert sentence.endswith(
        'It was read with timezone = "UTC", and that is "Europe/Berlin" now: the next audit reads it again.'
    )


def test_each_broker_has_a_sentence_of_its_own() -> None:
    first, second = clock_sentences([_row(HOUR, broker_id=2), _row(-HOUR, broker_id=1)], {1: "UTC", 2: "UTC"})
    assert first.startswith("The request log of broker 1 is 1 h behind its records")
    assert second.startswith("The request log of broker 2 is 1 h ahead of its records")


def test_a_few_requests_that_were_matched_by_mistake_blind_no_broker() -> None:
    strays = [_row(each * HOUR, requests=1, broker_id=2) for each in range(1, 9)]
    assert brokers_with_another_clock([_row(HOUR, requests=2), _row(HOUR, SUMMER, 2), *strays]) == {1}


def test_a_log_that_does_not_belong_to_the_records_is_told_before_clocks() -> None:
    """Of many requests of a broker no record tells, so it is blind; of another one the zone is wrong."""
    unlike = {**_row(0, requests=3, broker_id=2), "finding": "other_log", "ahead_ms": None}
    rows = [_row(HOUR), unlike, unlike]
    another, behind = clock_sentences(rows, {1: "UTC", 2: "UTC"})
    assert another.startswith(
        "The request log of broker 2 does not belong to its records: 6 accepted requests"
    )
    assert behind.startswith("The request log of broker 1 is 1 h ahead")
    assert brokers_with_another_clock(rows) == {1, 2}


@pytest.mark.parametrize(
    ("findings", "told"),
    [
        ({"dated_by_others": (WINTER, SUMMER)}, ["of broker 1 has the times at which a program collected"]),
        ({"whole_seconds": (WINTER,)}, ["of broker 1 has times of whole seconds"]),
        (
            {"went_back": (SUMMER, WINTER)},
            ["2026-01-10 00:00:00.000 UTC to 2026-01-10 00:00:05.000 UTC passed twice, and 1 later time."],
        ),
        (
            {"lines_missing": (WINTER, SUMMER)},
            ["has no line from 2026-01-10 00:00:00.000 UTC to 2026-01-10 00:00:05.000 UTC, and 1 later time"],
        ),
        (
            {"records_lost": (WINTER, SUMMER)},
            ["What broker 1 accepted from 2026-01-10 00:00:00.000 UTC to 2026-07-10"],
        ),
        (
            {"went_back": (WINTER,), "whole_seconds": (WINTER,)},
            ["whole seconds", "to 2026-01-10 00:00:05.000 UTC passed twice. The order"],
        ),
    ],
)
def test_times_that_tell_no_moment_are_told_once_a_broker(
    findings: dict[str, tuple[dt.datetime, ...]], told: list[str]
) -> None:
    """A table has a row for each hour. Other requests can still be placed, so the broker is not blind."""
    rows = [
        {**_row(0, at), "finding": finding, "ahead_ms": None, "requests": 2, "last_at": at + FIVE_SECONDS}
        for finding, times in findings.items()
        for at in times
    ]
    sentences = clock_sentences(rows, {1: "UTC"})
    assert [words in said for words, said in zip(told, sentences, strict=True)] == [True] * len(told)
    assert not brokers_with_another_clock(rows)


def test_brokers_with_the_same_fault_share_a_sentence() -> None:
    of = [_row(HOUR, broker_id=broker) for broker in (1, 2, 3, 5)]
    of.append({**_row(0, broker_id=4), "finding": "whole_seconds", "ahead_ms": None})
    zones = {1: "UTC", 2: "UTC", 3: "UTC", 5: "+01:00"}
    wrong, of_five, seconds = clock_sentences(of, zones)
    assert wrong.startswith("The request log of broker 1 is 1 h ahead")
    assert wrong.endswith('it is "UTC" now. The same is true of brokers 2 and 3.')
    assert of_five.startswith("The request log of broker 5")
    assert "The same is true" not in of_five + seconds

"""Whether request lines are missing around a time, by the numbers of the clients of a transactional id."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from fencepost.protocols.producer_epoch.given_epochs import GivenEpoch, is_anothers
from fencepost.protocols.producer_epoch.missing_lines import MissingLines, Numbering
from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.protocols.producer_epoch.request_targets import INIT
from fencepost.tables import REQUEST_IDS

TOLERANCE_MS = 25
JAVA, OTHER = "apache-kafka-java", "librdkafka"


class Sent(NamedTuple):
    """A connection: its ids, when the first and the last were logged, and those of the transactional id with
    their times.
    """

    connection: str
    ids: str
    times: tuple[int, int]
    lines: dict[int, int]
    software: str = JAVA


STARTED_AGAIN = [  # 3 was never sent: the broker does not support that request
    Sent("a", "0..2", (100, 110), {}),
    Sent("b", "4..9", (120, 300), {5: 130, 9: 300}),
    Sent("c", "0..2", (900, 910), {}),
    Sent("d", "4..9", (920, 990), {5: 930, 9: 990}),
]
CONSUMER_AND_PRODUCER = [  # of one client id, started at once: either may have opened c; 5 is a Fetch
    Sent("a", "0..2", (600, 610), {}),
    Sent("b", "0..2", (605, 615), {}),
    Sent("c", "3..4 6..9", (620, 900), {4: 700}),
]
CASES = {
    "a program that was started later sent nothing before": (STARTED_AGAIN[2:], 500, False),
    "it was started again, and sent nothing in between": (STARTED_AGAIN, 500, False),
    "its first run sent all that it numbered": (STARTED_AGAIN, 200, False),
    "a line of the second run is missing, of which the first run sent the number": (
        [*STARTED_AGAIN[:3], Sent("d", "4..6 8..9", (920, 990), {5: 930, 9: 990})],
        960,
        True,
    ),
    "two run at once, and one of them lacks a line": (
        [
            Sent("a", "0..9", (100, 900), {4: 150, 9: 900}),
            Sent("b", "0..3 5..9", (110, 910), {3: 160, 9: 910}),
        ],
        500,
        True,
    ),
    "a Java client goes on with its numbers on another connection": (
        [Sent("a", "0..4", (100, 150), {4: 150}), Sent("b", "5..9", (600, 900), {7: 700})],
        500,
        False,
    ),
    "it goes on, and a number is missing": (
        [Sent("a", "0..4", (100, 150), {4: 150}), Sent("b", "6..9", (600, 900), {7: 700})],
        500,
        True,
    ),
    "another maker's client numbers each connection, of which one lacks a line": (
        [
            Sent("a", "1..3 5..9", (100, 900), {3: 150, 9: 900}, OTHER),
            Sent("b", "1..9", (100, 900), {}, OTHER),
        ],
        500,
        True,
    ),
    "two of one name were started later, and it is one of them": (CONSUMER_AND_PRODUCER, 500, False),
    "one of the two was started before": (
        [Sent("a", "0..2", (100, 110), {}), *CONSUMER_AND_PRODUCER[1:]],
        500,
        True,
    ),
    "the log does not have its first requests": ([Sent("b", "25..29", (600, 900), {27: 700})], 500, True),
    "it was started so soon after that clocks may differ by that": (
        [Sent("a", "0..2 4..9", (510, 900), {5: 530})],
        500,
        True,
    ),
}


@pytest.mark.parametrize(("sent", "ms", "is_missing"), CASES.values(), ids=CASES)
def test_missing_lines(sent: list[Sent], ms: int, is_missing: bool) -> None:
    lines = [_line(each.connection, number, at) for each in sent for number, at in sorted(each.lines.items())]
    for ordered in (sent, sent[::-1]):
        numbering = Numbering(pa.Table.from_pylist(list(map(_row, ordered)), REQUEST_IDS.arrow_schema))
        assert MissingLines(lines, numbering, TOLERANCE_MS).around(ms) == is_missing


SENDERS = {
    "its numbers go on": ([Sent("a", "0..4", (100, 150), {}), Sent("b", "5..9", (600, 900), {})], 7, True),
    "and come back": ([Sent("a", "0..4 8..9", (100, 900), {}), Sent("b", "5..7", (600, 700), {})], 6, True),
    "over a third connection": (
        [Sent("a", "0..4", (1, 150), {}), Sent("x", "5", (300, 300), {}), Sent("b", "6..9", (600, 900), {})],
        7,
        True,
    ),
    "long after": ([Sent("a", "0..4", (1, 9), {}), Sent("b", "5..9", (9_000_000, 9_000_900), {})], 7, None),
    "a number is missing": ([Sent("a", "0..4", (100, 150), {}), Sent("b", "6..9", (600, 900), {})], 7, None),
    "it was started again": (
        [Sent("a", "0..2 4..9", (100, 300), {}), Sent("b", "0..2 4..9", (900, 990), {})],
        5,
        False,
    ),
    "two run at once": ([Sent("a", "0..9", (100, 900), {}), Sent("b", "0..9", (110, 910), {})], 7, False),
    "another maker's client numbers each connection": (
        [Sent("a", "1..4", (100, 150), {}, OTHER), Sent("b", "5..9", (600, 900), {}, OTHER)],
        7,
        None,
    ),
    "another maker's client was started again": (
        [Sent("a", "1..9", (100, 150), {}, OTHER), Sent("b", "1..9", (600, 900), {}, OTHER)],
        7,
        None,
    ),
    "it was started again on a third connection": (
        [
            Sent("a", "4..9", (1, 150), {}),
            Sent("x", "0..3", (600, 610), {}),
            Sent("b", "4..9", (650, 900), {}),
        ],
        7,
        False,
    ),
    "it was started again long after": (
        [Sent("a", "0..9", (1, 9), {}), Sent("b", "0..9", (9_000_000, 9_000_900), {})],
        7,
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("sent", "number", "is_senders"), SENDERS.values(), ids=SENDERS)
def test_a_client_is_known_by_its_numbers_on_another_connection(
    sent: list[Sent], number: int, is_senders: bool | None
) -> None:
    for ordered in (sent, sent[::-1]):
        numbering = Numbering(pa.Table.from_pylist(list(map(_row, ordered)), REQUEST_IDS.arrow_schema))
        request = _line("b", number, max(sent[-1].times[0], 700))
        assert numbering.is_senders((1, "a"), request) is is_senders
        given = GivenEpoch(3, 7, 0, 1, "client", "a")
        is_another = None if is_senders is None else not is_senders
        assert is_anothers(request, [given], numbering.is_senders) is is_another
        nameless = given._replace(broker_id=None, client_id=None, connection=None)
        assert is_anothers(request, [given, nameless], numbering.is_senders) is (is_another and None)


def _row(sent: Sent) -> dict[str, object]:
    names = ("first_logged_at_ms", "last_logged_at_ms")
    return {
        "cluster": "c",
        "broker_id": 1,
        "client_id": "client",
        "connection": sent.connection,
        "software_name": sent.software,
        "correlation_ids": sent.ids,
        **dict(zip(names, sent.times, strict=True)),
    }


def _line(connection: str, number: int, ms: int) -> RequestRow:
    told: dict[str, Any] = dict.fromkeys(RequestRow._fields) | {
        "broker_id": 1,
        "api_key": INIT,
        "correlation_id": number,
        "client_id": "client",
    }
    told |= {"connection": connection, "requested_ms": ms, "responded_ms": ms}
    return RequestRow(**told)

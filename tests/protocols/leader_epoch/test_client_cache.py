"""What is known of a client's cache when lines of its requests are missing, or answers may not have come."""

from __future__ import annotations

from itertools import permutations

import pyarrow as pa
import pytest

from fencepost.formats.request_ids import Range
from fencepost.protocols.leader_epoch.answers import END, ListAnswer, PartitionAnswer, TopicAnswer
from fencepost.protocols.leader_epoch.client import Client
from fencepost.protocols.leader_epoch.client_cache import ClientCache
from fencepost.protocols.leader_epoch.client_requests import ClientRequest
from fencepost.protocols.leader_epoch.instances import sent_by, software_of
from fencepost.replay.correlation_ids import Connection, ConnectionIds, CorrelationIds
from fencepost.tables import REQUESTS

JAVA, V12 = "apache-kafka-java", 12
ONE, TWO, THREE = (1, "one"), (2, "two"), (3, "three")


def told(
    topic_id: str | None, leader_epoch: int = 0, topic: str = "t", numbers: tuple[int, ...] = (0,)
) -> ListAnswer:
    numbers = () if topic_id is None else numbers
    partitions = tuple(PartitionAnswer(number, leader_epoch, 1, 0) for number in numbers)
    error = 3 if topic_id is None else 0
    answer = TopicAnswer(topic, topic_id, error, partitions, 0, END, is_exact=True)
    return ListAnswer({topic: answer}, len(partitions), 0, END)


def take(
    cache: ClientCache, answer: ListAnswer, *, newest: bool = False, received: bool = True, full: bool = False
) -> list[tuple[str | None, int, bool | None]]:
    """What the cache had, and whether the answer was accepted."""
    changes = cache.update(answer, V12, lambda _: newest, is_full=full, is_received=received)
    return [(each.cached_topic_id, each.cached_leader_epoch, each.accepted) for each in changes]


def unknown(cache: ClientCache, answer: ListAnswer, *, full: bool = False) -> list[str]:
    return [each.topic for each in cache.unknown(answer, is_full=full)]


def test_what_a_producer_was_told_is_known() -> None:
    cache = ClientCache(a_producer=True)
    assert take(cache, told("a", 4)) == []
    assert unknown(cache, told("a", 3)) == []
    assert take(cache, told("a", 3)) == [("a", 4, False)]
    assert take(cache, told("b", 0)) == [("a", 4, True)]


def test_a_topic_that_was_gone_has_any_leader_epoch_when_it_is_back() -> None:
    cache = ClientCache(a_producer=True)
    take(cache, told("a", 5))
    assert take(cache, told(None)) == [("a", 5, True)]
    assert take(cache, told("b", 0)) == [("a", 5, True)]
    assert take(cache, told("b", 1)) == [("b", 0, True)]
    assert take(cache, told("b", 0)) == [("b", 1, False)]


def test_an_admin_client_was_told_and_took_nothing() -> None:
    cache = ClientCache()
    assert take(cache, told("a", 4)) == []
    assert take(cache, told("b", 0)) == [("a", 4, None)]
    # whether it has either nobody knows
    assert unknown(cache, told("a", 4)) == ["t"]


@pytest.mark.parametrize(
    ("used", "meanwhile", "full", "accepted"),
    [
        ("a", None, False, True),  # a consumer that read by the id that it was told, and asks again by name
        (None, None, False, None),  # by name: what it was told by listTopics() it may not have
        ("x", None, False, None),
        ("a", told("a", 4), False, True),
        ("a", told("b", topic="other"), False, None),  # it may have unsubscribed
        ("a", None, True, None),  # listTopics(), or a pattern
    ],
)
def test_a_consumer_keeps_what_its_fetches_name(
    used: str | None, meanwhile: ListAnswer | None, full: bool, accepted: bool | None
) -> None:
    cache = ClientCache()
    take(cache, told("a", 4))
    cache.keep("t", used)
    if meanwhile is not None:
        take(cache, meanwhile)
    assert take(cache, told("b", 0), full=full) == [("a", 4, accepted)]
    assert (unknown(cache, told("b", 0)) == []) == (accepted is True)


def test_who_only_looked_may_have_what_it_had() -> None:
    """A full answer that lacks the topic, of listTopics(): the consumer reads on."""
    cache = ClientCache()
    take(cache, told("a", 4))
    cache.keep("t", "a")
    assert take(cache, told("x", topic="other"), full=True) == [("a", 4, None)]
    assert unknown(cache, told("a", 4)) == ["t"]


def test_what_was_seen_of_partitions_is_lost_with_the_cache() -> None:
    """The client has it still (lastSeenLeaderEpochs): an answer that does not name them does not tell."""
    cache = ClientCache(a_producer=True)
    take(cache, told("a", 4, numbers=(0, 1)))
    cache.lose()
    assert take(cache, told("a", 4), newest=True) == []
    cache.see("t", 1, 5)
    # of partition 1 nothing is said until it is told as it was newest, or of another incarnation
    assert take(cache, told("a", 3, numbers=(0, 1))) == [("a", 4, False)]
    assert take(cache, told("b", 0, numbers=(0, 1))) == [("a", 4, True)]
    assert take(cache, told("c", 0, numbers=(0, 1))) == [("b", 0, True), ("b", 0, True)]


def test_a_connection_that_names_several_versions_has_one() -> None:
    """In whatever order its lines were found."""
    schema = REQUESTS.arrow_schema
    lines = [
        {"broker_id": 1, "connection": "one", "software_name": JAVA, "software_version": version}
        for version in (None, "4.0.2", "4.3.1")
    ]
    found = [software_of(pa.Table.from_pylist(list(each), schema)) for each in permutations(lines)]
    assert found == [{ONE: (JAVA, "4.3.1")}] * 6


def test_a_lost_cache_is_known_again_from_the_newest_that_there_was() -> None:
    cache = ClientCache(a_producer=True)
    take(cache, told("a", 4))
    cache.lose()
    assert unknown(cache, told("a", 3)) == ["t"]
    # an older answer may have been refused, or not
    assert take(cache, told("a", 3)) == []
    assert unknown(cache, told("a", 5)) == ["t"]
    assert take(cache, told("b", 0), newest=True) == []
    assert take(cache, told("a", 4)) == [("b", 0, True)]
    assert unknown(cache, told(None), full=True) == []


def test_of_a_lost_cache_nothing_is_known_of_what_a_full_answer_lacks() -> None:
    cache = ClientCache()
    take(cache, told("a"))
    cache.lose()
    assert unknown(cache, told("x", topic="other"), full=True) == ["other", "t"]


@pytest.mark.parametrize(
    ("before", "used", "is_shown"),
    [
        (None, None, True),  # who knows no topic cannot ask for it
        ("a", None, False),
        ("a", "a", False),
        ("a", "b", True),
    ],
)
def test_an_answer_that_may_not_have_come_is_in_doubt_until_it_shows(
    before: str | None, used: str | None, is_shown: bool
) -> None:
    cache = ClientCache()
    if before is not None:
        take(cache, told(before, 4))
    expected = [] if before is None else [("a", 4, None)]
    assert take(cache, told("b", 1), received=False) == expected
    assert unknown(cache, told("b", 1)) == ["t"]
    cache.use("t", used)
    assert (unknown(cache, told("b", 1)) == []) == is_shown


def test_two_answers_in_doubt_are_not_shown_by_one_use() -> None:
    cache = ClientCache()
    take(cache, told("a"), received=False)
    take(cache, told("b"), received=False)
    cache.use("t", None)
    assert unknown(cache, told("b")) == ["t"]


def test_an_answer_that_tells_nothing_new_leaves_no_doubt() -> None:
    cache, same = ClientCache(), told("a", 4)
    take(cache, same)
    assert take(cache, same, received=False) == []
    assert unknown(cache, told("a", 3)) == []
    # a refusal is one, whether the answer came or not
    assert take(cache, told("a", 3), received=False) == [("a", 4, False)]


def test_the_counter_is_known_while_none_can_have_told_more() -> None:
    cache = ClientCache()
    for lowest, highest, newest, received, known in (
        (3, 3, 9, True, 3),
        (2, 3, 9, True, 3),
        (2, 5, 9, True, None),
        (6, 6, 9, True, None),
        (9, 9, 9, False, None),
        (9, 9, 9, True, 9),
        (None, None, None, True, None),
    ):
        cache.count(lowest, highest, newest, is_received=received)
        assert cache.max_partition_epoch == known


def line(correlation_id: int, connection: Connection = ONE) -> ClientRequest:
    return ClientRequest(
        "", connection[0], 3, V12, correlation_id, "c", connection[1], 0, 0, "", 0, None,
        asks_all=False, replica_id=-1, partitions=(),
    )  # fmt: skip


def client(*sent: ConnectionIds, asked: tuple[int, ...] = ()) -> Client:
    return Client("c", CorrelationIds(sent), is_followed=True, metadata_requests=list(asked))


@pytest.mark.parametrize(
    ("ranges", "heard", "is_lost"),
    [
        ([(0, 9)], [1, 5], False),
        ([(0, 2), (4, 9)], [1, 2], False),
        ([(0, 2), (4, 9)], [1, 4], True),
        ([(1, 9)], [1], True),  # its beginning is missing
        ([(0, 2), (4, 9)], [4, 2], True),  # what comes late, others may too
    ],
)
def test_a_cache_is_lost_where_an_id_has_no_line(
    ranges: list[Range], heard: list[int], is_lost: bool
) -> None:
    of = client(ConnectionIds(ONE, JAVA, ranges))
    for each in heard[:-1]:
        of.follow(line(each))
    of.cache = ClientCache()
    of.follow(line(heard[-1]))
    assert (of.cache.max_partition_epoch is None) == is_lost


def test_who_does_not_count_as_a_java_client_does_is_not_followed() -> None:
    of = client(ConnectionIds(ONE, None, [(0, 9)]))
    of.is_followed = False
    of.follow(line(1))
    assert of.cache.max_partition_epoch is None
    assert not of.has_answer(line(1))


def test_an_answer_came_if_its_connection_was_used_after_the_next_was_asked_for() -> None:
    of = client(
        ConnectionIds(ONE, JAVA, [(0, 2), (6, 6)]), ConnectionIds(TWO, JAVA, [(3, 5)]), asked=(1, 4, 6)
    )
    assert of.has_answer(line(1))
    # the broker may have stood still until the client asked another
    assert not of.has_answer(line(4, TWO))
    assert not of.has_answer(line(6))


def sent(connection: Connection, software: str | None, *pairs: tuple[int, int]) -> ConnectionIds:
    return ConnectionIds(connection, software, [(id_, id_) for id_, _ in pairs], list(pairs))


def test_a_connection_without_a_kept_line_is_its_clients_if_it_can_be_no_others() -> None:
    kept, bare = sent(ONE, JAVA, (0, 1_000), (2, 3_000)), sent(TWO, None, (1, 2_000))
    found, followed = sent_by({ONE: "c"}, JAVA, {ONE: kept, TWO: bare})
    assert (found["c"], followed) == ([kept, bare], {"c"})
    again = sent(TWO, None, (2, 2_000))
    assert sent_by({ONE: "c"}, JAVA, {ONE: kept, TWO: again})[0] == {"c": [kept]}
    # another kind of client has other numbers
    other = sent(TWO, "kafka-python", (1, 2_000))
    assert sent_by({ONE: "c"}, JAVA, {ONE: kept, TWO: other})[0] == {"c": [kept]}


def test_two_clients_of_one_name_are_followed_one_after_the_other_only() -> None:
    first, second = sent(ONE, JAVA, (0, 1_000), (1, 9_000)), sent(TWO, JAVA, (0, 10_000), (1, 11_000))
    of: dict[Connection, str | None] = {ONE: "a", TWO: "b"}
    assert sent_by(of, JAVA, {ONE: first, TWO: second})[1] == {"a", "b"}
    at_once = sent(TWO, JAVA, (0, 8_000), (1, 11_000))
    assert sent_by(of, JAVA, {ONE: first, TWO: at_once})[1] == set()
    assert sent_by(of, "librdkafka", {ONE: first, TWO: second})[1] == set()


def test_two_that_were_taken_for_one_are_not_followed() -> None:
    twice = {ONE: sent(ONE, JAVA, (0, 1_000), (1, 1_001)), THREE: sent(THREE, JAVA, (1, 1_002))}
    assert sent_by({ONE: "a", THREE: "a"}, JAVA, twice)[1] == set()

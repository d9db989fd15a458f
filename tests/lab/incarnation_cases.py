"""Cases about topics that are deleted and created again, each on a topic of its name.

Consumers use their state from the earlier incarnation with the later one.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import tools
from commits import newest_version
from incarnation_bench import Bench
from lab_client import note
from partition_requests import (
    LATEST,
    WITHOUT_IDS,
    Session,
    commit,
    committed,
    describe,
    epoch_end,
    fetch,
    list_offsets,
    metadata,
)
from truth import now_ms

Case = Callable[[Bench], None]


def named(bench: Bench) -> None:
    """Commits that name their topic, before and after it was created again; consumers come back to them."""
    place = ("named", 0)
    reader, writer = bench.client("named", "reader"), bench.client("named", "writer")
    earlier = bench.operator.create("named", bench.replicas())
    bench.write(writer, place, 30)
    bench.read(reader, place, 0)
    bench.commit(reader, "named-early", place, 30, leader_epoch=0)
    live = bench.operator.recreate("named", bench.replicas())
    bench.write(writer, place, 12)
    past_end = bench.commit(reader, "named-late", place, 30, leader_epoch=0)
    skipping = bench.commit(reader, "named-older", place, 8, version=7)
    equal = bench.commit(reader, "named-equal", place, 12, leader_epoch=0)
    for row in (past_end, skipping, equal):
        bench.orphan(
            "late_commit", row, earlier, live, bench.client("named", f"back-{row['correlation_id']}")
        )
    fresh = bench.client("named", "fresh")
    bench.read(fresh, place, 0)
    bench.commit(fresh, "named-fresh", place, 12, leader_epoch=0)
    bench.come_back(fresh, "named-early", place)  # its offset went with the topic


def identified(bench: Bench) -> None:
    """Requests with a topic id, the previous one and the live one."""
    place = ("identified", 0)
    reader, writer = bench.client("identified", "reader"), bench.client("identified", "writer")
    by_id = newest_version(bench.stage.cluster.plan.version) == 10
    earlier = bench.operator.create("identified", bench.replicas())
    bench.write(writer, place, 20)
    bench.read(reader, place, 0, earlier)
    leader, _ = bench.leader(place)
    (opened,) = reader.ask(leader, fetch(place, 20, topic_id=earlier, leader_epoch=0, session=Session(0, 0)))
    session = Session(int(opened["told"]["session_id"]), 1)
    if by_id:
        bench.commit(reader, "identified-early", place, 20, leader_epoch=0, topic_id=earlier)
    live = bench.operator.recreate("identified", bench.replicas())
    bench.write(writer, place, 25)
    leader, _ = bench.leader(place)
    reader.ask(leader, fetch(place, 20, topic_id=earlier, leader_epoch=0, session=session, listed=False))
    reader.ask(leader, fetch(place, 20, topic_id=earlier, leader_epoch=0))
    if by_id:
        bench.commit(reader, "identified-late", place, 20, leader_epoch=0, topic_id=earlier)
        home = bench.stage.cluster.coordinator("identified-late")
        reader.ask(home, committed("identified-late", place, earlier))
        reader.ask(home, committed("identified-early", place, live))
    reader.ask(leader, metadata("identified"))
    reader.ask(leader, fetch(place, 20, topic_id=live, leader_epoch=0))
    if by_id:
        # the id is the live one, the position is not
        kept = bench.commit(reader, "identified-kept", place, 20, leader_epoch=0, topic_id=live)
        bench.orphan("position_kept", kept, earlier, live, bench.client("identified", "back"))
        fresh = bench.client("identified", "fresh")
        bench.read(fresh, place, 0, live)
        bench.commit(fresh, "identified-fresh", place, 25, leader_epoch=0, topic_id=live)


def stored(bench: Bench) -> None:
    """Offsets that were stored outside of Kafka: a real Java consumer seeks to them."""
    places = [("stored", 0), ("stored", 1)]
    writer = bench.client("stored", "writer")
    earlier = bench.operator.create("stored", bench.replicas(2))
    for place in places:
        bench.write(writer, place, 20)
    at = now_ms()
    live = bench.operator.recreate("stored", bench.replicas(2))
    for place, records in zip(places, (30, 9), strict=True):
        bench.write(writer, place, records)
    for n, (place, offset, topic_id, stored_at) in enumerate(
        [(places[0], 20, earlier, at), (places[1], 20, earlier, at), (places[0], 24, live, now_ms())]
    ):
        client_id = f"stored-outside-{n}"
        start, end = bench.bounds(place)
        read = tools.read_from(bench.stage.cluster, place, offset, 2, client_id) if offset <= end else []
        note(
            bench.stage.truth,
            "stored",
            case="stored",
            topic=place[0],
            partition=place[1],
            offset=offset,
            leader_epoch=0,
            topic_id=topic_id,
            live_topic_id=live,
            stored_at_ms=stored_at,
            client_id=client_id,
            log_start_offset=start,
            log_end_offset=end,
            safe=topic_id == live,
            read=read,
        )
    reader = bench.client("stored", "reader")
    bench.read(reader, places[1], 20)  # out of range


def expanded(bench: Bench) -> None:
    """A topic with more and more partitions; ids stay, partitions are younger than their topic."""
    client = bench.client("expanded", "client")
    bench.operator.create("expanded", bench.replicas(2))
    bench.write(client, ("expanded", 1), 3)
    bench.operator.expand("expanded", 4, bench.replicas(4)[2:])
    for broker_id in bench.brokers:
        client.ask(broker_id, metadata("expanded"))
        client.ask(broker_id, describe("expanded"))
    bench.write(client, ("expanded", 3), 4)
    bench.operator.expand("expanded", 5, bench.replicas(5)[4:])
    client.ask(bench.brokers[0], metadata("expanded"))
    bench.commit(client, "expanded-group", ("expanded", 3), 4, leader_epoch=0)


def repeated(bench: Bench) -> None:
    """A topic with four incarnations, and the answers about it to clients of several versions."""
    client = bench.client("repeated", "client")
    olders = {
        version: bench.client("repeated", f"metadata-v{version}") for version in (4, 7, WITHOUT_IDS, 10)
    }
    for turn, partitions in enumerate((3, 1, 2, 3)):
        topic_id = bench.operator.create("repeated", bench.replicas(partitions))
        bench.write(client, ("repeated", 0), 2 + turn)
        for broker_id in bench.brokers:
            client.ask(broker_id, metadata("repeated"))
        for version, older in olders.items():
            older.ask(bench.brokers[0], metadata("repeated", version=version))
        bench.commit(client, "repeated-group", ("repeated", 0), 2 + turn, leader_epoch=0)
        if turn < 3:
            bench.operator.delete("repeated", topic_id if turn % 2 else None)
            time.sleep(0.2)


def epochs(bench: Bench, change_leader: Callable[[], None]) -> None:
    """Requests with a leader epoch: the current one, an older one, one that does not exist yet."""
    place = ("epochs", 0)
    client = bench.client("epochs", "client")
    bench.write(client, place, 5)
    _, before = bench.leader(place)
    change_leader()
    bench.write(client, place, 5)
    leader, epoch = bench.leader(place)
    client.ask(leader, metadata("epochs"))
    for presented in (epoch, before, epoch + 7, -1):
        client.ask(leader, fetch(place, 10, leader_epoch=presented))
        client.ask(leader, list_offsets(place, LATEST, presented))
        client.ask(leader, epoch_end(place, before, presented))
    for asked in (before, epoch, epoch + 7):
        client.ask(leader, epoch_end(place, asked, epoch))
    client.ask(leader, fetch(place, 8, leader_epoch=epoch, last_epoch=before))  # its epoch ended at 5
    client.ask(leader, fetch(place, 8, leader_epoch=epoch, last_epoch=epoch))
    for broker_id in bench.brokers:
        if broker_id != leader:
            client.ask(broker_id, fetch(place, 0, leader_epoch=epoch))
            client.ask(broker_id, list_offsets(place, LATEST, epoch))
    for name, presented in (("current", epoch), ("before", before), ("none", -1), ("ahead", epoch + 7)):
        home = bench.stage.cluster.coordinator(f"epochs-{name}")
        client.ask(home, commit(f"epochs-{name}", place, 10, leader_epoch=presented))


CASES: dict[str, Case] = {case.__name__: case for case in (named, identified, stored, expanded, repeated)}
"""Every case that needs no change of leaders, by the name of its topic."""

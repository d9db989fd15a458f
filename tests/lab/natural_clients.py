"""Ordinary clients of other makers, each doing what its users do: ``KIND BOOTSTRAP SECONDS``.

Kinds: ``librdkafka`` (confluent-kafka), ``kafka-python``, ``aiokafka``. Each runs consumers of a group and a
producer in transactions that passes records on with the offsets of its group. To be run by a Python that has
the package (natural.CLIENTS); errors are printed, and end nothing.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

ORDERS, SHIPPED, AUDIT = "orders", "shipped", "audit"
VALUE = b"PAYLOAD-MUST-NOT-BE-READ-%d"
_PAUSE_S = 0.5


def _librdkafka(bootstrap: str, until: float) -> list[Callable[[], None]]:  # noqa: C901 (one maker)
    from confluent_kafka import Consumer, Producer, TopicPartition  # type: ignore[import-not-found]

    common = {"bootstrap.servers": bootstrap}

    def consume(number: int, protocol: str, topics: list[str], lasts: float) -> None:
        config = {**common, "group.id": f"rd-{protocol}", "client.id": f"rd-{protocol}-{number}"}
        config |= {
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": number % 2 == 1,
        }
        config |= {"auto.commit.interval.ms": 500} | (
            {"session.timeout.ms": 6000} if protocol == "classic" else {}
        )
        consumer = Consumer(config)
        consumer.subscribe(topics)
        end = min(until, time.monotonic() + lasts)
        while time.monotonic() < end:
            message = consumer.poll(_PAUSE_S)
            if message is not None and not message.error() and number % 2 == 0:
                consumer.commit(message, asynchronous=number % 4 == 0)
        consumer.close()

    def later(seconds: float, number: int, protocol: str, lasts: float) -> None:
        time.sleep(seconds)
        consume(number, protocol, [ORDERS, AUDIT], lasts)

    def produce() -> None:
        producer = Producer({**common, "client.id": "rd-idempotent", "enable.idempotence": True})
        at = 0
        while time.monotonic() < until:
            for topic in (ORDERS, AUDIT):
                producer.produce(topic, VALUE % at, key=b"%d" % at)
            at += 1
            producer.poll(_PAUSE_S)
        producer.flush(5)

    def transfer() -> None:
        consumer = Consumer(
            {
                **common,
                "group.id": "rd-eos",
                "client.id": "rd-eos",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
            }
        )
        producer = Producer(
            {**common, "client.id": "rd-tx", "transactional.id": "rd-tx", "transaction.timeout.ms": 8000}
        )
        consumer.subscribe([ORDERS])
        producer.init_transactions(10)
        done = 0
        while time.monotonic() < until:
            message = consumer.poll(_PAUSE_S)
            if message is None or message.error():
                continue
            producer.begin_transaction()
            producer.produce(SHIPPED, VALUE % done)
            next_one = TopicPartition(message.topic(), message.partition(), message.offset() + 1)
            producer.send_offsets_to_transaction([next_one], consumer.consumer_group_metadata())
            done += 1
            if done % 5:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
        consumer.close()

    return [
        produce,
        transfer,
        lambda: consume(1, "classic", [ORDERS, AUDIT], 1e9),
        lambda: consume(2, "classic", [ORDERS, AUDIT], 1e9),
        lambda: later(6, 3, "classic", 8),
        lambda: consume(4, "consumer", [ORDERS, AUDIT], 1e9),
        lambda: later(9, 6, "consumer", 9),
    ]


def _kafka_python(bootstrap: str, until: float) -> list[Callable[[], None]]:
    from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata  # type: ignore[import-not-found]

    def consume(number: int, lasts: float) -> None:
        consumer = KafkaConsumer(
            ORDERS, AUDIT, bootstrap_servers=bootstrap, group_id="py-group", client_id=f"py-{number}",
            auto_offset_reset="earliest", enable_auto_commit=number == 1, auto_commit_interval_ms=500,
            session_timeout_ms=6000, heartbeat_interval_ms=1000,
        )  # fmt: skip
        end = min(until, time.monotonic() + lasts)
        while time.monotonic() < end:
            if consumer.poll(timeout_ms=200, max_records=5) and number != 1:
                consumer.commit()
            time.sleep(_PAUSE_S)
        consumer.close()

    def later(seconds: float, number: int, lasts: float) -> None:
        time.sleep(seconds)
        consume(number, lasts)

    def transfer() -> None:
        consumer = KafkaConsumer(
            ORDERS, bootstrap_servers=bootstrap, group_id="py-eos", client_id="py-eos",
            enable_auto_commit=False, auto_offset_reset="earliest", isolation_level="read_committed",
        )  # fmt: skip
        producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            client_id="py-tx",
            transactional_id="py-tx",
            transaction_timeout_ms=8000,
        )
        producer.init_transactions()
        done = 0
        while time.monotonic() < until:
            for place, messages in consumer.poll(timeout_ms=200, max_records=1).items():
                producer.begin_transaction()
                producer.send(SHIPPED, VALUE % done)
                offset = OffsetAndMetadata(messages[-1].offset + 1, "", -1)
                producer.send_offsets_to_transaction({place: offset}, "py-eos")
                done += 1
                if done % 4:
                    producer.commit_transaction()
                else:
                    producer.abort_transaction()
            time.sleep(_PAUSE_S)
        producer.close()
        consumer.close()

    return [transfer, lambda: consume(1, 1e9), lambda: later(5, 2, 12)]


def _aiokafka(bootstrap: str, until: float) -> list[Callable[[], None]]:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-not-found]

    async def consume(number: int, lasts: float) -> None:
        consumer = AIOKafkaConsumer(
            ORDERS, AUDIT, bootstrap_servers=bootstrap, group_id="aio-group", client_id=f"aio-{number}",
            auto_offset_reset="earliest", enable_auto_commit=number == 1, auto_commit_interval_ms=500,
            session_timeout_ms=6000, heartbeat_interval_ms=1000,
        )  # fmt: skip
        await consumer.start()
        end = min(until, time.monotonic() + lasts)
        while time.monotonic() < end:
            if await consumer.getmany(timeout_ms=200, max_records=5) and number != 1:
                await consumer.commit()
            await asyncio.sleep(_PAUSE_S)
        await consumer.stop()

    async def transfer() -> None:
        consumer = AIOKafkaConsumer(
            ORDERS, bootstrap_servers=bootstrap, group_id="aio-eos", client_id="aio-eos",
            enable_auto_commit=False, auto_offset_reset="earliest", isolation_level="read_committed",
        )  # fmt: skip
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            client_id="aio-tx",
            transactional_id="aio-tx",
            transaction_timeout_ms=8000,
        )
        await consumer.start()
        await producer.start()
        done = 0
        while time.monotonic() < until:
            for place, messages in (await consumer.getmany(timeout_ms=200, max_records=1)).items():
                await producer.begin_transaction()
                await producer.send(SHIPPED, VALUE % done)
                offsets = {TopicPartition(place.topic, place.partition): messages[-1].offset + 1}
                await producer.send_offsets_to_transaction(offsets, "aio-eos")
                done += 1
                await (producer.commit_transaction() if done % 3 else producer.abort_transaction())
            await asyncio.sleep(_PAUSE_S)
        await producer.stop()
        await consumer.stop()

    async def later(seconds: float, lasts: float) -> None:
        await asyncio.sleep(seconds)
        await consume(2, lasts)

    return [
        lambda: asyncio.run(transfer()),
        lambda: asyncio.run(consume(1, 1e9)),
        lambda: asyncio.run(later(7, 10)),
    ]


_KINDS: dict[str, Callable[[str, float], list[Callable[[], None]]]] = {
    "librdkafka": _librdkafka,
    "kafka-python": _kafka_python,
    "aiokafka": _aiokafka,
}


def _guarded(work: Callable[[], Any]) -> None:
    try:
        work()
    except Exception:  # a client that gives up is one of the things that happen
        traceback.print_exc()


def main() -> None:
    kind, bootstrap, seconds = sys.argv[1:4]
    until = time.monotonic() + float(seconds)
    threads = [
        threading.Thread(target=_guarded, args=(work,), daemon=True)
        for work in _KINDS[kind](bootstrap, until)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until + 8 - time.monotonic()))


if __name__ == "__main__":
    main()

"""Metadata answers to bronze: many clients get the same answer about many partitions, compared with lines
stored whole.

    python bench/answers.py [clients] [partitions] [refreshes]

Every client asks for all topics at each refresh; between two refreshes one topic in a hundred gets another
leader. ``whole`` is the same log with another API's name, whose answers are stored completely; it has a tenth
of the clients, since its memory grows with them.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bronze import cpu_of_tree

from fencepost import lake, pipeline
from fencepost.opening import ensure
from fencepost.settings import Broker, Cluster, Lake, Settings
from fencepost.tables import REQUESTS, TOPIC_ANSWERS, TOPIC_LISTS

PARTITIONS_OF_A_TOPIC = 20
BROKERS = 6


def compact(value: object) -> str:
    """JSON as the broker logs it."""
    return json.dumps(value, separators=(",", ":"))


def topic(number: int, epoch: int) -> dict[str, object]:
    """A MetadataResponseTopic; its leaders follow from the epoch."""
    partitions = [
        {
            "errorCode": 0,
            "partitionIndex": index,
            "leaderId": (number + index + epoch) % BROKERS,
            "leaderEpoch": epoch,
            "replicaNodes": [(number + index + each) % BROKERS for each in range(3)],
            "isrNodes": [(number + index + each) % BROKERS for each in range(3)],
            "offlineReplicas": [],
        }
        for index in range(PARTITIONS_OF_A_TOPIC)
    ]
    name = f"payments.orders.eu-{number}"
    return {
        "errorCode": 0,
        "name": name,
        "topicId": f"{number:022}",
        "isInternal": False,
        "partitions": partitions,
    }


def lines(api: str, clients: int, partitions: int, refreshes: int) -> Iterator[str]:
    """The broker's request log."""
    random.seed(1)
    epochs = dict.fromkeys(range(partitions // PARTITIONS_OF_A_TOPIC), 0)
    for refresh in range(refreshes):
        for number in random.sample(sorted(epochs), len(epochs) // 100) if refresh else ():
            epochs[number] += 1
        topics = [topic(number, epoch) for number, epoch in epochs.items()]
        answer = {"throttleTimeMs": 0, "clusterId": "c", "controllerId": 3, "topics": topics, "errorCode": 0}
        answer_text = compact(answer)
        for client in range(clients):
            header = {
                "requestApiKey": 3,
                "requestApiVersion": 13,
                "correlationId": refresh * 40 + client,
                "clientId": f"consumer-{client}",
                "requestApiKeyName": api,
            }
            stamp = f"2026-11-20 22:{refresh * 5:02}:{client * 60 // clients:02},{client % 1000:03}"
            yield (
                f'[{stamp}] DEBUG Completed request:{{"isForwarded":false,"requestHeader":{compact(header)},'
                f'"request":{{"topics":null,"allowAutoTopicCreation":true}},"response":{answer_text},'
                f'"connection":"10.0.0.1:9092-10.1.{client // 250}.{client % 250}:4711-0-{client}",'
                '"totalTimeMs":1.303,"principal":"User:app","listener":"SASL","clientInformation":'
                '{"softwareName":"apache-kafka-java","softwareVersion":"4.3.1"}} (kafka.request.logger)\n'
            )


def main() -> int:
    """Print one line for each of the two logs."""
    clients, partitions, refreshes = [*map(int, sys.argv[1:]), *(1_000, 10_000, 3)[len(sys.argv) - 1 :]]
    for name, api, asking in (("once", "METADATA", clients), ("whole", "LIST_OFFSETS", clients // 10)):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            log = folder / "kafka-request.log"
            with log.open("w") as file:
                file.writelines(lines(api, asking, partitions, refreshes))
            settings = Settings(
                path=folder / "fencepost.toml",
                lake=Lake(str(folder / "warehouse"), f"sqlite:///{folder / 'catalog.db'}"),
                clusters=(Cluster(name, (Broker(1, request_logs=(str(log),)),)),),
                run_on="process",
            )
            ensure(settings.lake)
            with pipeline.Run(settings, f"bench-{name}") as run:
                wall, cpu = time.monotonic(), cpu_of_tree()
                counts = pipeline.STEPS["capture"](run)
                wall, cpu = time.monotonic() - wall, cpu_of_tree() - cpu
                held = sum(lake.size(run.catalog, each) for each in (REQUESTS, TOPIC_LISTS, TOPIC_ANSWERS))
            answers, size = asking * refreshes, log.stat().st_size
            assert counts["bronze.requests"] == answers, counts
            print(
                f"{name}: {answers:,} answers about {partitions:,} partitions ({size / 1e6:,.0f} MB of log) "
                f"are {held / 1e6:,.2f} MB of bronze ({held / answers:,.0f} bytes each, "
                f"{counts['bronze.topic_answers']:,} texts) after {wall:.1f} s wall, {cpu:.1f} s CPU "
                f"({cpu / answers * 1000:.1f} ms each, {size / cpu / 1e6:.0f} MB/CPU s)"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())

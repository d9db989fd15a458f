"""What the cases about leader epochs and incarnations share: clients, records, and what is orphaned."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

from brokers import LabError
from lab_client import LabClient, note
from log4j import UNLOGGED_CLIENT
from operator_client import Operator
from partition_requests import (
    EARLIEST,
    LATEST,
    Row,
    commit,
    committed,
    fetch,
    list_offsets,
    metadata,
    produce,
)
from scenario import Stage
from truth import Partition, now_ms

_PATIENCE_S = 30.0
_BACK = ("returned_offset", "returned_at_ms", "reset_to", "read_first", "read_last")
"""The fields about a consumer that returns to its group's offset."""


@dataclass
class Bench:
    """The brokers of a recording by their roles, and its administrator.

    ``brokers`` begins with the one that is killed, then the one that is paused, then the active controller;
    a cluster of one broker has only that.
    """

    stage: Stage
    operator: Operator
    brokers: list[int]
    clients: list[LabClient] = field(default_factory=list)

    def client(self, case: str, name: str) -> LabClient:
        """A new hand-made client of a case."""
        made = LabClient(self.stage.cluster, self.stage.truth, f"{case}-{name}", case, java=True)
        self.clients.append(made)
        return made

    def replicas(self, partitions: int = 1) -> list[list[int]]:
        """Replicas on every broker, each partition preferring another one."""
        count = len(self.brokers)
        return [[self.brokers[(n + m) % count] for m in range(count)] for n in range(partitions)]

    def leader(self, place: Partition) -> tuple[int, int]:
        """The leader of a partition and its epoch, once there is one."""
        told = self.operator.await_partition(place, lambda told: told["LeaderId"] > 0)
        return int(told["LeaderId"]), int(told["LeaderEpoch"])

    def write(self, client: LabClient, place: Partition, records: int, acks: int = -1) -> tuple[int, int]:
        """Records written through the leader; the first and the last offset."""
        leader, _ = self.leader(place)
        (row,) = client.must(leader, produce(place, client.values(records), acks))
        first = int(row["told"]["base_offset"])
        return first, first + records - 1

    def read(self, client: LabClient, place: Partition, offset: int, topic_id: str | None = None) -> Row:
        """One Fetch of a consumer that has just learned the leader's epoch."""
        leader, epoch = self.leader(place)
        client.ask(leader, metadata(place[0]))
        (row,) = client.ask(leader, fetch(place, offset, topic_id=topic_id, leader_epoch=epoch))
        return row

    def commit(
        self, client: LabClient, group_id: str, place: Partition, offset: int, **how: str | int | None
    ) -> Row:
        """A commit to the coordinator of the group, by name or ``topic_id``."""
        home = self.stage.cluster.coordinator(group_id)
        (row,) = client.ask(home, commit(group_id, place, offset, **how))  # type: ignore[arg-type]
        return row

    def bounds(self, place: Partition) -> tuple[int, int]:
        """The first offset of a log and the one after its last; these requests are not logged."""
        leader, _ = self.leader(place)
        connection = self.stage.cluster.connect(UNLOGGED_CLIENT, leader)
        found = []
        for timestamp in (EARLIEST, LATEST):
            ask = list_offsets(place, timestamp)
            (row,) = ask.read(connection.call(ask.api, ask.version, ask.message))
            found.append(int(row["told"]["offset"]))
        connection.close()
        return found[0], found[1]

    def broker_epoch(self, broker_id: int) -> int:
        """The broker epoch of a registration, as the broker sends it to the controller."""
        said = f'"brokerId":{broker_id},"brokerEpoch":'
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            for broker in self.stage.cluster.brokers:
                log = broker.home / "kafka-request.log"
                # it does not exist while the broker rolls it
                text = log.read_text(errors="replace") if log.exists() else ""
                if found := re.findall(re.escape(said) + r"(\d+)", text):
                    return int(found[-1])
            time.sleep(0.2)
        raise LabError(f"no heartbeat of broker {broker_id} in any request log")

    def come_back(self, client: LabClient, group_id: str, place: Partition) -> Row:
        """A consumer fetches its group's offset and continues there; if it cannot, it starts from the
        beginning.
        """
        home = self.stage.cluster.coordinator(group_id)
        (told,) = client.must(home, committed(group_id, place))
        offset = int(told["told"]["offset"])
        found: Row = {"returned_offset": offset, "returned_at_ms": now_ms(), "reset_to": None}
        read = self.read(client, place, offset) if offset >= 0 else None
        if read is None or read["error"] == "OFFSET_OUT_OF_RANGE":
            leader, epoch = self.leader(place)
            (row,) = client.must(leader, list_offsets(place, EARLIEST, epoch))
            found["reset_to"] = int(row["told"]["offset"])
            read = self.read(client, place, found["reset_to"])
        return {**found, **_read(read)}

    def orphan(
        self, made_by: str, row: Row, earlier_id: str, live_id: str, client: LabClient | None = None
    ) -> None:
        """Note that the commit ``row`` belongs to an earlier incarnation, and which consumer returns to it.

        At risk are the records of the live incarnation below the offset, which a consumer that continues
        from it skips; an offset past the end is out of range.
        """
        place = (str(row["topic"]), int(row["partition"]))
        group_id, offset = str(row["asked"]["group_id"]), int(row["asked"]["offset"])
        start, end = self.bounds(place)
        told = {
            "case": row["case"],
            "made_by": made_by,
            "group_id": group_id,
            "topic": place[0],
            "partition": place[1],
            "committed_offset": offset,
            "committed_leader_epoch": row["asked"]["leader_epoch"],
            "client_id": row["client_id"],
            "correlation_id": row["correlation_id"],
            "earlier_topic_id": earlier_id,
            "live_topic_id": live_id,
            "log_start_offset": start,
            "log_end_offset": end,
            "at_risk": max(0, min(offset, end) - start),
            "out_of_range": offset > end,
        }
        back = self.come_back(client, group_id, place) if client else dict.fromkeys(_BACK)
        note(self.stage.truth, "orphan", **told, **back)


def _read(row: Row) -> Row:
    """The records that a consumer takes from a Fetch: of the first batch, which comes whole, not all."""
    first, last = row["told"]["first_offset"], row["told"]["last_offset"]
    return {
        "read_first": first if first is None else max(first, row["asked"]["fetch_offset"]),
        "read_last": last,
    }

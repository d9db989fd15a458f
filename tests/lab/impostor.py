"""A client that sends requests to the controller with brokers' epochs: old ones, and some that never
existed.
"""

from __future__ import annotations

from brokers import kafka_uuid
from controller_requests import alter_partition, heartbeat, register
from incarnation_bench import Bench
from partition_requests import metadata

NOBODY = 9
"""A broker that the cluster does not have."""


def refused(bench: Bench, broker_id: int, earlier_epoch: int) -> None:
    """Requests for a broker that has registered again since ``earlier_epoch``; each is refused."""
    operator, place = bench.operator, ("epochs", 0)
    active = operator.active_controller()
    client = bench.client("controller", "impostor")
    leader, leader_epoch = bench.leader(place)
    (told,) = client.ask(leader, metadata(place[0]))
    topic_id, leaders_epoch = told["told"]["topic_id"], bench.broker_epoch(leader)
    with bench.stage.cluster.admin() as admin:
        cluster_id = admin.call("Metadata", 12, {"Topics": []})["ClusterId"]
    current = (leader, leaders_epoch)
    asks = [
        heartbeat(broker_id, earlier_epoch),
        heartbeat(NOBODY, 1),
        register(broker_id, cluster_id, kafka_uuid()),
        alter_partition(place, topic_id, (broker_id, earlier_epoch), [broker_id], (leader_epoch, 0)),
        alter_partition(place, topic_id, current, [leader], (leader_epoch - 1, 0)),
        alter_partition(place, topic_id, current, [leader], (leader_epoch, 0)),
        alter_partition(place, kafka_uuid(), current, [leader], (leader_epoch, 0)),
    ]
    for ask in asks:
        client.ask(active, ask, controller=True)
    for broker in bench.stage.cluster.running():
        if broker.broker_id != active:
            client.ask(broker.broker_id, heartbeat(broker_id, earlier_epoch), controller=True)

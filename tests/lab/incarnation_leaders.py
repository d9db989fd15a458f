"""Leaders that change by election, by a restart, or because a broker is lost for good."""

from __future__ import annotations

from broker_events import UNCLEAN, kill_broker, lost, past_truncation, start_broker, stop_broker
from incarnation_bench import Bench
from incarnation_cases import epochs
from overtaken import DEPOSED, UNCLEANLY

OFFSETS, FINALLY = ("__consumer_offsets", 0), ("unclean-final", 0)


def leaders(bench: Bench) -> None:
    """The case ``epochs`` where leaders change by election; then the partition leaves a broker."""
    first, second, third = bench.brokers
    place = ("epochs", 0)
    bench.operator.create("epochs", [[first, second, third]])

    def elect() -> None:
        bench.operator.reassign(place, [second, first, third])
        bench.operator.elect(place, second)

    epochs(bench, elect)
    bench.operator.reassign(place, [second, third])
    bench.operator.reassign(OFFSETS, [first, third, second])
    bench.operator.elect(OFFSETS, first)


def restart(bench: Bench) -> None:
    """The case ``epochs`` on one broker, which is stopped and started again."""
    (only,) = bench.brokers
    bench.operator.create("epochs", [[only]])

    def stop_and_start() -> None:
        stop_broker(bench, only)
        start_broker(bench, only)

    epochs(bench, stop_and_start)


def finish(bench: Bench) -> None:
    """The controller is stopped cleanly; then a leader without replicas is killed and does not return."""
    killed, other, active = bench.brokers
    operator = bench.operator
    writer = bench.client("unclean-final", "writer")
    topic_id = operator.create("unclean-final", [[killed, active]], UNCLEAN)
    bench.write(writer, FINALLY, 10)
    stop_broker(bench, active)
    operator.home = other
    operator.await_partition(FINALLY, lambda told: told["IsrNodes"] == [killed])
    first, last = bench.write(writer, FINALLY, 7)
    bench.commit(writer, "final-past", FINALLY, last + 1, leader_epoch=0)
    kill_broker(bench, killed)
    start_broker(bench, active)
    operator.await_partition(FINALLY, lambda told: told["LeaderId"] == active)
    operator.did("fenced", killed)
    bench.write(writer, FINALLY, 2)
    past_truncation(bench, FINALLY, "final-past", last + 1, first)
    lost(bench, FINALLY, topic_id, (first, last), survives=killed)


def come_back(bench: Bench, broker_id: int) -> None:
    """A killed broker is started again and in sync."""
    start_broker(bench, broker_id)
    for place in (UNCLEANLY, OFFSETS, DEPOSED):
        bench.operator.await_partition(place, lambda told: broker_id in told["IsrNodes"])

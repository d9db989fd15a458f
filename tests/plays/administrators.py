"""Players who change the cluster: topics, records, configuration, brokers, copies of live directories."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from brokers import Broker, LabError
from messages import WireError
from plays.calls import Calls, succeeded
from plays.knowledge import World
from plays.script import Setting, Step

_ADMIN = "lab-admin"
_TIMEOUT_MS = 9000


class Administrators:
    """Steps of the world around the clients."""

    def __init__(self, calls: Calls, world: World, setting: Setting, home: Path) -> None:
        self.calls, self.world, self.setting, self.home = calls, world, setting, home
        self.copies = 0

    def prepare(self) -> None:
        """The coordinators' topics exist and answer."""
        for kind, key in ((0, "k0"), (1, "x0")):
            message = {"KeyType": kind, "CoordinatorKeys": [key]}
            self.calls.call(_ADMIN, "FindCoordinator", 4, message)
        self.calls.forget_homes()
        time.sleep(0.3)

    def do_create(self, step: Step) -> None:
        config = [{"Name": "segment.ms", "Value": "1500"}] if step["topic"][0] == "b" else []
        copies = 1 if self.setting.brokers == 1 or step["topic"][0] == "a" else 2
        wanted = {
            "Name": step["topic"],
            "NumPartitions": step["parts"],
            "ReplicationFactor": copies,
            "Configs": config,
        }
        answer = self.calls.call(_ADMIN, "CreateTopics", 7, {"Topics": [wanted], "timeoutMs": _TIMEOUT_MS})
        if answer is not None and answer["Topics"][0]["ErrorCode"] == 0:
            self.world.topics.setdefault(step["topic"], []).append(answer["Topics"][0]["TopicId"])
            self.world.parts[step["topic"]] = step["parts"]
            self._await_leaders(step["topic"])

    def _await_leaders(self, topic: str) -> None:
        """Ask every broker until its metadata has the topic's leaders; this is not in the facts."""
        for broker in self.calls.cluster.running():
            if broker.broker_id in self.calls.paused:
                continue
            connection = self.calls.cluster.connect("lab-finder", broker.broker_id)
            try:
                for _ in range(50):
                    (told,) = connection.call("Metadata", 12, {"Topics": [{"Name": topic}]})["Topics"]
                    if told["ErrorCode"] == 0 and all(p["LeaderId"] > 0 for p in told["Partitions"]):
                        break
                    time.sleep(0.05)
            finally:
                connection.close()

    def do_delete(self, step: Step) -> None:
        message = {"Topics": [{"Name": step["topic"]}], "TimeoutMs": _TIMEOUT_MS}
        self.calls.call(_ADMIN, "DeleteTopics", 6, message)

    def do_lose(self, step: Step) -> None:
        """A coordinator's topic is deleted; the next look-up makes it again."""
        self.do_delete(step)
        time.sleep(0.5)
        self.prepare()

    def do_grow(self, step: Step) -> None:
        count = self.world.parts.get(step["topic"], 1) + step["by"]
        topic = {"Name": step["topic"], "Count": count, "Assignments": None}
        if succeeded(
            self.calls.call(_ADMIN, "CreatePartitions", 2, {"Topics": [topic], "TimeoutMs": _TIMEOUT_MS})
        ):
            self.world.parts[step["topic"]] = count
            self._await_leaders(step["topic"])

    def do_truncate(self, step: Step) -> None:
        place = (step["topic"], step["p"])
        end = list_offset(self.calls, _ADMIN, place, -1, int(step["at"] == "stable"))
        at = end // 2 if step["at"] == "middle" else end
        partition = {"PartitionIndex": step["p"], "Offset": max(at, 0)}
        message = {"Topics": [{"Name": step["topic"], "Partitions": [partition]}], "TimeoutMs": _TIMEOUT_MS}
        self.calls.call(_ADMIN, "DeleteRecords", 2, message, ("partition", *place))

    def do_config(self, step: Step) -> None:
        change = {"Name": step["name"], "ConfigOperation": 0, "Value": step["value"]}
        for broker in self.calls.cluster.running():
            name = str(broker.broker_id)
            resource = {"ResourceType": 4, "ResourceName": name, "Configs": [change]}
            message = {"Resources": [resource]}
            self.calls.call(_ADMIN, "IncrementalAlterConfigs", 1, message, ("broker", broker.broker_id))

    def do_sleep(self, step: Step) -> None:
        time.sleep(step["s"])

    def do_clock(self, step: Step) -> None:
        """A broker's clock is set, while it runs, to so many seconds after the machine's."""
        self.calls.fact("clock", broker=step["broker"], ahead_s=step["ahead_s"])
        self.calls.cluster.clocks[step["broker"]].set_ahead(step["ahead_s"])

    def do_restart(self, step: Step) -> None:
        self.do_down({"broker": 1, "how": step["how"]})
        self.do_up({"broker": 1})

    def do_down(self, step: Step) -> None:
        """A broker is stopped, killed or paused; of three, one at a time."""
        cluster, broker = self.calls.cluster, step["broker"]
        if len(cluster.running()) < len(cluster.brokers) or self.calls.paused:
            return
        self.calls.fact("down", broker=broker, how=step["how"])
        self.calls.drop(broker=broker)
        if step["how"] == "pause":
            self.calls.paused.add(broker)
            cluster.pause_broker(broker)
        elif step["how"] == "kill":
            cluster.kill_broker(broker)
        else:
            cluster.stop_broker(broker)
        for members in self.world.members.values():
            for member in members.values():
                member.waits = None
        self.world.stable.clear()
        self.calls.forget_homes()
        self.calls.fact("is_down", broker=broker, how=step["how"])

    def do_up(self, step: Step) -> None:
        cluster, broker = self.calls.cluster, step["broker"]
        if broker in self.calls.paused:
            cluster.resume_broker(broker)
            self.calls.paused.discard(broker)
        elif broker not in [b.broker_id for b in cluster.running()]:
            cluster.start_broker(broker)
        else:
            return
        self.prepare()
        self.calls.fact("up", broker=broker)

    def all_up(self) -> None:
        """Every broker runs again."""
        for broker in self.calls.cluster.brokers:
            self.do_up({"broker": broker.broker_id})

    def do_elect(self, step: Step) -> None:
        """The preferred leader leads again, or any replica if the election may be unclean."""
        place = {"Topic": step["topic"], "Partitions": [step["p"]]}
        kind = int(step["unclean"] and "unclean" in self.setting.options)
        message = {"ElectionType": kind, "TopicPartitions": [place], "TimeoutMs": _TIMEOUT_MS}
        self.calls.call(_ADMIN, "ElectLeaders", 2, message)
        self.calls.forget_homes()

    def do_reassign(self, step: Step) -> None:
        partition = {"PartitionIndex": step["p"], "Replicas": step["to"]}
        message = {"TimeoutMs": _TIMEOUT_MS, "Topics": [{"Name": step["topic"], "Partitions": [partition]}]}
        self.calls.call(_ADMIN, "AlterPartitionReassignments", 0, message)
        time.sleep(0.5)
        self.calls.forget_homes()

    def do_offdel(self, step: Step) -> None:
        topic = {"Name": step["topic"], "Partitions": [{"PartitionIndex": step["p"]}]}
        message = {"GroupId": step["g"], "Topics": [topic]}
        self.calls.call(_ADMIN, "OffsetDelete", 0, message, ("group", step["g"]))

    def do_delgroup(self, step: Step) -> None:
        self.calls.call(_ADMIN, "DeleteGroups", 2, {"GroupsNames": [step["g"]]}, ("group", step["g"]))

    def do_copy(self, step: Step) -> None:
        """What a run of the audit sees that reads the folders of running brokers; the first one is kept."""
        if self.copies == 0:
            for broker in self.calls.cluster.brokers:
                copy_live(broker, self.home / "copy" / broker.home.name)
            self.calls.fact("copied")
        self.copies += 1


def copy_live(broker: Broker, target: Path) -> None:
    """Copy a live directory file by file, the coordinators' logs last; a file may go meanwhile."""
    files = [f for f in broker.home.rglob("*") if f.is_file()]
    for file in sorted(files, key=lambda f: ("__" in str(f), str(f))):
        to = target / file.relative_to(broker.home)
        to.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(file, to)
        except FileNotFoundError:
            continue


def list_offset(calls: Calls, client: str, place: tuple[str, int], at: int, isolation: int) -> int:
    """What ListOffsets answers; -1 without an answer."""
    partition = {"PartitionIndex": place[1], "CurrentLeaderEpoch": -1, "Timestamp": at}
    topic = {"Name": place[0], "Partitions": [partition]}
    message = {"ReplicaId": -1, "IsolationLevel": isolation, "Topics": [topic]}
    answer = calls.call(client, "ListOffsets", 7, message, ("partition", *place))
    return int(answer["Topics"][0]["Partitions"][0]["Offset"]) if answer else -1


FAILURES = (OSError, WireError, KeyError, LookupError, LabError)
"""What may befall a step: a broker that is away, a topic that is gone."""

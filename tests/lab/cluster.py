"""A real cluster on loopback: formatted, started, queried until it answers, administered, stopped."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from brokers import Broker, LabError, Plan, free_ports, jars, java, kafka_uuid, properties
from clock import Clock
from log4j import broker_logging
from messages import Message, WireError
from wire import Connection
from zookeeper import ZooKeeper

_NO_ID = "A" * 22
START_TIMEOUT_S = 90.0
_TOPIC, _BROKER, _LOGGER, _GROUP = 2, 4, 8, 32  # ConfigResource.Type


class Cluster:
    """A running cluster; leave the ``with`` block, or call ``stop``, to shut it down cleanly."""

    def __init__(self, plan: Plan, home: Path) -> None:
        self.plan = plan
        ports = free_ports(2 * plan.brokers)
        self.brokers = [
            Broker(i + 1, ports[2 * i], ports[2 * i + 1], home / f"broker-{i + 1}")
            for i in range(plan.brokers)
        ]
        self.clocks: dict[int, Clock] = {}
        self.clients_jar = next(jars(plan.version).glob("kafka-clients-*.jar"))
        self._zookeeper: ZooKeeper | None = None
        self._topic_ids: dict[str, str] = {}
        self._partitions: dict[str, int] = {}

    def __enter__(self) -> Cluster:
        cluster_id = kafka_uuid()
        try:
            if self.plan.zookeeper:
                self._zookeeper = ZooKeeper(self.plan.version, self.brokers[0].home.parent / "zookeeper")
            for broker in self.brokers:
                self._format(broker, cluster_id)
            for broker, seconds in zip(self.brokers, self.plan.ahead_s, strict=False):
                self.clocks[broker.broker_id] = Clock(broker.home)
                self.clocks[broker.broker_id].set_ahead(seconds)
            for broker in self.brokers:
                self._launch(broker)
            self._await_answers(self.brokers)
        except BaseException:
            self.stop(force=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.stop(force=kind is not None)

    @property
    def bootstrap(self) -> str:
        """Kafka's bootstrap.servers."""
        return ",".join(f"127.0.0.1:{b.port}" for b in self.brokers)

    def connect(
        self, client_id: str, broker_id: int = 1, ids: Iterator[int] | None = None, controller: bool = False
    ) -> Connection:
        """A new connection to one broker, or to its ``controller`` listener; ``ids`` are correlation ids that
        another connection has begun."""
        broker = self.brokers[broker_id - 1]
        port = broker.controller_port if controller else broker.port
        return Connection("127.0.0.1", port, client_id, self.clients_jar, ids=ids or itertools.count(1))

    @contextmanager
    def admin(self) -> Iterator[Connection]:
        """A connection for administration to a running broker, closed afterwards. With ZooKeeper it is to the
        controller, to which brokers then forward nothing.
        """
        connection = self._any_broker()
        try:
            if self._zookeeper is not None:
                controller = connection.call("Metadata", 12, {"Topics": []})["ControllerId"]
                connection.close()
                connection = self.connect("lab-admin", controller)
            yield connection
        finally:
            connection.close()

    def _any_broker(self) -> Connection:
        for broker in self.brokers:
            try:
                return self.connect("lab-admin", broker.broker_id)
            except OSError:
                continue
        raise LabError("no broker answers")

    def create_topic(
        self, name: str, partitions: int, replicas: int = 1, brokers: Sequence[int | Sequence[int]] = ()
    ) -> str:
        """Create a topic; returns its id. ``brokers``: partition N is on the Nth of them alone, or on all of
        the Nth.
        """
        topic = {"Name": name, "NumPartitions": partitions, "ReplicationFactor": replicas}
        if brokers:
            of_each = [[each] if isinstance(each, int) else list(each) for each in brokers]
            placed = [{"PartitionIndex": n, "BrokerIds": each} for n, each in enumerate(of_each)]
            topic |= {"NumPartitions": -1, "ReplicationFactor": -1, "Assignments": placed}
        with self.admin() as admin:
            answer = admin.call("CreateTopics", 7, {"Topics": [topic], "timeoutMs": 15_000})["Topics"][0]
        if answer["ErrorCode"]:
            raise LabError(f"cannot create topic {name!r}: {answer['ErrorCode']} {answer['ErrorMessage']}")
        self._topic_ids[name] = answer["TopicId"]
        self._partitions[name] = partitions
        return str(answer["TopicId"])

    def delete_topic(self, name: str) -> None:
        """Delete a topic by its name."""
        request = {"Topics": [{"Name": name, "TopicId": _NO_ID}], "TimeoutMs": 15_000}
        with self.admin() as admin:
            answer = admin.call("DeleteTopics", 6, request)["Responses"][0]
        if answer["ErrorCode"]:
            raise LabError(f"cannot delete topic {name!r}: {answer['ErrorCode']} {answer['ErrorMessage']}")

    def topic_id(self, name: str) -> str:
        """The id of a topic made by ``create_topic``."""
        return self._topic_ids[name]

    def partitions(self, topic: str) -> int:
        """How many partitions a topic made by ``create_topic`` has."""
        return self._partitions[topic]

    def leader(self, topic: str, partition: int) -> int:
        """The broker that leads a partition, once there is one."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                with self.admin() as admin:
                    (found,) = admin.call("Metadata", 12, {"Topics": [{"Name": topic}]})["Topics"]
            except (OSError, WireError):  # the broker that got the request is shutting down
                found = {"Partitions": []}
            for told in found["Partitions"]:
                if told["PartitionIndex"] == partition and told["ErrorCode"] == 0 and told["LeaderId"] > 0:
                    return int(told["LeaderId"])
            time.sleep(0.2)
        raise LabError(f"no leader of {topic}-{partition} after {START_TIMEOUT_S:.0f} s")

    def coordinator(self, key: str, transaction: bool = False) -> int:
        """The broker that coordinates a group (or transactional id), once there is one."""
        request = {"KeyType": int(transaction), "CoordinatorKeys": [key]}
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                with self.admin() as admin:
                    found = admin.call("FindCoordinator", 6, request)["Coordinators"][0]
            except (OSError, WireError):  # the broker that got the request is shutting down
                found = {"ErrorCode": 15}
            if found["ErrorCode"] == 0:
                return int(found["NodeId"])
            time.sleep(0.2)
        raise LabError(
            f"no coordinator for {key!r} after {START_TIMEOUT_S:.0f} s: error {found['ErrorCode']}"
        )

    def elect_preferred(self, topic: str, partition: int) -> None:
        """Make a partition's first replica its leader again, once it is in sync."""
        wanted = {"Topic": topic, "Partitions": [partition]}
        request = {"ElectionType": 0, "TopicPartitions": [wanted], "TimeoutMs": 15_000}
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            with self.admin() as admin:
                answer = admin.call("ElectLeaders", 2, request)["ReplicaElectionResults"]
            if all(p["ErrorCode"] == 0 for t in answer for p in t["PartitionResult"]):
                return
            time.sleep(0.3)
        raise LabError(f"no preferred leader of {topic}-{partition}: {answer}")

    def set_topic_config(self, topic: str, name: str, value: str) -> None:
        """Change one configuration of a topic."""
        self._set_config(_TOPIC, topic, name, value)

    def set_broker_config(self, name: str, value: str) -> None:
        """Change one dynamic configuration of every broker."""
        for broker in self.brokers:
            self._set_config(_BROKER, str(broker.broker_id), name, value, broker.broker_id)

    def set_logger_level(self, logger: str, level: str) -> None:
        """Change the level of one logger of every broker."""
        for broker in self.brokers:
            self._set_config(_LOGGER, str(broker.broker_id), logger, level, broker.broker_id)

    def set_group_config(self, group_id: str, name: str, value: str) -> None:
        """Change one configuration of a group."""
        self._set_config(_GROUP, group_id, name, value)

    def _set_config(self, kind: int, owner: str, name: str, value: str, broker_id: int | None = None) -> None:
        change = {"Name": name, "ConfigOperation": 0, "Value": value}
        resource = {"ResourceType": kind, "ResourceName": owner, "Configs": [change]}
        admin = self.connect("lab-admin", broker_id) if broker_id else self._any_broker()
        try:
            answer = admin.call("IncrementalAlterConfigs", 1, {"Resources": [resource]})["Responses"][0]
        finally:
            admin.close()
        if answer["ErrorCode"]:
            raise LabError(f"cannot set {name} of {owner!r}: {answer['ErrorMessage']}")

    def stop_broker(self, broker_id: int) -> None:
        """Stop one broker cleanly: it first hands over its leaderships."""
        process = self._process(broker_id)
        process.send_signal(signal.SIGTERM)
        process.wait(60)

    def kill_broker(self, broker_id: int) -> None:
        """Kill one broker: the controller learns of it when its session expires."""
        process = self._process(broker_id)
        process.kill()
        process.wait()

    def pause_broker(self, broker_id: int) -> None:
        """Pause one broker: it answers nothing, and does not notice that time passes."""
        self._process(broker_id).send_signal(signal.SIGSTOP)

    def resume_broker(self, broker_id: int) -> None:
        """Resume a paused broker, which has its old state."""
        self._process(broker_id).send_signal(signal.SIGCONT)

    def start_broker(self, broker_id: int) -> None:
        """Start a stopped broker again with its log.dirs; returns when all running brokers answer."""
        self._launch(self.brokers[broker_id - 1])
        self._await_answers(self.running())

    def upgrade_broker(self, broker_id: int, version: str) -> None:
        """Stop one broker cleanly, and start it again with another release; later clients are of it, too."""
        self.stop_broker(broker_id)
        self.plan = replace(self.plan, version=version)
        self._write_logging(self.brokers[broker_id - 1])
        self.start_broker(broker_id)

    def update_feature(self, name: str, level: int) -> None:
        """Raise a feature of the cluster to a level."""
        update = {"Feature": name, "MaxVersionLevel": level, "UpgradeType": 1}
        with self.admin() as admin:
            answer = admin.call("UpdateFeatures", 1, {"timeoutMs": 15_000, "FeatureUpdates": [update]})
        if answer["ErrorCode"]:
            raise LabError(f"cannot set {name} to {level}: {answer['ErrorCode']} {answer['ErrorMessage']}")

    def running(self) -> list[Broker]:
        """The brokers whose process is running or paused."""
        return [b for b in self.brokers if b.process is not None and b.process.poll() is None]

    def _process(self, broker_id: int) -> subprocess.Popen[bytes]:
        process = self.brokers[broker_id - 1].process
        if process is None or process.poll() is not None:
            raise LabError(f"broker {broker_id} does not run")
        return process

    def stop(self, force: bool = False) -> None:
        """Stop every broker: cleanly, or at once."""
        running = [self._process(broker.broker_id) for broker in self.running()]
        for process in running:
            process.send_signal(signal.SIGKILL if force else signal.SIGTERM)
        for process in running:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._zookeeper is not None:
            self._zookeeper.stop()

    def _format(self, broker: Broker, cluster_id: str) -> None:
        broker.log_dir.mkdir(parents=True)
        config = broker.home / "server.properties"
        voters = ",".join(f"{b.broker_id}@127.0.0.1:{b.controller_port}" for b in self.brokers)
        settings = properties(self.plan, broker, voters)
        if self._zookeeper is not None:
            settings = self._zookeeper.settings(settings)
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self._write_logging(broker)
        if self._zookeeper is not None:  # which knows the cluster's id
            return
        features = [word for feature in self.plan.features for word in ("--feature", feature)]
        tool = java(
            self.plan.version,
            "128m",
            "kafka.tools.StorageTool",
            "format",
            "-t",
            cluster_id,
            "-c",
            str(config),
            *features,
        )
        done = subprocess.run(tool, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LabError(f"cannot format {broker.log_dir}: {done.stdout}{done.stderr}")

    def _write_logging(self, broker: Broker) -> None:
        _, log_config, text = broker_logging(self.plan, broker)
        (broker.home / log_config).write_text(text)

    def _launch(self, broker: Broker) -> None:
        option, _, _ = broker_logging(self.plan, broker)
        options = [option, f"-Duser.timezone={self.plan.timezone}"]
        command = java(
            self.plan.version, "384m", *options, "kafka.Kafka", str(broker.home / "server.properties")
        )
        clock = self.clocks.get(broker.broker_id)
        environment = os.environ | (clock.environment if clock else {})
        with (broker.home / "console.log").open("ab") as console:
            broker.process = subprocess.Popen(
                command, stdout=console, stderr=subprocess.STDOUT, cwd=broker.home, env=environment
            )

    def _await_answers(self, brokers: list[Broker]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        for broker in brokers:
            while not self._answers(broker):
                if broker.process is None or broker.process.poll() is not None or time.monotonic() > deadline:
                    console = (broker.home / "console.log").read_text(errors="replace")[-2000:]
                    raise LabError(f"broker {broker.broker_id} did not start, see {broker.home}:\n{console}")
                time.sleep(0.2)

    def _answers(self, broker: Broker) -> bool:
        try:
            connection = self.connect("lab-admin", broker.broker_id)
        except OSError:
            return False
        try:
            known: Message = connection.call("Metadata", 12, {"Topics": []})
        except (OSError, WireError):
            return False
        finally:
            connection.close()
        return {told["NodeId"] for told in known["Brokers"]} >= {b.broker_id for b in self.running()}

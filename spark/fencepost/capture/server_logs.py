"""The server.log of brokers: their files, and the settings that brokers log when they start."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from fencepost.capture.kinds import Kind
from fencepost.capture.log_messages import LogMessages
from fencepost.capture.plan import Fault, Source
from fencepost.capture.text import files
from fencepost.formats.log_entries import Message
from fencepost.settings import Cluster
from fencepost.tables import BROKER_SETTINGS

SERVER_LOG, SETTINGS_LOG = "server_log", "broker_settings_log"
"""The kinds of a server.log: all files are read once for each."""
SETTINGS = ("group.consumer.session.timeout.ms", "producer.id.expiration.ms")
"""The settings that are kept: those on which something that is rebuilt depends. Never one of a secret."""

_CONFIGURED = Message(
    "configured", "kafka/server/KafkaConfig", "KafkaConfig values: {}", ("told",), goes_on=True
)
_SETTING = re.compile(rf"^\t({'|'.join(map(re.escape, SETTINGS))}) = ?(.*)$", re.MULTILINE)
_MISSING = "no file matches: correct server_logs in the configuration, or mount them"


def find_server_logs(cluster: Cluster) -> tuple[list[Source], list[Fault]]:
    """Every file of the brokers' ``server_logs``, and the patterns that match none."""
    sources: list[Source] = []
    faults: list[Fault] = []
    for broker in cluster.brokers:
        matching, absent = files(broker.server_logs, _MISSING)
        sources += [
            Source(cluster.name, broker.id, SERVER_LOG, file, timezone=broker.timezone) for file in matching
        ]
        faults += [
            Fault(cluster.name, broker.id, SERVER_LOG, each.path, 0, 0, each.reason, each.detail)
            for each in absent
        ]
    return sources, faults


def _find_settings(cluster: Cluster) -> tuple[list[Source], list[Fault]]:
    """The same files. What is wrong with their patterns is said once, of ``SERVER_LOG``."""
    sources, _ = find_server_logs(cluster)
    return [replace(each, kind=SETTINGS_LOG) for each in sources], []


def _settings(_: str, fields: Mapping[str, str | None]) -> Mapping[str, str | None] | None:
    """The columns of an entry; None if it has none of the settings."""
    told = dict(_SETTING.findall(fields["told"] or ""))
    return {"settings": json.dumps(told, sort_keys=True)} if told else None


BROKER_SETTINGS_LINES = Kind(
    SETTINGS_LOG,
    LogMessages(BROKER_SETTINGS, (_CONFIGURED,), _settings).rows,
    (BROKER_SETTINGS,),
    _find_settings,
)

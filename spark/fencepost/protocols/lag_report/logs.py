"""Logs of Kafka Streams applications as rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial

from fencepost.capture.kinds import Kind
from fencepost.capture.log_messages import LogMessages, find_client_logs
from fencepost.protocols.lag_report.bronze import STREAMS_LINES
from fencepost.protocols.lag_report.log_messages import KIND_OF, MESSAGES

STREAMS_LOG = "streams_log"
SETTINGS = (
    "application.id", "client.id", "state.dir", "state.cleanup.delay.ms", "acceptable.recovery.lag",
    "probing.rebalance.interval.ms", "num.standby.replicas", "processing.guarantee", "group.protocol",
)  # fmt: skip
"""The settings of a StreamsConfig that are kept."""

_SETTING = re.compile(rf"^\t({'|'.join(map(re.escape, SETTINGS))}) = ?(.*)$", re.MULTILINE)
_CONSUMER = re.compile(
    r"Consumer (?:instanceId=.*?, )?clientId=(?P<instance>.+)(?P<number>-StreamThread-\d+)-consumer, "
    r"groupId=(?P<group_id>.*)",
    re.DOTALL,
)
_THREAD = re.compile(
    r"(?P<instance>.+)-(?:StreamThread-\d+|StateUpdater-\d+|CleanupThread|GlobalStreamThread)", re.DOTALL
)


def _named(event: str, fields: Mapping[str, str | None]) -> dict[str, str | None] | None:
    """The columns of an entry; None if it is of another consumer, or of no task."""
    row = dict(fields)
    context = fields.get("context") or ""
    # a layout may have something else in brackets there, such as a thread
    if context.startswith("Consumer "):
        consumer = _CONSUMER.fullmatch(context)
        if consumer is None:
            return None
        thread = f"{consumer['instance']}{consumer['number']}"
        row |= {"instance": consumer["instance"], "thread": thread, "group_id": consumer["group_id"]}
    elif event in {"joining", "joined", "join_requested", "subscribed", "finished_assignment"}:
        return None
    elif (name := row.get("thread")) is not None:
        thread_name = _THREAD.fullmatch(name)
        row["instance"] = None if thread_name is None else thread_name["instance"]
    if "kind" in row:
        if row["kind"] not in KIND_OF:
            return None
        row["kind"] = KIND_OF[row["kind"]]
    if event == "configured":
        settings = dict(_SETTING.findall(row["told"] or ""))
        row |= {"instance": settings.get("client.id") or None, "group_id": settings.get("application.id")}
        row["told"] = json.dumps(settings, sort_keys=True)
    return row


STREAMS_MESSAGES = LogMessages(STREAMS_LINES, MESSAGES, _named)
KINDS = (Kind(STREAMS_LOG, STREAMS_MESSAGES.rows, (STREAMS_LINES,), partial(find_client_logs, STREAMS_LOG)),)

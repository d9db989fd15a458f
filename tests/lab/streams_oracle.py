"""The user data of Streams members, decoded by Kafka's own classes (``java/StreamsUserData.java``)."""

from __future__ import annotations

import base64
import json
import struct
import subprocess
from pathlib import Path
from typing import Any

from brokers import LabError, jars, java, streams_jars
from capture import request_lines
from group_requests import read_subscription
from java_programs import compile_program
from messages import Reader, decode, structure

Row = dict[str, Any]

PROTOCOL = "stream"
"""The name that Kafka Streams gives its assignor."""


def lag_reports(recording: Path, version: str, classes: Path) -> list[Row]:
    """Every lag report in the JoinGroups of a recording's request logs, in the order of their lines.

    Each is the request (client and correlation id), its answer (member, generation, error) and the report.
    """
    jar = next(jars(version).glob("kafka-clients-*.jar"))
    rows, data = [], []
    for _, line in request_lines(recording):
        request, response = line["request"], line["response"]
        if line["requestHeader"]["requestApiKeyName"] != "JOIN_GROUP":
            continue
        for protocol in request["protocols"]:
            if protocol["name"] != PROTOCOL:
                continue
            said = read_subscription(jar, base64.b64decode(protocol["metadata"]))
            data.append(f"subscription {base64.b64encode(said['user_data']).decode()}")
            rows.append(
                {
                    "client_id": line["requestHeader"]["clientId"],
                    "correlation_id": line["requestHeader"]["correlationId"],
                    "group_id": request["groupId"],
                    "member_id": response["memberId"],
                    "generation": response["generationId"],
                    "error_code": response["errorCode"],
                    "owned_partitions": sorted(said["claims"]),
                }
            )
    return _read(rows, data, "report", version, classes)


def assignments(recording: Path, version: str, classes: Path) -> list[Row]:
    """Every assignment in the SyncGroups of Streams leaders: group, generation, member, and the member's
    assignment.
    """
    jar = next(jars(version).glob("kafka-clients-*.jar"))
    fields = structure(jar, "ConsumerProtocolAssignment").fields
    rows, data = [], []
    for _, line in request_lines(recording):
        request = line["request"]
        if line["requestHeader"]["requestApiKeyName"] != "SYNC_GROUP" or request["protocolName"] != PROTOCOL:
            continue
        for given in request["assignments"]:
            reader = Reader(base64.b64decode(given["assignment"]))
            (assigned,) = struct.unpack(">h", reader.take(2))
            user_data = decode(fields, reader, assigned, False)["UserData"]
            data.append(f"assignment {base64.b64encode(user_data).decode()}")
            rows.append(
                {
                    "group_id": request["groupId"],
                    "generation": request["generationId"],
                    "member_id": given["memberId"],
                    "error_code": line["response"]["errorCode"],
                }
            )
    return _read(rows, data, "assignment", version, classes)


def _read(rows: list[Row], data: list[str], name: str, version: str, classes: Path) -> list[Row]:
    more = f"{streams_jars(version)}/*"
    compile_program("StreamsUserData", f"{jars(version)}/*:{more}", classes)
    command = java(version, "64m", "StreamsUserData", classes=f"{classes}:{more}")
    done = subprocess.run(command, input="\n".join([*data, ""]), capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"Kafka cannot read what its members said: {done.stderr}")
    read = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [{**row, name: said} for row, said in zip(rows, read, strict=True)]

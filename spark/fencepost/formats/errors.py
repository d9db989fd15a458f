"""Kafka's error codes (``org.apache.kafka.common.protocol.Errors``)."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files


@cache
def error_names() -> dict[int, str]:
    """Every code of the protocol with Kafka's name for it."""
    table = json.loads(files("fencepost.formats").joinpath("errors.json").read_text(encoding="utf-8"))
    return {int(code): name for code, name in table.items()}


def error_name(code: int) -> str:
    """Kafka's name of an error code; ``UNKNOWN_ERROR_<code>`` for one that a newer broker added."""
    return error_names().get(code, f"UNKNOWN_ERROR_{code}")

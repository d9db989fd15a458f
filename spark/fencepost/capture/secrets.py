"""Leaves out of records of the metadata log what only brokers may know: bronze has more readers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode

METADATA = "__cluster_metadata"
_CREDENTIALS = pa.array(["UserScramCredentialRecord", "DelegationTokenRecord"])
"""Salted passwords, and who may act by which token. Nothing is rebuilt from them."""
_CONFIG = "ConfigRecord"
_SECRET = re.compile(r"password|secret|credential|jaas|token|key$", re.IGNORECASE)
"""Names of configurations whose values Kafka has in this log as text (ConfigDef.Type.PASSWORD)."""


def without_secrets(names: pa.Array, values: pa.Array) -> pa.Array:
    """The values of records by the names of their types: null for credentials, and of a secret configuration
    as if it had been removed. All others are as written.
    """
    hidden = pc.fill_null(pc.is_in(names, _CREDENTIALS), False)
    kept = pc.if_else(hidden, pa.scalar(None, values.type), values)
    is_config = pc.fill_null(pc.equal(names, _CONFIG), False)
    if not pc.any(is_config).as_py():
        return kept
    configs = kept.filter(is_config)
    fields = decode(_CONFIG, "value", configs).values.to_pylist()
    told = [_told(value, each) for value, each in zip(configs.to_pylist(), fields, strict=True)]
    return pc.replace_with_mask(kept, is_config, pa.array(told, kept.type))


def _told(value: bytes | None, fields: Mapping[str, Any] | None) -> bytes | None:
    """A ConfigRecord, which has no value if it is a secret's; None if that cannot be known."""
    if value is None or fields is None:
        return None
    if not _SECRET.search(fields["name"]) or fields["value"] is None:
        return value
    # frame, apiKey, version and resource type are a byte each; the last two say: no value, no tags
    return value[:4] + _compact(fields["resource_name"]) + _compact(fields["name"]) + b"\0\0"


def _compact(text: str) -> bytes:
    """A text behind the unsigned varint of its length and one."""
    encoded, left, length = text.encode(), len(text.encode()) + 1, bytearray()
    while left > 0x7F:
        length.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*length, left]) + encoded

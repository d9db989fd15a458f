"""The keys by which evidence of several kinds is joined: partitions, topics, coordinators, digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

OFFSETS_TOPIC = "__consumer_offsets"
METADATA_TOPIC = "__cluster_metadata"
TRANSACTIONS_TOPIC = "__transaction_state"
SHARE_STATE_TOPIC = "__share_group_state"

TASK, NAMED = "task/", "name/"
"""Prefixes of the keys of active tasks, and of topics whose id is not known. No topic id has a slash."""

ZERO_ID = "A" * 22
"""Uuid.ZERO_UUID, which stands for no topic id."""


def key_of(of: str | None, partition: int) -> str | None:
    """The key of one partition of a topic id, or of a text that begins with TASK or NAMED; None for None."""
    return None if of is None else f"{of}:{partition}"


def topic_key(topic_id: str | None, topic: str | None, partition: int) -> str | None:
    """The key of a topic's partition: by the topic's id, otherwise by its name; None without either."""
    if topic_id is not None:
        return f"{topic_id}:{partition}"
    return None if topic is None else f"{NAMED}{topic}:{partition}"


def topic_named_by(partition_key: str) -> str | None:
    """The name of the topic in the key of a partition whose topic's id is not known; None in other keys."""
    return partition_key[len(NAMED) :].rpartition(":")[0] if partition_key.startswith(NAMED) else None


def by_name_and_id(some: Iterable[str], others: Iterable[str]) -> set[str]:
    """The keys of which each list may have the same partition, one by its topic's name and the other by its
    id: while the name of the id is not known, nothing tells.
    """
    forms, others_forms = ({_form(key) for key in keys} for keys in (some, others))
    found = {key for key in some if _form(key, other=True) in others_forms}
    return found | {key for key in others if _form(key, other=True) in forms}


def _form(key: str, *, other: bool = False) -> tuple[bool, str]:
    """Whether a key has the topic's name, or in its ``other`` form, and the number of the partition."""
    return key.startswith(NAMED) != other, key.rpartition(":")[2]


def digest_of(*values: object) -> str:
    """An id for something that these values name: sha256 of their texts joined by ``|``; None is left out."""
    if None in values:
        values = tuple(value for value in values if value is not None)
    text = "|".join(map(str, values))
    # JSON may escape half of a surrogate pair, which is not valid text: Java writes '?' for it
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def digests_of(prefix: Iterable[object], *columns: Iterable[object]) -> list[str]:
    """``digest_of`` for each row: the values of a prefix that all rows share, and the row's own. None of
    them may be None.
    """
    begun = hashlib.sha256("".join(f"{value}|" for value in prefix).encode())
    digests = []
    for values in zip(*columns, strict=True):
        digest = begun.copy()
        digest.update("|".join(map(str, values)).encode())
        digests.append(digest.hexdigest())
    return digests


def digests_of_texts(*columns: pa.Array | pa.ChunkedArray | str) -> list[str]:
    """``digest_of`` for each row of columns of texts; a plain text counts as a value of every row."""
    texts = pc.binary_join_element_wise(*columns, "|", null_handling="skip").cast(pa.binary())
    return [hashlib.sha256(text).hexdigest() for text in texts.to_pylist()]


def coordinator_partition(key: str, partitions: int) -> int:
    """The partition of a coordinators' topic in which Kafka keeps a group or transactional id.

    Java's String.hashCode over UTF-16 units, made positive by Kafka's Utils.abs: Integer.MIN_VALUE counts as
    0.
    """
    units = key.encode("utf-16-be", "surrogatepass")
    code = 0
    for at in range(0, len(units), 2):
        code = (code * 31 + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    if code == 2**31:
        return 0
    return (code if code < 2**31 else 2**32 - code) % partitions

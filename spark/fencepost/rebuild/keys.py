"""The one column by which what is owned and what is committed meet: ``partition_key``."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

TASK, NAMED = "task/", "name/"
"""What the key of an active task begins with, and of a topic whose id is not known. No id has these signs."""

ZERO_ID = "A" * 22
"""Uuid.ZERO_UUID: no topic id was given."""


def key_of(of: Column, partition: Column) -> Column:
    """The key of one partition of a topic id, or of what TASK and NAMED stand before; null without it."""
    return F.when(of.isNotNull(), F.concat_ws(":", of, partition))


def topic_key(topic_id: Column, topic: Column, partition: Column) -> Column:
    """The key of a topic's partition: by its id, else by its name."""
    return key_of(F.coalesce(topic_id, F.concat(F.lit(NAMED), topic)), partition)

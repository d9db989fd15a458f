"""Offsets that users keep outside Kafka: which of them are still safe to seek to (``fencepost offsets``)."""

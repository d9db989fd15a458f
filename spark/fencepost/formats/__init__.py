"""Bytes to Arrow columns: record batches, record keys and values, request log lines. No Spark in here."""

"""Reads bytes into Arrow columns: record batches, keys and values of records, lines of logs.
Without Spark.
"""

"""Fencepost: audits Apache Kafka's epochs and fencing from the logs a cluster already writes."""

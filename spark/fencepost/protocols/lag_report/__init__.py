"""Lag reports of Kafka Streams and its state cleaner (KIP-441), from the logs of groups and applications."""

"""Lag reports of Kafka Streams and its state cleaner (KIP-441): what groups and applications tell of them."""

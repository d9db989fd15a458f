"""What every replay of a Kafka log needs, whatever its protocol: logs, request lines, metadata, columns."""

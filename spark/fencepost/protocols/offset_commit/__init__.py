"""Offset-commit fencing of consumer groups: KIP-848, KAFKA-19779, KIP-1251."""

"""``fencepost init``: finds a machine's brokers and their logs, and describes them in a configuration."""

from fencepost.discovery.brokers import FoundBroker, NothingFoundError, find_brokers
from fencepost.discovery.configuration import configuration, local_zone

__all__ = ["FoundBroker", "NothingFoundError", "configuration", "find_brokers", "local_zone"]

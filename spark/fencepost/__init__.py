"""Fencepost: audits Apache Kafka's epochs and fencing from the logs a cluster already writes."""

from pkgutil import extend_path

# a protocol may lie in a folder fencepost/protocols elsewhere on Python's path
__path__ = extend_path(__path__, __name__)

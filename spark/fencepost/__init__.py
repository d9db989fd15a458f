"""Fencepost: audits Apache Kafka's epochs and fencing from the logs a cluster already writes."""

import os
from pkgutil import extend_path

# Arrow's own choice gives the system back only what one thread has let go of, and files are read by several.
# It asks for this when it is loaded.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")

# a protocol may lie in a folder fencepost/protocols elsewhere on Python's path
__path__ = extend_path(__path__, __name__)

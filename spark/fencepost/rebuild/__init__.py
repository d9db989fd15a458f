"""Bronze to silver: what every group and producer believed at every moment, and what each request met."""

from fencepost.rebuild.run import rebuild

__all__ = ["rebuild"]

"""Bronze to silver: what every consumer group believed at every moment, and what each offset commit met."""

from fencepost.rebuild.run import rebuild

__all__ = ["rebuild"]

"""Bronze to silver: what every consumer group believed at every moment, and what each offset commit met."""

from fencepost.rebuild.run import RebuildSummary, rebuild

__all__ = ["RebuildSummary", "rebuild"]

"""Capture: reads what brokers wrote, once, into the tables of bronze."""

from fencepost.capture.run import CaptureSummary, capture

__all__ = ["CaptureSummary", "capture"]

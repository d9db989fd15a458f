"""Capture: what brokers wrote, into the bronze tables, once."""

from fencepost.capture.run import CaptureSummary, capture

__all__ = ["CaptureSummary", "capture"]

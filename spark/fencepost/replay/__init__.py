"""The code that the replays of all protocols share: logs, request lines, metadata, columns."""

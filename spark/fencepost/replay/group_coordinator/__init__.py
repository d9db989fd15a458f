"""The code that all replays of ``__consumer_offsets`` share: its records, and the lives of groups."""

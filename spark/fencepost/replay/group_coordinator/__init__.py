"""What every replay of ``__consumer_offsets`` needs: its records, whose they are, and the lives of groups."""

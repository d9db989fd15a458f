"""The rebalances of one group as a picture."""

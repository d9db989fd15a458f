"""A module and its mapping compiled: the passes in order, every diagnostic collected."""

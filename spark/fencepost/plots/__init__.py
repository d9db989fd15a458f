"""What all pictures share; each protocol has those of its own in its folder ``plot``."""

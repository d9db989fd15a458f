"""The code that all plots share; each protocol has its own plots in its folder ``plot``."""

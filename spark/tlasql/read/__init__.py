"""A module as SANY parsed it, read into marked definitions and their expressions."""

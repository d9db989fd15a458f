"""A module as SANY parsed it, read into expressions: which definitions are marked, and what each says."""

"""The protocols that Fencepost audits, one folder each."""

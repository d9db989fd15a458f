"""The programs that come with TLA+, each run in a JVM: SANY, which parses, and TLC, which checks models."""

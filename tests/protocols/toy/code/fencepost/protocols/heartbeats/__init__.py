"""The smallest protocol that there can be: the generations that members send in heartbeats."""

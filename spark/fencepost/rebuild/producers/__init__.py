"""Histories of producer epochs: transactional ids at their coordinators, producers in the partitions."""

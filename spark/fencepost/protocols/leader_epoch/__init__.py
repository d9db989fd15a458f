"""Leader epochs and incarnations of topics: what logs and requests tell, replayed as Kafka does."""

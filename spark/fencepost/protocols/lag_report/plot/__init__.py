"""The state directories of one instance of Kafka Streams as a picture."""

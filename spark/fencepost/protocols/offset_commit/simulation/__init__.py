"""What another fencing policy, or another release of Kafka, would have answered to commits."""

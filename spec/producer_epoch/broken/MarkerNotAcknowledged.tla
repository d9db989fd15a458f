----------------------- MODULE MarkerNotAcknowledged ------------------------
\* The coordinator does not hear that a marker was written, and writes it again.
EXTENDS MCProducerEpoch

BrokenAcknowledged(p) == {}

=============================================================================

-------------------------- MODULE FenceBumpsTwice ---------------------------
\* A timeout takes two epochs, one for the fence and one for the end of the transaction (KAFKA-19367).
EXTENDS MCProducerEpoch

BrokenFencedEpoch == Epoch + 2

=============================================================================

--------------------------- MODULE EpochsLeapOver ---------------------------
\* A bump takes nearly all epochs at once.
EXTENDS MCProducerEpoch

BrokenBumpedEpoch == IF Known THEN Epoch + MaxEpoch - 1 ELSE 0

=============================================================================

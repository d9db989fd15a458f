------------------------- MODULE GuardOutlivesMarker -------------------------
\* What was verified stays so when a marker has ended the transaction: verification in one step cannot show it.
EXTENDS MCProducerEpoch

BrokenGuards(p, id) == guards

=============================================================================

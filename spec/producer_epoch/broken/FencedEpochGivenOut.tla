------------------------- MODULE FencedEpochGivenOut -------------------------
\* Who is fenced is given a new epoch when he presents his old one, in place of the current one.
EXTENDS MCProducerEpoch

BrokenRetriedEpoch == Epoch + 1

==============================================================================

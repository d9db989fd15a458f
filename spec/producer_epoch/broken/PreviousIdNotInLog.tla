------------------------- MODULE PreviousIdNotInLog -------------------------
\* A coordinator of the proposal does not find the exhausted producer id in the log.
EXTENDS MCProducerEpoch

BrokenLoaded == [lastEpoch |-> lastEpoch, previousId |-> -1, nextId |-> -1]

=============================================================================

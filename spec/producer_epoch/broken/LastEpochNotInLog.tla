------------------------- MODULE LastEpochNotInLog --------------------------
\* A coordinator of the proposal does not find the last epoch in the log.
EXTENDS MCProducerEpoch

BrokenLoaded == [lastEpoch |-> -1, previousId |-> previousId, nextId |-> -1]

=============================================================================

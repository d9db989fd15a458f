--------------------- MODULE SnapshotLacksIdleProducers ---------------------
\* A snapshot has only the producers with an open transaction.
EXTENDS MCProducerEpoch

BrokenInSnapshot(p, id) == Remembers(p, id) /\ currentTxnFirstOffset[p][id] # -1

=============================================================================

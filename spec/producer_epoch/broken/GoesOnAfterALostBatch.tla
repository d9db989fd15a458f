----------------------- MODULE GoesOnAfterALostBatch ------------------------
\* A client goes on after a batch that was lost, and the partition does not miss it.
EXTENDS MCProducerEpoch

BrokenAfterLostBatch == "open"
BrokenInSequence(b) == Remembers(b.partition, b.id) => b.epoch >= appendedEpoch[b.partition][b.id]

=============================================================================

------------------------- MODULE BatchAppendedTwice -------------------------
\* A client sends a batch again, and the partition appends it again.
EXTENDS MCProducerEpoch

BrokenSequenceAfterBatch(i, p, size) == nextSequence[i][p]
BrokenInSequence(b) == Remembers(b.partition, b.id) => b.epoch >= appendedEpoch[b.partition][b.id]

=============================================================================

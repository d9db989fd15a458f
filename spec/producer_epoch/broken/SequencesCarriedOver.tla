------------------------ MODULE SequencesCarriedOver ------------------------
\* A client goes on with its sequences in a new epoch, and the partition takes it.
EXTENDS MCProducerEpoch

BrokenFirstSequences(i) == nextSequence[i]
BrokenInSequence(b) == Remembers(b.partition, b.id) => b.epoch >= appendedEpoch[b.partition][b.id]

=============================================================================

------------------------ MODULE OlderEpochsAppended -------------------------
\* A partition compares no epochs: a fenced instance goes on with its sequence.
EXTENDS MCProducerEpoch

BrokenInSequence(b) ==
    IF ~Remembers(b.partition, b.id) \/ b.epoch < appendedEpoch[b.partition][b.id] THEN TRUE
    ELSE b.first \in {0, Advanced(lastSequence[b.partition][b.id], 1)}

=============================================================================

-------------------------- MODULE EpochStartsAgain --------------------------
\* A new instance gets epoch 0 of the producer id that is there already.
EXTENDS MCProducerEpoch

BrokenBumpedEpoch == 0

=============================================================================

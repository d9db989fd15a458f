---------------------- MODULE BrokenIdempotentProducer ----------------------
(***************************************************************************)
(* Planted faults. Each operator is a fault, and takes the place of an     *)
(* operator of the specification: manifest.json says of which, and which   *)
(* definition TLC then finds violated.                                     *)
(***************************************************************************)
EXTENDS MCIdempotentProducer

\* A client bumps its epoch while batches are in flight, and renumbers them.
BumpsTooEarly(i) == failing[i] # {}

\* The partition appends a batch of an epoch before the local bump.
OlderBatchAppended(b) == IF IsDuplicate(b) THEN "DUPLICATE" ELSE "NONE"

\* The partition compares epochs but no sequences.
SequenceNotCompared(b) ==
    IF Remembers(b.partition, b.id) /\ b.epoch < appendedEpoch[b.partition][b.id] THEN "INVALID_PRODUCER_EPOCH"
    ELSE IF IsDuplicate(b) THEN "DUPLICATE" ELSE "NONE"

\* A client begins each epoch at sequence 1, and the partition accepts that.
NumberedFromOne == 1

\* The partition appends a batch that it has already.
DuplicateAppended(b) ==
    IF Remembers(b.partition, b.id) /\ b.epoch < appendedEpoch[b.partition][b.id] THEN "INVALID_PRODUCER_EPOCH"
    ELSE IF IsDuplicate(b) \/ ~Remembers(b.partition, b.id) \/ Follows(b) THEN "NONE"
    ELSE "OUT_OF_ORDER_SEQUENCE_NUMBER"

=============================================================================

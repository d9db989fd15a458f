------------------------ MODULE BrokenProducerEpoch ------------------------
(***************************************************************************)
(* Planted faults. Each operator is a fault, and takes the place of an     *)
(* operator of the specification: manifest.json says of which, and which   *)
(* definition TLC then finds violated.                                     *)
(***************************************************************************)
EXTENDS MCProducerEpoch

\* A transaction that was prepared to abort is completed as committed.
AbortCompletesAsCommit == "CompleteCommit"

\* A new instance gets epoch 0 of the existing producer id.
EpochStartsAgain == 0

\* A timeout bumps the epoch twice, for the fence and for the end of the transaction (KAFKA-19367).
FenceBumpsTwice == Epoch + 2

\* The next producer id is chosen one epoch before the last.
NextIdTooEarly(epoch) == IF TransactionVersion = 2 /\ epoch = MaxEpoch - 1 THEN issuedIds + 1 ELSE -1

\* A coordinator that was replaced still completes its transaction in the log.
DeposedCoordinatorWrites == IF Preparing /\ term > 0 THEN term - 1 ELSE term

\* One bump uses nearly all epochs.
EpochsLeapOver == IF Known THEN Epoch + MaxEpoch - 1 ELSE 0

\* A coordinator that should follow the shipped rule follows the proposal.
AnswersByTheProposal(q) == DecideAsProposed(q)

\* The coordinator compares only producer ids.
EpochsNotCompared(q) == IF ~Known \/ SaysNone(q) \/ q.providedId = Id THEN Waiting("new") ELSE "fenced"

\* A retry gets another new epoch.
RetriesBumpAgain == Epoch + 1

\* A coordinator of the proposal does not find the last epoch in the log.
LastEpochNotInLog == [lastEpoch |-> -1, previousId |-> previousId, nextId |-> -1]

\* A coordinator of the proposal does not find the exhausted producer id in the log.
PreviousIdNotInLog == [lastEpoch |-> lastEpoch, previousId |-> -1, nextId |-> -1]

\* A coordinator of the proposal checks the status before it compares epochs.
StatusBeforeEpoch(q) == IF Closed THEN DecideAsProposed(q) ELSE Waiting("")

\* A transaction is completed before every partition has its marker.
CompletesTooEarly == TRUE

\* Every marker is a COMMIT.
MarkersOfOneType(p) == [Marker(p) EXCEPT !.type = "COMMIT"]

\* The coordinator does not learn that a marker was written, and writes it again.
MarkerNotAcknowledged(p) == {}

\* A coordinator writes markers with the coordinator epoch of its predecessor.
MarkerOfAnEarlierTerm(p) == [Marker(p) EXCEPT !.coordinatorEpoch = IF @ > 0 THEN @ - 1 ELSE @]

\* A partition compares no epochs: a fenced instance continues its sequence.
OlderEpochsAppended(b) ==
    IF ~Remembers(b.partition, b.id) \/ b.epoch < appendedEpoch[b.partition][b.id] THEN TRUE
    ELSE b.first \in {0, Advanced(lastSequence[b.partition][b.id], 1)}

\* A client continues its sequences in a new epoch, and the partition accepts that.
SequencesCarriedOver(i) == nextSequence[i]

\* Beside SequencesCarriedOver, GoesOnAfterALostBatch and BatchAppendedTwice: a partition compares epochs but no
\* sequences.
SequencesNotCompared(b) == Remembers(b.partition, b.id) => b.epoch >= appendedEpoch[b.partition][b.id]

\* A client continues after a lost batch, and the partition does not notice the gap.
GoesOnAfterALostBatch == "open"

\* A client sends a batch again, and the partition appends it again.
BatchAppendedTwice(i, p, size) == nextSequence[i][p]

\* A partition accepts the marker of a coordinator that was replaced.
DeposedCoordinatorNotRefused(m) == Remembers(m.partition, m.id) => m.epoch >= appendedEpoch[m.partition][m.id]

\* An aborted transaction is not written to the transaction index.
AbortNotIndexed(type) == FALSE

\* A snapshot has only the producers with an open transaction.
SnapshotLacksIdleProducers(p, id) == Remembers(p, id) /\ currentTxnFirstOffset[p][id] # -1

\* A partition refuses a marker that it already has, and the new coordinator sends it for ever (before KAFKA-19999).
MarkersNotTakenTwice(m) ==
    Remembers(m.partition, m.id) =>
        /\ m.coordinatorEpoch >= markerCoordinatorEpoch[m.partition][m.id]
        /\ m.epoch > appendedEpoch[m.partition][m.id]

\* A new coordinator does not write the markers of transactions that its predecessor prepared.
MarkersNotSentAgain(p) == IF coordinatorEpoch[TransactionalId] = term THEN Marker(p) ELSE [Marker(p) EXCEPT !.coordinatorEpoch = -2]

\* The coordinator aborts no transaction after its timeout.
NothingTimesOut == FALSE

\* Partitions do not ask the coordinator: a late batch opens a transaction that nobody ends.
TransactionsNotVerified(b) == TRUE

\* A fenced producer that sends its old epoch gets a new epoch instead of the current one.
FencedEpochGivenOut == Epoch + 1

\* A retry of EndTxn is accepted even if the transaction had the opposite outcome.
OtherEndAccepted(id, epoch, commit) ==
    IF Known /\ id = Id /\ epoch + 1 = Epoch THEN "NONE" ELSE "PRODUCER_FENCED"

\* A coordinator of the proposal treats the previous epoch as a retry, whoever bumped it.
FencedEndsAgain(id, epoch, commit) == DecideEndTxnAsShipped(id, epoch, commit)

\* The instance takes the producer id and epoch out of a checkpoint of its predecessor, which may still write.
Recover(i, j) ==
    \* enabling conditions
    /\ instances[i].state = "new"
    /\ instances[j].state = "open"
    \* state changes
    /\ instances' = [instances EXCEPT ![i] = instances[j]]
    /\ initProducerIds' = {} /\ producerSnapshots' = {}
    /\ UNCHANGED <<coordinatorVars, partitionVars, added, nextSequence, networkVars, transactionMarkers>>
    /\ Observe({})

\* A recovered instance takes over the producer id and epoch of its predecessor, and ends its transaction.
EpochTakenOver ==
    \/ InitProducerIdStep \/ CoordinatorStep \/ InstanceStep \/ PartitionStep
    \/ \E i, j \in Instances : Recover(i, j)

\* The coordinator compares only producer ids when a partition is added.
FencedAddsPartitions(i) == IF ~Known \/ instances[i].id # Id THEN "INVALID_PRODUCER_ID_MAPPING" ELSE "NONE"

\* A verification stays valid after a marker has ended the transaction; a model that verifies in one step cannot show
\* this.
GuardOutlivesMarker(p, id) == guards

=============================================================================

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
DeposedCoordinatorWrites(newStatus, id, epoch, last, next) ==
    /\ status' = Only(newStatus)
    /\ producerId' = Only(id)
    /\ producerEpoch' = Only(epoch)
    /\ nextProducerId' = Only(IF NextIdInLog THEN next ELSE -1)
    /\ coordinatorEpoch' = Only(IF Preparing /\ term > 0 THEN term - 1 ELSE term)
    /\ transactionVersion' = Only(TransactionVersion)
    /\ memory' = [lastEpoch |-> last, previousId |-> IF id = Id THEN memory.previousId ELSE Id, nextId |-> next]

\* One bump uses nearly all epochs.
EpochsLeapOver == IF Known THEN Epoch + MaxEpoch - 1 ELSE 0

\* A coordinator that should follow the shipped rule follows the proposal.
AnswersByTheProposal(q) == DecideAsProposed(q)

\* The coordinator compares only producer ids.
EpochsNotCompared(q) == IF ~Known \/ PresentsNone(q) \/ q.providedId = Id THEN Waiting("new") ELSE "fenced"

\* A retry gets another new epoch.
RetriesBumpAgain(q) ==
    /\ Decide(q) = "same"
    /\ Write("Empty", Id, Epoch + 1, memory.lastEpoch, -1)
    /\ Grant(q, Id, Epoch + 1)
    /\ UNCHANGED <<term, issuedIds, transactionPartitions, pendingMarkers, partitionVars, lateBatches, lateMarkers>>

\* A coordinator of the proposal does not find the last epoch in the log.
LastEpochNotInLog == [memory EXCEPT !.lastEpoch = -1]

\* A coordinator of the proposal does not find the exhausted producer id in the log.
PreviousIdNotInLog == [memory EXCEPT !.previousId = -1]

\* A coordinator of the proposal checks the status before it compares epochs.
StatusBeforeEpoch(q) == IF Closed THEN DecideAsProposed(q) ELSE Waiting("")

\* A transaction is completed before every partition has its marker.
CompletesTooEarly == Preparing /\ PrepareComplete

\* Every marker is a COMMIT.
MarkersOfOneType(p) == [partition |-> p, id |-> Id, epoch |-> Epoch, type |-> "COMMIT", coordinatorEpoch |-> term]

\* The coordinator does not learn that a marker was written, and writes it again.
MarkerNotAcknowledged(p) ==
    /\ Preparing
    /\ AcceptsMarker(Marker(p))
    /\ AppendMarker(Marker(p))
    /\ pendingMarkers' \in {pendingMarkers, pendingMarkers \ {p}}
    /\ UNCHANGED <<recordVars, term, memory, transactionPartitions, issuedIds, instanceVars, networkVars>>

\* A coordinator writes markers with the coordinator epoch of its predecessor.
MarkerOfAnEarlierTerm(p) ==
    [partition |-> p, id |-> Id, epoch |-> Epoch, type |-> IF Status = "PrepareCommit" THEN "COMMIT" ELSE "ABORT",
     coordinatorEpoch |-> IF term > 0 THEN term - 1 ELSE 0]

\* A partition compares no epochs: a fenced instance continues its sequence.
OlderEpochsAppended(b) ==
    IF ~Remembers(b.partition, b.id) \/ b.epoch < appendedEpoch[b.partition][b.id] THEN TRUE
    ELSE b.first \in {0, Advanced(lastSequence[b.partition][b.id], 1)}

\* A client continues its sequences in a new epoch, and the partition accepts that.
SequencesCarriedOver(i) == UNCHANGED nextSequence

\* Beside SequencesCarriedOver, GoesOnAfterALostBatch and BatchAppendedTwice: a partition compares epochs but no
\* sequences.
SequencesNotCompared(b) == Remembers(b.partition, b.id) => b.epoch >= appendedEpoch[b.partition][b.id]

\* A client continues after a lost batch, and the partition does not notice the gap.
GoesOnAfterALostBatch(i, p, size) ==
    /\ LateBatches
    /\ instances[i].state = "open"
    /\ p \in added[i]
    /\ lateBatches' = lateBatches \cup {Batch(i, p, size)}
    /\ nextSequence' = [nextSequence EXCEPT ![i][p] = Advanced(@, size)]
    /\ UNCHANGED <<coordinatorVars, partitionVars, instances, added, requests, lateMarkers>>

\* A client sends a batch again, and the partition appends it again.
BatchAppendedTwice(i, p, size) ==
    /\ instances[i].state = "open"
    /\ p \in added[i]
    /\ Accepts(Batch(i, p, size))
    /\ Append(Batch(i, p, size))
    /\ UNCHANGED <<coordinatorVars, instanceVars, networkVars>>

\* A partition accepts the marker of a coordinator that was replaced.
DeposedCoordinatorNotRefused(m) == Remembers(m.partition, m.id) => m.epoch >= appendedEpoch[m.partition][m.id]

\* An aborted transaction is not written to the transaction index.
AbortNotIndexed(m) ==
    {[OpenTransaction(m.partition, m.id) EXCEPT !.open = FALSE, !.aborted = m.type = "ABORT", !.indexed = FALSE] :
        id \in {k \in DOMAIN appendedEpoch[m.partition] \cap {m.id} : currentTxnFirstOffset[m.partition][k] # -1}}

\* A snapshot has only the producers with an open transaction.
SnapshotLacksIdleProducers(p) ==
    {[partition |-> p, producerId |-> id, snapshotOffset |-> logEnd[p], due |-> TRUE,
      present |-> currentTxnFirstOffset[p][id] # -1, agrees |-> TRUE] : id \in DOMAIN appendedEpoch[p]}

\* A partition refuses a marker that it already has, and the new coordinator sends it for ever (before KAFKA-19999).
MarkersNotTakenTwice(m) ==
    Remembers(m.partition, m.id) =>
        /\ m.coordinatorEpoch >= markerCoordinatorEpoch[m.partition][m.id]
        /\ m.epoch > appendedEpoch[m.partition][m.id]

\* A new coordinator does not write the markers of transactions that its predecessor prepared.
MarkersNotSentAgain(p) ==
    /\ Preparing
    /\ p \in pendingMarkers
    /\ coordinatorEpoch[TransactionalId] = term
    /\ AcceptsMarker(Marker(p))
    /\ AppendMarker(Marker(p))
    /\ pendingMarkers' = pendingMarkers \ {p}
    /\ UNCHANGED <<recordVars, term, memory, transactionPartitions, issuedIds, instanceVars, networkVars>>

\* The coordinator aborts no transaction after its timeout.
NothingTimesOut == FALSE

\* Partitions do not ask the coordinator: a late batch opens a transaction that nobody ends.
TransactionsNotVerified(b) == TRUE

\* A retry of EndTxn is accepted even if the transaction had the opposite outcome.
OtherEndAccepted(i, commit) ==
    IF Known /\ instances[i].id = Id /\ instances[i].epoch + 1 = Epoch THEN "NONE"
    ELSE DecideEndTxnAsShipped(instances[i].id, instances[i].epoch, commit)

\* A coordinator of the proposal treats the previous epoch as a retry, whoever bumped it.
FencedEndsAgain(i, commit) == DecideEndTxnAsShipped(instances[i].id, instances[i].epoch, commit)

\* An instance that starts may take over the producer id and epoch of its predecessor, out of a checkpoint, and end its
\* transaction. The predecessor may still write.
EpochTakenOver(i) ==
    /\ instances[i].state = "new"
    /\ \/ /\ instances' = [instances EXCEPT ![i].state = "waiting"]
          /\ requests' = requests \cup {[instance |-> i, providedId |-> -1, providedEpoch |-> -1]}
       \/ \E j \in Instances :
            /\ instances[j].state = "open"
            /\ instances' = [instances EXCEPT ![i] = instances[j]]
            /\ UNCHANGED requests
    /\ UNCHANGED <<coordinatorVars, partitionVars, added, nextSequence, lateBatches, lateMarkers>>

\* The coordinator compares only producer ids when a partition is added.
FencedAddsPartitions(i) == IF ~Known \/ instances[i].id # Id THEN "INVALID_PRODUCER_ID_MAPPING" ELSE "NONE"

\* A verification stays valid after a marker has ended the transaction; a model that verifies in one step cannot show
\* this.
GuardOutlivesMarker(p, id) == UNCHANGED guards

=============================================================================

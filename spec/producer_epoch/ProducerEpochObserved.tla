------------------------ MODULE ProducerEpochObserved ------------------------
(***************************************************************************)
(* What is seen of ProducerEpoch. Its actions do not speak of it: here     *)
(* each is joined with what it shows.                                      *)
(*                                                                         *)
(* Logs show what the coordinator answered, with the state that the        *)
(* request met, and what partitions hold. What no log shows, and only      *)
(* properties speak of: who was given an epoch, and what a coordinator     *)
(* with the rule of KIP-360 would have in its log, whatever the release.   *)
(***************************************************************************)
EXTENDS ProducerEpoch, IdempotentProducerRules

\* @typeAlias: initProducerId = {request: INSTANCE, transactionalId: TRANSACTIONAL_ID, providedId: Int, providedEpoch: Int, granted: Bool, fenced: Bool, busy: Bool, failed: Bool, returnedId: Int, returnedEpoch: Int, known: Bool, status: Str, producerId: Int, producerEpoch: Int, lastEpoch: Int, previousId: Int, lastEpochHeld: Int, previousIdHeld: Int};
\* @typeAlias: endTxn = {request: INSTANCE, transactionalId: TRANSACTIONAL_ID, apiVersion: Int, commit: Bool, providedId: Int, providedEpoch: Int, error: Str, returnedId: Int, returnedEpoch: Int, known: Bool, status: Str, producerId: Int, producerEpoch: Int, lastEpoch: Int, previousId: Int, previousIdHeld: Int, byAnother: Bool};
\* @typeAlias: addPartitionsToTxn = {request: INSTANCE, transactionalId: TRANSACTIONAL_ID, partition: PARTITION, apiVersion: Int, verifyOnly: Bool, providedId: Int, providedEpoch: Int, error: Str, known: Bool, status: Str, producerId: Int, producerEpoch: Int, listed: Bool};
\* @typeAlias: transactionMarker = {transactionalId: TRANSACTIONAL_ID, partition: PARTITION, producerId: Int, producerEpoch: Int, dueType: Str, completed: Bool, found: Int, writers: Int, wrong: Int, coordinatorEpoch: Int, markerCoordinatorEpoch: Int};
\* @typeAlias: partitionTransaction = {partition: PARTITION, producerId: Int, producerEpoch: Int, firstOffset: Int, open: Bool, aborted: Bool, listed: Bool, indexed: Bool};
\* @typeAlias: producerSnapshot = {partition: PARTITION, producerId: Int, snapshotOffset: Int, due: Bool, present: Bool, agrees: Bool};

\* TRUE: partitions write snapshots of what they remember.
\* @type: Bool;
CONSTANT Snapshots

ASSUME Snapshots \in BOOLEAN

-----------------------------------------------------------------------------
(***************************************************************************)
(* What was asked, and what came of it.                                    *)
(***************************************************************************)

\* The InitProducerId decided in the last step, with the state it met and the answer. Earlier ones are forgotten.
\* @type: Set($initProducerId);
VARIABLE initProducerIds

\* The EndTxn that was answered in the last step, in the same way.
\* @type: Set($endTxn);
VARIABLE endTxns

\* The AddPartitionsToTxn that was answered in the last step, in the same way.
\* @type: Set($addPartitionsToTxn);
VARIABLE addPartitionsToTxns

(***************************************************************************)
(* What the partitions hold.                                               *)
(***************************************************************************)

\* The markers that are due for the transaction prepared last, one for each of its partitions.
\* @type: Set($transactionMarker);
VARIABLE transactionMarkers

\* The transactions that are open in a partition's log, and the one that was ended in the last step.
\* @type: Set($partitionTransaction);
VARIABLE partitionTransactions

\* The snapshot that was written in the last step: an element for each producer in the log.
\* @type: Set($producerSnapshot);
VARIABLE producerSnapshots

(***************************************************************************)
(* What only properties speak of.                                          *)
(***************************************************************************)

\* KIP-360: the epoch before the last bump that its owner asked for; -1 after a new instance or a fence.
\* @type: Int;
VARIABLE lastEpoch

\* KIP-360: the producer id before the last exhausted one; -1 for none.
\* @type: Int;
VARIABLE previousId

\* The instance that was given the last new epoch; the empty set for a fence, whose epoch is the coordinator's own.
\* @type: Set(INSTANCE);
VARIABLE bumpedBy

askedVars    == <<initProducerIds, endTxns, addPartitionsToTxns>>
holdingVars  == <<transactionMarkers, partitionTransactions, producerSnapshots, localBumps>>
truthVars    == <<lastEpoch, previousId, bumpedBy>>
observedVars == <<vars, askedVars, holdingVars, truthVars>>

ObservedInit ==
    /\ Init
    /\ initProducerIds = {} /\ endTxns = {} /\ addPartitionsToTxns = {}
    /\ transactionMarkers = {} /\ partitionTransactions = {} /\ producerSnapshots = {}
    /\ localBumps = {}   \* none of a producer with a transactional id
    /\ lastEpoch = -1 /\ previousId = -1 /\ bumpedBy = {}

-----------------------------------------------------------------------------
(***************************************************************************)
(* What was asked. A request has the state that it met.                    *)
(***************************************************************************)

InitProducerIdAsMet(q) ==
    LET granted == Decide(q) \in {"new", "same"}
    IN  [request         |-> q.instance,
         transactionalId |-> TransactionalId,
         providedId      |-> q.providedId,
         providedEpoch   |-> q.providedEpoch,
         granted         |-> granted,
         fenced          |-> Decide(q) = "fenced",
         busy            |-> Decide(q) \in {"busy", "abort"},
         failed          |-> Decide(q) = "failed",
         returnedId      |-> IF granted THEN Id' ELSE -1,
         returnedEpoch   |-> IF granted THEN Epoch' ELSE -1,
         known           |-> Known,
         status          |-> Status,
         producerId      |-> Id,
         producerEpoch   |-> Epoch,
         lastEpoch       |-> lastEpoch,
         previousId      |-> previousId,
         lastEpochHeld   |-> memory.lastEpoch,
         previousIdHeld  |-> memory.previousId]

\* Another instance has the producer id and epoch of this one.
HeldByAnother(i) ==
    \E j \in Instances \ {i} : instances[j].id = instances[i].id /\ instances[j].epoch = instances[i].epoch

\* From version 5 on EndTxn moves the epoch, and its answer has one.
EndTxnAsMet(i, commit) ==
    LET error == DecideEndTxn(i, commit)
        given == error = "NONE" /\ TransactionVersion = 2
    IN  [request         |-> i,
         transactionalId |-> TransactionalId,
         apiVersion      |-> IF TransactionVersion = 2 THEN 5 ELSE 4,
         commit          |-> commit,
         providedId      |-> instances[i].id,
         providedEpoch   |-> instances[i].epoch,
         error           |-> error,
         returnedId      |-> IF given THEN AfterEndTxn(i).id ELSE -1,
         returnedEpoch   |-> IF given THEN AfterEndTxn(i).epoch ELSE -1,
         known           |-> Known,
         status          |-> Status,
         producerId      |-> Id,
         producerEpoch   |-> Epoch,
         lastEpoch       |-> lastEpoch,
         previousId      |-> previousId,
         previousIdHeld  |-> memory.previousId,
         byAnother       |-> HeldByAnother(i)]

\* Up to version 3 producers send AddPartitionsToTxn, later ones are brokers'.
AddPartitionAsMet(i, p) ==
    [request         |-> i,
     transactionalId |-> TransactionalId,
     partition       |-> p,
     apiVersion      |-> IF TransactionVersion = 2 THEN 5 ELSE 3,
     verifyOnly      |-> FALSE,
     providedId      |-> instances[i].id,
     providedEpoch   |-> instances[i].epoch,
     error           |-> DecideAddPartition(i),
     known           |-> Known,
     status          |-> Status,
     producerId      |-> Id,
     producerEpoch   |-> Epoch,
     listed          |-> p \in transactionPartitions]

-----------------------------------------------------------------------------
(***************************************************************************)
(* What the partitions hold.                                               *)
(***************************************************************************)

\* The markers that are due in the partitions of the transaction that is prepared.
Due ==
    {[transactionalId |-> TransactionalId, partition |-> p, producerId |-> Id, producerEpoch |-> Epoch,
      dueType |-> IF Status = "PrepareCommit" THEN "COMMIT" ELSE "ABORT", completed |-> FALSE, found |-> 0, writers |-> 0,
      wrong |-> 0, coordinatorEpoch |-> term, markerCoordinatorEpoch |-> -1] : p \in transactionPartitions}

\* No marker of its producer in the partition is from the coordinator that sent m, or from a later one.
IsFromNextCoordinator(m) ==
    Remembers(m.partition, m.id) => m.coordinatorEpoch > markerCoordinatorEpoch[m.partition][m.id]

\* A due marker after m was appended, which may be it.
Counted(due, m) ==
    IF due.partition # m.partition \/ due.producerId # m.id \/ due.producerEpoch # m.epoch THEN due
    ELSE IF due.dueType # m.type THEN [due EXCEPT !.wrong = @ + 1]
    ELSE [due EXCEPT !.found = @ + 1,
                     !.writers = IF due.found = 0 \/ IsFromNextCoordinator(m) THEN @ + 1 ELSE @,
                     !.markerCoordinatorEpoch = IF due.found = 0 THEN m.coordinatorEpoch ELSE @]

\* The coordinator has a transaction with p that it has not completed, and its marker will end what is open there: also
\* what was left open at an earlier epoch.
WillEnd(p, id, epoch) ==
    /\ Id = id
    /\ p \in transactionPartitions
    /\ Status = "Ongoing" \/ Preparing
    /\ Epoch >= epoch

\* The transaction of this producer that is open in p.
OpenTransaction(p, id) ==
    [partition |-> p, producerId |-> id, producerEpoch |-> appendedEpoch[p][id],
     firstOffset |-> currentTxnFirstOffset[p][id], open |-> TRUE, aborted |-> FALSE,
     listed |-> WillEnd(p, id, appendedEpoch[p][id]), indexed |-> FALSE]

OpenTransactions ==
    UNION {{OpenTransaction(p, id) : id \in {k \in DOMAIN appendedEpoch[p] : currentTxnFirstOffset[p][k] # -1}} :
              p \in Partitions}

\* The transaction that the marker ends, if one is open. It is the coordinator's if that has prepared it at this epoch.
\* The transaction index gets it when it is aborted.
Ended(m) ==
    {[OpenTransaction(m.partition, m.id) EXCEPT !.open = FALSE, !.aborted = m.type = "ABORT",
                                                !.listed = Lists(m.partition, m.id, appendedEpoch[m.partition][m.id])
                                                           /\ Preparing /\ m.epoch = Epoch,
                                                !.indexed = m.type = "ABORT"] :
        id \in {k \in DOMAIN appendedEpoch[m.partition] \cap {m.id} : currentTxnFirstOffset[m.partition][k] # -1}}

\* A snapshot of p: what it has of each producer in the log.
Snapshot(p) ==
    {[partition |-> p, producerId |-> id, snapshotOffset |-> logEnd[p], due |-> TRUE, present |-> Remembers(p, id),
      agrees |-> Remembers(p, id)] : id \in DOMAIN appendedEpoch[p]}

-----------------------------------------------------------------------------
(***************************************************************************)
(* What every action is joined with: what was asked, which epoch moved,    *)
(* what the partitions hold.                                               *)
(***************************************************************************)

Asked(inits, ends, additions) ==
    /\ initProducerIds' = inits
    /\ endTxns' = (IF RepeatedEndTxns THEN ends ELSE {})
    /\ addPartitionsToTxns' = (IF RepeatedEndTxns THEN additions ELSE {})

AskedNothing == Asked({}, {}, {})

\* The epoch moves for `who`; `last` is the one before, if its owner asked for it.
Bumps(who, last) ==
    /\ bumpedBy' = who
    /\ lastEpoch' = last
    /\ previousId' = IF ~Known' THEN -1 ELSE IF Id' = Id THEN previousId ELSE Id

\* It does not; but the producer id may be replaced when its last transaction is completed.
BumpsNothing == Bumps(bumpedBy, lastEpoch)

\* `markers`: the one that is appended.
Holds(markers) ==
    /\ transactionMarkers' =
           IF ~Preparing /\ Preparing' THEN Due'
           ELSE IF Preparing /\ ~Preparing' THEN {[due EXCEPT !.completed = TRUE] : due \in transactionMarkers}
           ELSE IF markers = {} THEN transactionMarkers
           ELSE UNION {{Counted(due, m) : due \in transactionMarkers} : m \in markers}
    /\ partitionTransactions' = OpenTransactions' \cup UNION {Ended(m) : m \in markers}
    /\ producerSnapshots' = {}
    /\ UNCHANGED localBumps

-----------------------------------------------------------------------------
ObservedInitProducerId(q) ==
    /\ HandleInitProducerId(q)
    /\ Asked({InitProducerIdAsMet(q)}, {}, {})
    /\ CASE Decide(q) = "new"   -> Bumps({q.instance}, LastEpochAfter(q))
         [] Decide(q) = "abort" -> Bumps({}, LastEpochAfter(q))
         [] OTHER               -> BumpsNothing
    /\ Holds({})

\* Under transaction version 2 whoever ends a transaction takes the next epoch.
ObservedEndTxn(i, commit) ==
    /\ HandleEndTxn(i, commit)
    /\ Asked({}, {EndTxnAsMet(i, commit)}, {})
    /\ IF Epoch' = Epoch THEN BumpsNothing ELSE Bumps({i}, Epoch)
    /\ Holds({})

ObservedAddPartition(i, p) ==
    /\ HandleAddPartitionToTxn(i, p)
    /\ Asked({}, {}, {AddPartitionAsMet(i, p)})
    /\ BumpsNothing
    /\ Holds({})

ObservedTimeOut  == TimeOut /\ AskedNothing /\ Bumps({}, -1) /\ Holds({})
ObservedExpire   == Expire /\ AskedNothing /\ Bumps({}, -1) /\ Holds({})
ObservedComplete == Complete /\ AskedNothing /\ BumpsNothing /\ Holds({})

ObservedWriteMarker(p) == WriteMarker(p) /\ AskedNothing /\ BumpsNothing /\ Holds({Marker(p)})
ObservedLateMarker(m)  == LateMarker(m) /\ AskedNothing /\ BumpsNothing /\ Holds({m})

\* Nothing is asked of the coordinator, and it writes nothing.
ObservedElsewhere == (Failover \/ InstanceStep \/ PartitionStep) /\ AskedNothing /\ BumpsNothing /\ Holds({})

\* The partition writes a snapshot: a segment is rolled, or the broker shuts down. Nothing else moves.
TakeSnapshot(p) ==
    \* enabling conditions
    /\ Snapshots
    \* state changes
    /\ UNCHANGED <<vars, truthVars, transactionMarkers, localBumps>>
    /\ AskedNothing
    /\ partitionTransactions' = OpenTransactions
    /\ producerSnapshots' = Snapshot(p)

ObservedNext ==
    \/ \E q \in requests : ObservedInitProducerId(q)
    \/ \E i \in Instances :
        \/ \E commit \in BOOLEAN : ObservedEndTxn(i, commit)
        \/ \E p \in Partitions : ObservedAddPartition(i, p)
    \/ \E p \in Partitions : ObservedWriteMarker(p) \/ TakeSnapshot(p)
    \/ \E m \in lateMarkers : ObservedLateMarker(m)
    \/ ObservedTimeOut
    \/ ObservedComplete
    \/ ObservedExpire
    \/ ObservedElsewhere

ObservedSpec == ObservedInit /\ [][ObservedNext]_observedVars

-----------------------------------------------------------------------------
\* The types above, for TLC.
ObservedTypeOK ==
    /\ TypeOK
    /\ \A x \in partitionTransactions : x.open => x \in OpenTransactions
    /\ \A r \in initProducerIds : Cardinality({ok \in {"granted", "fenced", "busy", "failed"} : r[ok]}) = 1

=============================================================================

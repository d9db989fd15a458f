---------------------------- MODULE ProducerEpoch ----------------------------
(***************************************************************************)
(* How the epochs of a transactional producer move (KIP-360, KIP-890), how *)
(* its transaction coordinator decides InitProducerId, and how the         *)
(* partitions it writes to fence what comes from the past.                 *)
(*                                                                         *)
(* Several instances of a producer share one transactional id: one of them *)
(* is rightful, the others are zombies that do not know it. An instance    *)
(* asks for an epoch when it starts (it presents none), and again after an *)
(* error (it presents its producer id and epoch). The answer may be lost;  *)
(* then it asks again, maybe another coordinator. The coordinator decides  *)
(* by its rule (Rule, which follows from the constant Release):            *)
(*                                                                         *)
(*   "kip_360"  the epoch before the last bump that its owner asked for,   *)
(*              and the producer id before the last exhausted one, are in  *)
(*              the log; epochs are compared whatever the status           *)
(*   "shipped"  both are in memory and forgotten by a new coordinator      *)
(*              (the second one is in the log from 4.3, see                *)
(*              NextIdInLog); while a transaction is open no epoch is      *)
(*              compared, and at the last epoch no retry succeeds          *)
(*                                                                         *)
(* A transaction: Ongoing with its partitions; Prepare, when the producer  *)
(* ends it, its timeout passes or somebody asks for an epoch; a marker in  *)
(* each partition, one by one; Complete. The coordinator may move at any   *)
(* time, and its predecessor's markers may arrive late. Under transaction  *)
(* version 2 the end of each transaction moves the epoch, whoever ends it, *)
(* the coordinator remembers the epoch before (as for a retry), and a      *)
(* partition asks it before it opens a transaction (Verification). There a *)
(* producer may abort when it has nothing open. The answer to EndTxn may   *)
(* be lost (constant RepeatedEndTxns); then the producer asks again.       *)
(*                                                                         *)
(* A partition compares epoch and sequence of a batch with what it         *)
(* remembers of the producer. It may forget (constant KeepsState), which   *)
(* is what KIP-360 is about; a batch may arrive long after its producer    *)
(* gave it up (constant LateBatches), which is what KIP-890 is about.      *)
(*                                                                         *)
(* What logs show of all this, and what only properties speak of, is in    *)
(* ProducerEpochObserved.                                                  *)
(*                                                                         *)
(* It follows TransactionCoordinator, TransactionMetadata and, for what a  *)
(* partition knows, ProducerState. Idempotent producers without            *)
(* transactional id are IdempotentProducer's. Left out: offsets in         *)
(* transactions, replicas of the partitions, a change of the transaction   *)
(* version, two-phase commit. A change of the id that is being written,    *)
(* during which the coordinator answers CONCURRENT_TRANSACTIONS, is one    *)
(* step here.                                                              *)
(***************************************************************************)
EXTENDS ProducerState, FiniteSets

\* @typeAlias: memory = {lastEpoch: Int, previousId: Int, nextId: Int};
\* @typeAlias: instance = {state: Str, id: Int, epoch: Int};
\* @typeAlias: inFlight = {instance: INSTANCE, providedId: Int, providedEpoch: Int};
\* @typeAlias: batch = {partition: PARTITION, id: Int, epoch: Int, first: Int, last: Int};
\* @typeAlias: marker = {partition: PARTITION, id: Int, epoch: Int, type: Str, coordinatorEpoch: Int};

\* The transactional id that all instances use.
\* @type: TRANSACTIONAL_ID;
CONSTANT TransactionalId

\* The instances of the producer: processes that are started once.
\* @type: Set(INSTANCE);
CONSTANT Instances

\* Whose brokers they are: "3.9" to "4.3" as shipped; "trunk" as merged after 4.4.0; "kip_360" by the proposal's words,
\* "kip_890" with its verification and transaction version 2 as well, which no broker ever was.
\* @type: Str;
CONSTANT Release

\* 0 and 1: the epoch stays at the end of a transaction. 2 (KIP-890): it moves.
\* @type: Int;
CONSTANT TransactionVersion

\* TRUE: a partition remembers a producer for as long as that may write (KIP-360). FALSE: it may forget one that has
\* no open transaction, when its records are deleted.
\* @type: Bool;
CONSTANT KeepsState

\* TRUE: clients before KIP-360. When a partition has forgotten the producer, they begin again at sequence 0, in the
\* same epoch; and the partition takes no other sequence from a producer it does not remember.
\* @type: Bool;
CONSTANT ResetsSequences

\* TRUE: a batch may arrive after its producer gave it up and aborted the transaction.
\* @type: Bool;
CONSTANT LateBatches

\* TRUE: the coordinator is asked for such a batch some time before it is appended (VerificationGuard). FALSE: in one step.
\* @type: Bool;
CONSTANT VerifiedBefore

\* TRUE: a request with a marker may be sent twice, and its second copy arrive at any later time.
\* @type: Bool;
CONSTANT RepeatedMarkers

\* TRUE: the answer to EndTxn may be lost, and its producer asks again; fenced producers ask, too. FALSE: nothing of
\* this, for smaller models.
\* @type: Bool;
CONSTANT RepeatedEndTxns

\* TRUE: the transactional id may expire between transactions (transactional.id.expiration.ms).
\* @type: Bool;
CONSTANT IdsExpire

\* How many records a batch may have.
\* @type: Set(Int);
CONSTANT BatchSizes

\* The largest epoch: 32767. A producer id is exhausted one before it; the last one is for fencing only.
\* @type: Int;
CONSTANT MaxEpoch

ASSUME Release \in {"kip_360", "kip_890", "3.9", "4.0", "4.1", "4.2", "4.3", "trunk"}
ASSUME TransactionVersion \in {0, 1, 2} /\ (Release \in {"kip_360", "3.9"} => TransactionVersion < 2)
ASSUME {KeepsState, ResetsSequences, VerifiedBefore} \subseteq BOOLEAN /\ (VerifiedBefore => Release # "kip_360")
ASSUME {LateBatches, RepeatedMarkers, RepeatedEndTxns, IdsExpire} \subseteq BOOLEAN
ASSUME MaxEpoch > 1 /\ MaxSequence > 0
ASSUME BatchSizes \subseteq 1..MaxSequence

\* The rule by which the coordinator decides, see above.
Rule == IF Release \in {"kip_360", "kip_890"} THEN "kip_360" ELSE "shipped"

\* A partition asks the coordinator before it opens a transaction (KIP-890, from 3.6 on).
Verification == Release # "kip_360"

\* Under transaction version 2 the epoch of a marker must be above that of the batches it ends (KAFKA-19446, from 4.2 on).
StrictMarkers == Release \notin {"3.9", "4.0", "4.1"}

\* The next and the previous producer id are in the coordinator's log, and it replaces the producer id also where it ends
\* the last epoch on its own (from 4.3 on; as proposed).
NextIdInLog == Release \notin {"3.9", "4.0", "4.1", "4.2"}

\* So is the last epoch, in records of transaction version 1 and 2 (KAFKA-20357; as proposed).
LastEpochInLog == Release \in {"kip_360", "kip_890"} \/ (Release = "trunk" /\ TransactionVersion > 0)

-----------------------------------------------------------------------------
(***************************************************************************)
(* The newest record of the transactional id in __transaction_state. It is *)
(* in the DOMAINs while the coordinator knows it.                          *)
(***************************************************************************)

\* Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit or CompleteAbort.
\* @type: TRANSACTIONAL_ID -> Str;
VARIABLE status

\* @type: TRANSACTIONAL_ID -> Int;
VARIABLE producerId

\* @type: TRANSACTIONAL_ID -> Int;
VARIABLE producerEpoch

\* The producer id after the one that this transaction exhausts; -1 for none.
\* @type: TRANSACTIONAL_ID -> Int;
VARIABLE nextProducerId

\* The leader epoch of the coordinator's log at this record.
\* @type: TRANSACTIONAL_ID -> Int;
VARIABLE coordinatorEpoch

\* @type: TRANSACTIONAL_ID -> Int;
VARIABLE transactionVersion

(***************************************************************************)
(* The rest of the coordinator.                                            *)
(***************************************************************************)

\* Its epoch: the leader epoch of its partition of __transaction_state.
\* @type: Int;
VARIABLE term

\* What this coordinator remembers beside the record, -1 for none: the epoch before the last bump (KIP-360: one that its
\* owner asked for), the producer id before, and the one after.
\* @type: $memory;
VARIABLE memory

\* The partitions of the transaction.
\* @type: Set(PARTITION);
VARIABLE transactionPartitions

\* Those whose marker is not acknowledged to this coordinator.
\* @type: Set(PARTITION);
VARIABLE pendingMarkers

\* Markers on their way that this coordinator does not wait for: those of coordinators before it, and second copies.
\* @type: Set($marker);
VARIABLE lateMarkers

\* The last producer id that was given out in the cluster.
\* @type: Int;
VARIABLE issuedIds

(***************************************************************************)
(* The instances, the network, the partitions' memory.                     *)
(***************************************************************************)

\* Each instance's state ("new", "waiting" for an epoch, "ready", "open" in a transaction, "failed" with one that can
\* only be aborted, "committing" or "aborting" until EndTxn is answered, "failing" when it needs an epoch, "fenced"),
\* producer id and epoch.
\* @type: INSTANCE -> $instance;
VARIABLE instances

\* The partitions that each instance has added to its transaction.
\* @type: INSTANCE -> Set(PARTITION);
VARIABLE added

\* The sequence of the next record of each instance.
\* @type: INSTANCE -> PARTITION -> Int;
VARIABLE nextSequence

\* InitProducerId requests whose sender waits for an answer. It sends the same again when none comes.
\* @type: Set($inFlight);
VARIABLE requests

\* Batches that their sender gave up and that may arrive still.
\* @type: Set($batch);
VARIABLE lateBatches

\* The batches on their way that the coordinator was asked for with success: each partition's verification guards.
\* @type: Set($batch);
VARIABLE guards

recordVars      == <<status, producerId, producerEpoch, nextProducerId, coordinatorEpoch, transactionVersion>>
coordinatorVars == <<recordVars, term, memory, transactionPartitions, pendingMarkers, issuedIds>>
partitionVars   == <<logVars, remembered, guards>>
instanceVars    == <<instances, added, nextSequence>>
networkVars     == <<requests, lateBatches, lateMarkers>>
vars            == <<coordinatorVars, partitionVars, instanceVars, networkVars>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Epochs, and what the coordinator knows.                                 *)
(***************************************************************************)

Only(value) == [t \in {TransactionalId} |-> value]

\* No bump is possible any more for an owner: the last epoch is kept for a fence.
Exhausted(epoch) == epoch >= MaxEpoch - 1

\* What the coordinator knows of the transactional id.
Known  == TransactionalId \in DOMAIN status
Status == IF Known THEN status[TransactionalId] ELSE "Empty"
Id     == IF Known THEN producerId[TransactionalId] ELSE -1
Epoch  == IF Known THEN producerEpoch[TransactionalId] ELSE -1

Preparing == Status \in {"PrepareCommit", "PrepareAbort"}
Closed    == Status \in {"Empty", "CompleteCommit", "CompleteAbort"}

\* This instance has the current producer id and epoch.
Current(i) == Known /\ instances[i].id = Id /\ instances[i].epoch = Epoch

\* The coordinator has the transaction that is open in p, as one that it has not completed. Prepare is written one above
\* the transaction's own epoch under transaction version 2 and after a fence.
Lists(p, id, epoch) ==
    /\ Id = id
    /\ p \in transactionPartitions
    /\ \/ Status = "Ongoing" /\ Epoch = epoch
       \/ Preparing /\ Epoch \in {epoch, epoch + 1}

-----------------------------------------------------------------------------
Init ==
    /\ status = Empty /\ producerId = Empty /\ producerEpoch = Empty
    /\ nextProducerId = Empty /\ coordinatorEpoch = Empty /\ transactionVersion = Empty
    /\ term = 0
    /\ memory = [lastEpoch |-> -1, previousId |-> -1, nextId |-> -1]
    /\ transactionPartitions = {} /\ pendingMarkers = {} /\ lateMarkers = {}
    /\ issuedIds = 0
    /\ InitLogs /\ guards = {}
    /\ instances = [i \in Instances |-> [state |-> "new", id |-> -1, epoch |-> -1]]
    /\ added = [i \in Instances |-> {}]
    /\ nextSequence = [i \in Instances |-> [p \in Partitions |-> 0]]
    /\ requests = {} /\ lateBatches = {}

\* The transactional id gets a record. Beside it the coordinator remembers the last epoch and the next producer id, and
\* the previous producer id: by the proposal the one before an exhausted one, in a broker that of the record before,
\* whatever that was.
Write(newStatus, id, epoch, last, next) ==
    /\ status' = Only(newStatus)
    /\ producerId' = Only(id)
    /\ producerEpoch' = Only(epoch)
    /\ nextProducerId' = Only(IF NextIdInLog THEN next ELSE -1)
    /\ coordinatorEpoch' = Only(term)
    /\ transactionVersion' = Only(TransactionVersion)
    /\ memory' = [lastEpoch  |-> last,
                  previousId |-> IF Rule = "kip_360" /\ id = Id THEN memory.previousId ELSE Id,
                  nextId     |-> next]

-----------------------------------------------------------------------------
(***************************************************************************)
(* InitProducerId.                                                         *)
(***************************************************************************)

\* An instance starts and asks for an epoch; it presents none.
Start(i) ==
    \* enabling conditions
    /\ instances[i].state = "new"
    \* state changes
    /\ instances' = [instances EXCEPT ![i].state = "waiting"]
    /\ requests' = requests \cup {[instance |-> i, providedId |-> -1, providedEpoch |-> -1]}
    /\ UNCHANGED <<coordinatorVars, partitionVars, added, nextSequence, lateBatches, lateMarkers>>

\* After an error an instance asks for a new epoch; it presents the one it has. Its transaction has been aborted:
\* by itself, or by somebody else, of which it hears when a request is refused (KIP-588: a timeout is no reason to give
\* up).
AskForBump(i) ==
    \* enabling conditions
    /\ \/ instances[i].state \in {"ready", "failing"}
       \/ instances[i].state \in {"open", "failed", "committing", "aborting"} /\ ~Current(i)
    \* state changes
    /\ instances' = [instances EXCEPT ![i].state = "waiting"]
    /\ added' = [added EXCEPT ![i] = {}]
    /\ requests' = requests \cup
           {[instance |-> i, providedId |-> instances[i].id, providedEpoch |-> instances[i].epoch]}
    /\ UNCHANGED <<coordinatorVars, partitionVars, nextSequence, lateBatches, lateMarkers>>

PresentsNone(q) == q.providedId = -1

\* The request presents the current producer id, or the one before with its last epoch.
PresentsId(q) == q.providedId = Id \/ (q.providedId = memory.previousId /\ Exhausted(q.providedEpoch))

\* An answer that would give an epoch has to wait for the open transaction.
Waiting(answer) == IF Status = "Ongoing" THEN "abort" ELSE IF Preparing THEN "busy" ELSE answer

\* KIP-360: the producer id and epoch of the request are compared first, then the status.
DecideAsProposed(q) ==
    IF ~Known \/ PresentsNone(q) THEN Waiting("new")
    ELSE IF ~PresentsId(q) THEN "fenced"
    ELSE IF q.providedEpoch = Epoch THEN Waiting("new")
    ELSE IF q.providedEpoch = memory.lastEpoch THEN Waiting("same")
    ELSE "fenced"

\* TransactionCoordinator.prepareInitProducerIdTransit: the status is looked at before the epoch, and whether that is
\* exhausted before it is compared.
DecideAsShipped(q) ==
    IF ~PresentsNone(q) /\ Epoch # -1 /\ ~PresentsId(q) THEN "fenced"
    ELSE IF ~Closed THEN Waiting("")
    ELSE IF PresentsNone(q) \/ Epoch = -1 \/ q.providedEpoch = Epoch THEN "new"
    ELSE IF Exhausted(Epoch) THEN "failed"
    ELSE IF q.providedEpoch = memory.lastEpoch THEN "same"
    ELSE "fenced"

Decide(q) == IF Rule = "kip_360" THEN DecideAsProposed(q) ELSE DecideAsShipped(q)

\* The producer id and epoch after a bump.
BumpedId    == IF ~Known \/ Exhausted(Epoch) THEN issuedIds + 1 ELSE Id
BumpedEpoch == IF ~Known \/ Exhausted(Epoch) THEN 0 ELSE Epoch + 1

\* The last epoch after a bump that q asked for: none unless q presents the current epoch, as its owner does.
LastEpochAfter(q) == IF PresentsNone(q) \/ q.providedEpoch # Epoch THEN -1 ELSE Epoch

\* TransactionManager.resetSequenceNumbers: with a new epoch sequences begin at 0.
ResetSequenceNumbers(i) == nextSequence' = [nextSequence EXCEPT ![i] = [p \in Partitions |-> 0]]

\* The answer reaches its instance, or is lost and asked for again.
Grant(q, id, epoch) ==
    \/ UNCHANGED <<instances, added, nextSequence, requests>>
    \/ /\ instances' = [instances EXCEPT ![q.instance] = [state |-> "ready", id |-> id, epoch |-> epoch]]
       /\ added' = [added EXCEPT ![q.instance] = {}]
       /\ ResetSequenceNumbers(q.instance)
       /\ requests' = requests \ {q}

\* A new epoch, or a new producer id at epoch 0.
GrantNewEpoch(q) ==
    \* enabling conditions
    /\ q \in requests
    /\ Decide(q) = "new"
    \* state changes
    /\ Write("Empty", BumpedId, BumpedEpoch, LastEpochAfter(q), -1)
    /\ issuedIds' = IF BumpedId = Id THEN issuedIds ELSE BumpedId
    /\ Grant(q, BumpedId, BumpedEpoch)
    /\ UNCHANGED <<term, transactionPartitions, pendingMarkers, partitionVars, lateBatches, lateMarkers>>

\* A retry: the epoch that was given before.
GrantSameEpoch(q) ==
    \* enabling conditions
    /\ q \in requests
    /\ Decide(q) = "same"
    \* state changes
    /\ Write("Empty", Id, Epoch, memory.lastEpoch, -1)
    /\ Grant(q, Id, Epoch)
    /\ UNCHANGED <<term, issuedIds, transactionPartitions, pendingMarkers, partitionVars, lateBatches, lateMarkers>>

\* PRODUCER_FENCED (INVALID_PRODUCER_EPOCH in the proposal), or UNKNOWN_SERVER_ERROR: fatal for the instance.
Refuse(q) ==
    \* enabling conditions
    /\ q \in requests
    /\ Decide(q) \in {"fenced", "failed"}
    \* state changes
    /\ instances' = [instances EXCEPT ![q.instance].state = "fenced"]
    /\ requests' = requests \ {q}
    /\ UNCHANGED <<coordinatorVars, partitionVars, added, nextSequence, lateBatches, lateMarkers>>

\* CONCURRENT_TRANSACTIONS: the instance asks again.
LetWait(q) ==
    \* enabling conditions
    /\ q \in requests
    /\ Decide(q) = "busy"
    \* state changes
    /\ UNCHANGED vars

-----------------------------------------------------------------------------
(***************************************************************************)
(* The end of a transaction.                                               *)
(***************************************************************************)

\* Under transaction version 2 the producer id that follows one whose last epoch is used up; -1 for none.
NextId(epoch) == IF TransactionVersion = 2 /\ epoch = MaxEpoch THEN issuedIds + 1 ELSE -1

\* The epoch at which a transaction is prepared that its producer ends; one that is fenced always moves.
PreparedEpoch == IF TransactionVersion = 2 THEN Epoch + 1 ELSE Epoch
FencedEpoch   == Epoch + 1

\* TransactionMetadata.prepareAbortOrCommit: what a broker remembers as the last epoch when it ends a transaction on its
\* own. Under transaction version 2 that is the epoch of the producer that is fenced, as if it had asked for the bump.
\* By the proposal it is `asked`: the epoch of the owner, if that asked for the bump.
LastEpochOfFence(asked) ==
    IF Rule = "kip_360" THEN asked
    ELSE IF TransactionVersion = 2 THEN Epoch ELSE -1

\* The next producer id when the coordinator ends a transaction on its own: before 4.3 it takes none.
NextIdOfFence == IF NextIdInLog THEN NextId(FencedEpoch) ELSE -1

\* PrepareCommit or PrepareAbort is written; from here on the outcome is certain.
Prepare(newStatus, epoch, last, next) ==
    /\ Write(newStatus, Id, epoch, last, next)
    /\ issuedIds' = IF next # -1 THEN next ELSE issuedIds
    /\ pendingMarkers' = transactionPartitions
    /\ UNCHANGED <<term, transactionPartitions>>

\* A request for an epoch meets an open transaction: it is aborted at an epoch of the coordinator's own. Under KIP-360 a
\* bump that the owner itself asked for is remembered as such.
AbortForInit(q) ==
    \* enabling conditions
    /\ q \in requests
    /\ Decide(q) = "abort"
    \* state changes
    /\ Prepare("PrepareAbort", FencedEpoch, LastEpochOfFence(LastEpochAfter(q)), NextIdOfFence)
    /\ UNCHANGED <<partitionVars, instanceVars, networkVars>>

\* The transaction was open for too long.
TimeOut ==
    \* enabling conditions
    /\ Status = "Ongoing"
    \* state changes
    /\ Prepare("PrepareAbort", FencedEpoch, LastEpochOfFence(-1), NextIdOfFence)
    /\ UNCHANGED <<partitionVars, instanceVars, networkVars>>

\* The producer id and epoch after an EndTxn that is answered NONE. Under transaction version 2 they are in the answer:
\* the next ones if this EndTxn ends the transaction, the current ones if it was sent again.
AfterEndTxn(i) ==
    IF TransactionVersion < 2 THEN [id |-> instances[i].id, epoch |-> instances[i].epoch]
    ELSE IF ~Current(i) THEN [id |-> Id, epoch |-> Epoch]
    ELSE IF NextId(PreparedEpoch) # -1 THEN [id |-> NextId(PreparedEpoch), epoch |-> 0]
    ELSE [id |-> Id, epoch |-> PreparedEpoch]

\* The transaction has the end that is asked for.
HasEnd(commit) ==
    Status \in (IF commit THEN {"PrepareCommit", "CompleteCommit"} ELSE {"PrepareAbort", "CompleteAbort"})

\* KIP-890: the epoch before the last end of a transaction may end it again, alike.
DecideEndTxnAsProposed(id, epoch, commit) ==
    IF ~Known \/ ~(id = Id \/ (id = memory.previousId /\ Exhausted(epoch))) THEN "INVALID_PRODUCER_ID_MAPPING"
    ELSE IF id = Id /\ epoch = Epoch
    THEN IF Status = "Ongoing" THEN "NONE"
         ELSE IF ~HasEnd(commit) THEN "INVALID_TXN_STATE"
         ELSE IF Preparing THEN "CONCURRENT_TRANSACTIONS" ELSE "NONE"
    ELSE IF TransactionVersion < 2 \/ epoch # memory.lastEpoch \/ Status \in {"Empty", "Ongoing"} THEN "PRODUCER_FENCED"
    ELSE IF HasEnd(commit) THEN "NONE" ELSE "INVALID_TXN_STATE"

\* TransactionCoordinator.endTransaction: the epoch before the current one may end again what has ended, whoever ended
\* it. The current one may abort what is not there.
DecideEndTxnAsShipped(id, epoch, commit) ==
    LET overflow == TransactionVersion = 2 /\ id = memory.previousId /\ epoch = MaxEpoch - 1 /\ Epoch = 0
        again    == TransactionVersion = 2 /\ (epoch + 1 = Epoch \/ overflow)
    IN  IF ~Known \/ (id # Id /\ ~overflow) THEN "INVALID_PRODUCER_ID_MAPPING"
        ELSE IF \/ Status \in {"Empty", "Ongoing"} /\ epoch # Epoch
                \/ Preparing /\ epoch # Epoch /\ ~(TransactionVersion = 2 /\ epoch + 1 = Epoch)
                \/ Closed /\ epoch # Epoch /\ ~again
        THEN "PRODUCER_FENCED"
        ELSE IF Status = "Ongoing" THEN "NONE"
        ELSE IF TransactionVersion = 2 /\ Closed /\ ~again THEN IF commit THEN "INVALID_TXN_STATE" ELSE "NONE"
        ELSE IF ~HasEnd(commit) THEN "INVALID_TXN_STATE"
        ELSE IF Preparing THEN "CONCURRENT_TRANSACTIONS" ELSE "NONE"

DecideEndTxn(i, commit) ==
    IF Rule = "kip_360" THEN DecideEndTxnAsProposed(instances[i].id, instances[i].epoch, commit)
    ELSE DecideEndTxnAsShipped(instances[i].id, instances[i].epoch, commit)

\* The answer NONE reaches its instance, which is in this state from then on.
TakeEndTxnAnswer(i, state) ==
    /\ instances' = [instances EXCEPT ![i] =
                         [state |-> state, id |-> AfterEndTxn(i).id, epoch |-> AfterEndTxn(i).epoch]]
    /\ IF TransactionVersion = 2 THEN ResetSequenceNumbers(i) ELSE UNCHANGED nextSequence

\* It does, or it is lost and asked for again.
AnswerEndTxn(i, commit, state) ==
    \/ TakeEndTxnAnswer(i, state)
    \/ /\ RepeatedEndTxns
       /\ instances' = [instances EXCEPT ![i].state = IF commit THEN "committing" ELSE "aborting"]
       /\ UNCHANGED nextSequence

\* The producer commits or aborts. A failed one aborts and then needs an epoch; under transaction version 2 it has one.
EndTransaction(i, commit) ==
    \* enabling conditions
    /\ instances[i].state \in (IF commit THEN {"open"} ELSE {"open", "failed"})
    /\ Current(i)
    /\ Status = "Ongoing"
    \* state changes
    /\ Prepare(IF commit THEN "PrepareCommit" ELSE "PrepareAbort", PreparedEpoch,
               IF TransactionVersion = 2 THEN Epoch ELSE memory.lastEpoch, NextId(PreparedEpoch))
    /\ AnswerEndTxn(i, commit, IF instances[i].state = "failed" /\ TransactionVersion < 2 THEN "failing" ELSE "ready")
    /\ added' = [added EXCEPT ![i] = {}]
    /\ UNCHANGED <<partitionVars, networkVars>>

\* Under transaction version 2 a producer may abort although the coordinator lists no partition: none of its batches was
\* verified. That, too, takes an epoch, and no marker is due. (The proposal knows nothing of it.)
EndWithoutPartitions(i) ==
    \* enabling conditions
    /\ TransactionVersion = 2 /\ Rule = "shipped"
    /\ instances[i].state = "ready"
    /\ Current(i)
    /\ Closed
    \* state changes
    /\ Prepare("PrepareAbort", PreparedEpoch, Epoch, NextId(PreparedEpoch))
    /\ AnswerEndTxn(i, FALSE, "ready")
    /\ UNCHANGED <<partitionVars, networkVars, added>>

\* An EndTxn that ends nothing: it is sent again, or its producer has been fenced meanwhile. Only when it is answered
\* NONE does its producer change: under transaction version 2 it takes the epoch that it is given.
EndTxnAgain(i, commit) ==
    \* enabling conditions
    /\ RepeatedEndTxns
    /\ instances[i].state \in (IF commit THEN {"open", "committing"} ELSE {"open", "failed", "aborting"})
    /\ ~(Current(i) /\ Status = "Ongoing")
    \* state changes
    /\ IF DecideEndTxn(i, commit) # "NONE" THEN UNCHANGED instanceVars
       ELSE /\ TakeEndTxnAnswer(i, IF ~commit /\ TransactionVersion < 2 THEN "failing" ELSE "ready")
            /\ added' = [added EXCEPT ![i] = {}]
    /\ UNCHANGED <<coordinatorVars, partitionVars, networkVars>>

\* The status after the markers.
CompletedStatus == IF Status = "PrepareCommit" THEN "CompleteCommit" ELSE "CompleteAbort"

\* TransactionMetadata.prepareComplete: under transaction version 2 an exhausted producer id is replaced here.
PrepareComplete ==
    /\ IF memory.nextId = -1 THEN Write(CompletedStatus, Id, Epoch, memory.lastEpoch, -1)
       ELSE Write(CompletedStatus, memory.nextId, 0, memory.lastEpoch, -1)
    /\ transactionPartitions' = {}
    /\ pendingMarkers' = {}
    /\ UNCHANGED <<term, issuedIds, partitionVars, instanceVars, networkVars>>

\* Every marker is acknowledged.
Complete ==
    /\ Preparing
    /\ pendingMarkers = {}
    /\ PrepareComplete

\* The transactional id expires: its record is deleted.
Expire ==
    \* enabling conditions
    /\ IdsExpire
    /\ Known
    /\ Closed
    \* state changes
    /\ status' = Empty /\ producerId' = Empty /\ producerEpoch' = Empty
    /\ nextProducerId' = Empty /\ coordinatorEpoch' = Empty /\ transactionVersion' = Empty
    /\ memory' = [lastEpoch |-> -1, previousId |-> -1, nextId |-> -1]
    /\ UNCHANGED <<term, issuedIds, transactionPartitions, pendingMarkers, partitionVars, instanceVars, networkVars>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* The coordinator moves.                                                  *)
(***************************************************************************)

\* The marker of the prepared transaction for p.
Marker(p) ==
    [partition |-> p, id |-> Id, epoch |-> Epoch, type |-> IF Status = "PrepareCommit" THEN "COMMIT" ELSE "ABORT",
     coordinatorEpoch |-> term]

\* What a coordinator that loads the log knows.
Loaded ==
    [lastEpoch  |-> IF LastEpochInLog THEN memory.lastEpoch ELSE -1,
     previousId |-> IF NextIdInLog THEN memory.previousId ELSE -1,
     nextId     |-> IF Known /\ NextIdInLog THEN nextProducerId[TransactionalId] ELSE -1]

\* Another broker becomes the coordinator. It loads the log, and writes the markers of a prepared transaction again;
\* those that its predecessor had sent may arrive still.
Failover ==
    /\ term' = term + 1
    /\ memory' = Loaded
    /\ pendingMarkers' = IF Preparing THEN transactionPartitions ELSE {}
    /\ lateMarkers' = lateMarkers \cup {Marker(p) : p \in pendingMarkers}
    /\ UNCHANGED <<recordVars, transactionPartitions, issuedIds, partitionVars, instanceVars, requests, lateBatches>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Batches.                                                                *)
(***************************************************************************)

\* TransactionCoordinator.handleAddPartitionsToTransaction
DecideAddPartition(i) ==
    IF ~Known \/ instances[i].id # Id THEN "INVALID_PRODUCER_ID_MAPPING"
    ELSE IF instances[i].epoch # Epoch THEN "PRODUCER_FENCED"
    ELSE IF Preparing THEN "CONCURRENT_TRANSACTIONS"
    ELSE "NONE"

\* A partition is added to the transaction, which begins with the first: by the client, and under transaction version
\* 2 by the partition's broker when a batch arrives.
AddPartition(i, p) ==
    \* enabling conditions
    /\ instances[i].state \in {"ready", "open"}
    /\ p \notin added[i]
    /\ DecideAddPartition(i) = "NONE"
    \* state changes
    /\ Write("Ongoing", Id, Epoch, memory.lastEpoch, -1)
    /\ transactionPartitions' = transactionPartitions \cup {p}
    /\ instances' = [instances EXCEPT ![i].state = "open"]
    /\ added' = [added EXCEPT ![i] = @ \cup {p}]
    /\ UNCHANGED <<term, pendingMarkers, issuedIds, partitionVars, nextSequence, networkVars>>

\* It is not: its producer has been fenced, or the transaction before is ending.
AddPartitionRefused(i, p) ==
    \* enabling conditions
    /\ RepeatedEndTxns
    /\ instances[i].state \in {"ready", "open"}
    /\ p \notin added[i]
    /\ DecideAddPartition(i) # "NONE"
    \* state changes
    /\ UNCHANGED vars

\* The epoch and sequence of a batch against what the partition remembers.
InSequence(b) ==
    IF Remembers(b.partition, b.id) THEN Follows(b) ELSE ResetsSequences \/ TransactionVersion = 2 => b.first = 0

\* A transaction is open in the partition, or the coordinator has just let it be opened.
Verified(b) ==
    \/ ~Verification
    \/ Remembers(b.partition, b.id) /\ currentTxnFirstOffset[b.partition][b.id] # -1
    \/ Lists(b.partition, b.id, b.epoch) /\ Status = "Ongoing"

Accepts(b) == InSequence(b) /\ Verified(b)

\* A batch that is appended when the coordinator was asked before.
AcceptsGuarded(b) ==
    /\ InSequence(b)
    /\ \/ Remembers(b.partition, b.id) /\ currentTxnFirstOffset[b.partition][b.id] # -1
       \/ b \in guards

\* ProducerStateManager.clearVerificationStateEntry: the producer has a batch or a marker in the partition.
ClearVerificationStateEntry(p, id) == guards' = {b \in guards : b.partition # p \/ b.id # id}

Append(b) ==
    LET open == Before(currentTxnFirstOffset, b.partition, b.id)
    IN  /\ AppendBatch(b, IF open = -1 THEN logEnd[b.partition] ELSE open)
        /\ ClearVerificationStateEntry(b.partition, b.id)

\* The next batch of i for p.
Batch(i, p, size) ==
    [partition |-> p, id |-> instances[i].id, epoch |-> instances[i].epoch, first |-> nextSequence[i][p],
     last |-> Advanced(nextSequence[i][p], size - 1)]

\* A batch is sent and appended. A fenced instance goes on sending for as long as it believes in its transaction.
Produce(i, p, size) ==
    \* enabling conditions
    /\ instances[i].state = "open"
    /\ p \in added[i]
    /\ Accepts(Batch(i, p, size))
    \* state changes
    /\ Append(Batch(i, p, size))
    /\ nextSequence' = [nextSequence EXCEPT ![i][p] = Advanced(@, size)]
    /\ UNCHANGED <<coordinatorVars, instances, added, networkVars>>

\* A batch is sent, and its producer waits in vain. The transaction can only be aborted.
GiveUpBatch(i, p, size) ==
    \* enabling conditions
    /\ LateBatches
    /\ instances[i].state = "open"
    /\ p \in added[i]
    \* state changes
    /\ lateBatches' = lateBatches \cup {Batch(i, p, size)}
    /\ instances' = [instances EXCEPT ![i].state = "failed"]
    /\ nextSequence' = [nextSequence EXCEPT ![i][p] = Advanced(@, size)]
    /\ UNCHANGED <<coordinatorVars, partitionVars, added, requests, lateMarkers>>

\* It arrives after all, and the partition asks the coordinator for it.
Verify(b) ==
    \* enabling conditions
    /\ VerifiedBefore
    /\ b \in lateBatches \ guards
    /\ Verified(b)
    \* state changes
    /\ guards' = guards \cup {b}
    /\ UNCHANGED <<coordinatorVars, logVars, remembered, instanceVars, networkVars>>

\* It is appended. What is refused changes nothing.
ArriveLate(b) ==
    \* enabling conditions
    /\ b \in lateBatches
    /\ IF VerifiedBefore THEN AcceptsGuarded(b) ELSE Accepts(b)
    \* state changes
    /\ Append(b)
    /\ lateBatches' = lateBatches \ {b}
    /\ UNCHANGED <<coordinatorVars, instanceVars, requests, lateMarkers>>

\* The partition forgets a producer that has no open transaction.
Forget(p, id) ==
    \* enabling conditions
    /\ ~KeepsState
    /\ Remembers(p, id)
    /\ currentTxnFirstOffset[p][id] = -1
    \* state changes
    /\ remembered' = [remembered EXCEPT ![p] = @ \ {id}]
    /\ UNCHANGED <<coordinatorVars, logVars, guards, instanceVars, networkVars>>

\* UNKNOWN_PRODUCER_ID: an old client begins again at sequence 0.
ResetSequence(i, p) ==
    \* enabling conditions
    /\ ResetsSequences
    /\ instances[i].state = "open"
    /\ ~Remembers(p, instances[i].id)
    /\ nextSequence[i][p] # 0
    \* state changes
    /\ nextSequence' = [nextSequence EXCEPT ![i][p] = 0]
    /\ UNCHANGED <<coordinatorVars, partitionVars, instances, added, networkVars>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Markers.                                                                *)
(***************************************************************************)

\* A coordinator that was replaced is refused, and so is an epoch that has passed. Under transaction version 2 the
\* marker has an epoch above the batches'; at the same epoch it is one that was written already (KAFKA-19999). Brokers
\* before 4.2 let the same epoch pass (StrictMarkers).
AcceptsMarker(m) ==
    Remembers(m.partition, m.id) =>
        LET epoch == appendedEpoch[m.partition][m.id]
            open  == currentTxnFirstOffset[m.partition][m.id] # -1
        IN  /\ m.coordinatorEpoch >= markerCoordinatorEpoch[m.partition][m.id]
            /\ IF TransactionVersion = 2 /\ StrictMarkers THEN m.epoch > epoch \/ (m.epoch = epoch /\ ~open) ELSE m.epoch >= epoch

AppendMarker(m) ==
    LET p == m.partition
        raised == Before(appendedEpoch, p, m.id) # m.epoch
    IN  /\ appendedEpoch' = Set(appendedEpoch, p, m.id, m.epoch)
        /\ firstSequence' = Set(firstSequence, p, m.id, IF raised THEN -1 ELSE firstSequence[p][m.id])
        /\ lastSequence' = Set(lastSequence, p, m.id, IF raised THEN -1 ELSE lastSequence[p][m.id])
        /\ lastOffset' = Set(lastOffset, p, m.id, logEnd[p])
        /\ newestIsMarker' = Set(newestIsMarker, p, m.id, TRUE)
        /\ markerCoordinatorEpoch' = Set(markerCoordinatorEpoch, p, m.id, m.coordinatorEpoch)
        /\ currentTxnFirstOffset' = Set(currentTxnFirstOffset, p, m.id, -1)
        /\ logEnd' = [logEnd EXCEPT ![p] = @ + 1]
        /\ remembered' = [remembered EXCEPT ![p] = @ \cup {m.id}]
        /\ ClearVerificationStateEntry(p, m.id)

\* The coordinator writes the marker to one of the partitions.
WriteMarker(p) ==
    \* enabling conditions
    /\ Preparing
    /\ p \in pendingMarkers
    /\ AcceptsMarker(Marker(p))
    \* state changes
    /\ AppendMarker(Marker(p))
    /\ pendingMarkers' = pendingMarkers \ {p}
    /\ lateMarkers' \in {lateMarkers} \cup (IF RepeatedMarkers THEN {lateMarkers \cup {Marker(p)}} ELSE {})
    /\ UNCHANGED <<recordVars, term, memory, transactionPartitions, issuedIds, instanceVars, requests, lateBatches>>

\* A marker of a coordinator that was replaced arrives, or a second copy. What is refused changes nothing.
LateMarker(m) ==
    \* enabling conditions
    /\ m \in lateMarkers
    /\ AcceptsMarker(m)
    \* state changes
    /\ AppendMarker(m)
    /\ lateMarkers' = lateMarkers \ {m}
    /\ UNCHANGED <<coordinatorVars, instanceVars, requests, lateBatches>>

-----------------------------------------------------------------------------

\* What a coordinator is asked, and answers.
HandleInitProducerId(q) ==
    \/ GrantNewEpoch(q)
    \/ GrantSameEpoch(q)
    \/ Refuse(q)
    \/ LetWait(q)
    \/ AbortForInit(q)

HandleEndTxn(i, commit) ==
    \/ EndTransaction(i, commit)
    \/ ~commit /\ EndWithoutPartitions(i)
    \/ EndTxnAgain(i, commit)

HandleAddPartitionToTxn(i, p) == AddPartition(i, p) \/ AddPartitionRefused(i, p)

InstanceStep ==
    \E i \in Instances :
        \/ Start(i)
        \/ AskForBump(i)
        \/ \E p \in Partitions :
            \/ ResetSequence(i, p)
            \/ \E size \in BatchSizes : Produce(i, p, size) \/ GiveUpBatch(i, p, size)

PartitionStep ==
    \/ \E p \in Partitions : \E id \in remembered[p] : Forget(p, id)
    \/ \E b \in lateBatches : Verify(b) \/ ArriveLate(b)

Next ==
    \/ \E q \in requests : HandleInitProducerId(q)
    \/ \E i \in Instances :
        \/ \E commit \in BOOLEAN : HandleEndTxn(i, commit)
        \/ \E p \in Partitions : HandleAddPartitionToTxn(i, p)
    \/ \E p \in Partitions : WriteMarker(p)
    \/ \E m \in lateMarkers : LateMarker(m)
    \/ TimeOut
    \/ Complete
    \/ Expire
    \/ Failover
    \/ InstanceStep
    \/ PartitionStep

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(***************************************************************************)
(* The types above, for TLC.                                               *)
(***************************************************************************)

TypeOK ==
    /\ \A f \in {DOMAIN producerId, DOMAIN producerEpoch, DOMAIN nextProducerId, DOMAIN coordinatorEpoch,
                 DOMAIN transactionVersion} : f = DOMAIN status
    /\ Status \in {"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"}
    /\ Epoch \in -1..MaxEpoch
    /\ Id \in -1..issuedIds
    /\ pendingMarkers \subseteq transactionPartitions /\ transactionPartitions \subseteq Partitions
    /\ Closed => transactionPartitions = {}
    /\ Status = "Ongoing" => transactionPartitions # {}
    /\ \A i \in Instances :
        /\ instances[i].state \in {"new", "waiting", "ready", "open", "failed", "committing", "aborting", "failing",
                                   "fenced"}
        /\ instances[i].epoch <= MaxEpoch
        /\ added[i] # {} => instances[i].state \in {"open", "failed"}
    /\ \A p \in Partitions :
        /\ remembered[p] \subseteq DOMAIN appendedEpoch[p]
        /\ \A f \in {DOMAIN firstSequence[p], DOMAIN lastSequence[p], DOMAIN lastOffset[p], DOMAIN newestIsMarker[p],
                     DOMAIN markerCoordinatorEpoch[p], DOMAIN currentTxnFirstOffset[p]} : f = DOMAIN appendedEpoch[p]
        /\ \A id \in DOMAIN appendedEpoch[p] : lastOffset[p][id] < logEnd[p]

=============================================================================

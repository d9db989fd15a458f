-------------------------- MODULE ProducerEpochReach --------------------------
(***************************************************************************)
(* What must be reachable, so that no marked definition holds only because *)
(* the situation it speaks of never comes up. Each definition here claims  *)
(* that the situation is impossible; TLC must refute every one of them on  *)
(* the healthy model.                                                      *)
(***************************************************************************)
EXTENDS MCProducerEpoch

Both(f) == DOMAIN f \cap DOMAIN f'

\* No transaction is aborted.
SomethingAborts             == \E t \in Both(status) : status[t] = "Ongoing" /\ status'[t] = "PrepareAbort"
StatusTransitionsReach      == [][~SomethingAborts]_vars

\* No producer id is replaced.
IdIsReplaced                == \E t \in Both(producerId) : producerId'[t] # producerId[t]
ProducerEpochStepsReach     == [][~IdIsReplaced]_vars

\* No transaction that ends moves its epoch.
EndMovesTheEpoch ==
    \E t \in Both(status) :
        /\ status[t] = "Ongoing" /\ status'[t] \in {"PrepareCommit", "PrepareAbort"}
        /\ transactionVersion'[t] = 2 /\ producerEpoch'[t] > producerEpoch[t]
EndTxnBumpsEpochReach       == [][~EndMovesTheEpoch]_vars

\* No transaction ends at the last epoch.
NextProducerIdAtExhaustionReach ==
    ~\E t \in DOMAIN status :
        /\ status[t] \in {"PrepareCommit", "PrepareAbort"}
        /\ transactionVersion[t] = 2
        /\ producerEpoch[t] = MaxEpoch

\* The coordinator never moves.
CoordinatorEpochGrows           == \E t \in Both(coordinatorEpoch) : coordinatorEpoch'[t] > coordinatorEpoch[t]
CoordinatorEpochNeverFallsReach == [][~CoordinatorEpochGrows]_vars

\* No epoch is taken.
EpochHeadroomReach == ~\E t \in DOMAIN producerEpoch : producerEpoch[t] > 0

\* The coordinator never gives an epoch to a producer that presents one.
BrokerKeepsItsInitRuleReach == ~\E r \in initProducerIds : r.granted /\ Provided(r)

\* No producer that presents a stale epoch is given one.
StaleEpochNeverBumpedReach == ~\E r \in initProducerIds : Kip360Fenced(r) /\ r.granted

\* No producer ever presents a stale epoch.
NoStaleEpochGrantedReach == ~\E r \in initProducerIds : Kip360Fenced(r)

\* No retry is granted.
RetryReturnsTheSameEpochReach == ~\E r \in initProducerIds : Kip360SameEpoch(r) /\ r.granted

\* No producer presents the epoch that it had before its own last bump.
NoRetryFencedReach == ~\E r \in initProducerIds : Kip360SameEpoch(r)

\* No producer presents a stale epoch while a transaction is open.
NoStaleAbortReach == ~\E r \in initProducerIds : Kip360Fenced(r) /\ r.status = "Ongoing"

\* No EndTxn is sent again and accepted; none is sent by a producer that was fenced.
BrokerKeepsItsEndTxnRuleReach == ~\E e \in endTxns : e.error = "NONE" /\ ~SaysCurrent(e)
NoStaleEndGrantedReach        == ~\E e \in endTxns : Kip890EndTxn(e) = "PRODUCER_FENCED"

\* No EndTxn ends an open transaction.
TransactionEndedByItsProducerReach == ~\E e \in endTxns : e.error = "NONE" /\ e.status = "Ongoing"

\* No AddPartitionsToTxn is refused.
BrokerKeepsItsAddPartitionsRuleReach == ~\E a \in addPartitionsToTxns : a.error = "PRODUCER_FENCED"

\* No transaction is completed.
EveryMarkerIsWrittenReach == ~\E m \in transactionMarkers : m.completed

\* No marker is written.
MarkerOfTheRightTypeReach == ~\E m \in transactionMarkers : m.found >= 1 \/ m.wrong >= 1

\* No coordinator writes a marker again that its predecessor had written.
OneMarkerEachReach == ~\E m \in transactionMarkers : m.found >= 2

\* No marker is written by a later coordinator than the one that prepared the transaction.
MarkerCoordinatorEpochInOrderReach ==
    ~\E m \in transactionMarkers : m.found >= 1 /\ m.markerCoordinatorEpoch > m.coordinatorEpoch

\* The epoch of a producer in a partition never grows.
AppendedEpochGrows ==
    \E p \in DOMAIN appendedEpoch : \E k \in DOMAIN appendedEpoch[p] \cap DOMAIN appendedEpoch'[p] :
        appendedEpoch'[p][k] > appendedEpoch[p][k]
NoWriteAfterFenceReach == [][~AppendedEpochGrows]_vars

\* No epoch but the first has a batch.
BatchOfALaterEpoch ==
    \E p \in DOMAIN appendedEpoch : \E k \in DOMAIN appendedEpoch[p] \cap DOMAIN appendedEpoch'[p] :
        /\ Appends(p, k)
        /\ appendedEpoch'[p][k] > appendedEpoch[p][k] \/ lastSequence[p][k] = -1
NewEpochStartsAtSequenceZeroReach == [][~BatchOfALaterEpoch]_vars

\* No batch follows another in an epoch.
BatchFollows ==
    \E p \in DOMAIN appendedEpoch : \E k \in DOMAIN appendedEpoch[p] \cap DOMAIN appendedEpoch'[p] :
        FollowsABatch(p, k)
NoSequenceGapReach == [][~BatchFollows]_vars

\* No batch follows one that used the largest sequence.
SequenceGoesRound ==
    \E p \in DOMAIN appendedEpoch : \E k \in DOMAIN appendedEpoch[p] \cap DOMAIN appendedEpoch'[p] :
        FollowsABatch(p, k) /\ firstSequence'[p][k] <= lastSequence[p][k]
NoSequenceResetReach == [][~SequenceGoesRound]_vars

\* No marker of a later coordinator comes to a producer that has one of an earlier.
MarkerCoordinatorEpochGrows ==
    \E p \in DOMAIN appendedEpoch : \E k \in DOMAIN appendedEpoch[p] \cap DOMAIN appendedEpoch'[p] :
        0 <= markerCoordinatorEpoch[p][k] /\ markerCoordinatorEpoch[p][k] < markerCoordinatorEpoch'[p][k]
MarkerCoordinatorEpochNeverFallsReach == [][~MarkerCoordinatorEpochGrows]_vars

\* No transaction is open in a partition, none ends there, none ends aborted.
NoDanglingTransactionReach         == ~\E x \in partitionTransactions : x.open
NoWriteOutsideTransactionReach     == ~\E x \in partitionTransactions : ~x.open
AbortedTransactionsAreIndexedReach == ~\E x \in partitionTransactions : ~x.open /\ x.aborted

\* No snapshot has a producer.
ProducerStateIsKeptReach == ~\E s \in producerSnapshots : s.due

\* No producer gives itself an epoch. (Here none does, see MCIdempotentProducer.)
NoRecordsWrittenTwiceReach == localBumps = {}

=============================================================================

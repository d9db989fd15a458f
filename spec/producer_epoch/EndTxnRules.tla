---------------------------- MODULE EndTxnRules -----------------------------
(***************************************************************************)
(* How EndTxn and AddPartitionsToTxn are decided: as KIP-890 proposed, and *)
(* as brokers do it; and what must hold of what was answered. A request    *)
(* carries the state it met; each rule gives the error that it is          *)
(* answered, NONE when it is accepted.                                     *)
(***************************************************************************)
EXTENDS ProducerEpochObserved

\* From version 5 on, transaction version 2, EndTxn moves the epoch and its answer has the next one.
MovesEpoch(e) == e.apiVersion >= 5

\* The producer id and epoch of a request are the current ones.
SaysCurrent(e) == e.providedId = e.producerId /\ e.providedEpoch = e.producerEpoch

\* The transaction has the end that is asked for, or is about to have it.
EndsAlike(e) ==
    \/ e.commit /\ e.status \in {"PrepareCommit", "CompleteCommit"}
    \/ ~e.commit /\ e.status \in {"PrepareAbort", "CompleteAbort"}

Preparation(e) == e.status \in {"PrepareCommit", "PrepareAbort"}
Completion(e)  == e.status \in {"CompleteCommit", "CompleteAbort"}

\* Versions 0 and 1 of both requests have no PRODUCER_FENCED.
Fencing(e) == IF e.apiVersion < 2 THEN "INVALID_PRODUCER_EPOCH" ELSE "PRODUCER_FENCED"

\* KIP-890 as proposed: EndTxn is for the current producer of an open transaction. A producer that presents the epoch
\* from before its own last end of a transaction, and asks for the same end, asks again: it is given the current epoch
\* (transaction version 2). Before, the epoch does not move, and the end of the transaction may be asked for again.
\*
\* Where it does not hold: no broker decides by it. The proposal speaks of a last epoch and does not say whether an end
\* that the coordinator decided counts; here it is KIP-360's, which a fence forgets. It knows no abort of what never
\* began, which clients without AddPartitionsToTxn need (KAFKA-14563). It is unknown where no request line tells who
\* ended the transaction before.
\*
\* On call: nothing to do. Beside shipped_end_txn it tells a retry from a producer that was fenced.
\* @decision("kip_890_end_txn", "endTxns")
Kip890EndTxn(e) ==
    IF ~e.known \/ ~(e.providedId = e.producerId \/ (e.providedId = e.previousId /\ Exhausted(e.providedEpoch)))
    THEN "INVALID_PRODUCER_ID_MAPPING"
    ELSE IF SaysCurrent(e)
    THEN IF e.status = "Ongoing" THEN "NONE"
         ELSE IF ~EndsAlike(e) THEN "INVALID_TXN_STATE"
         ELSE IF Preparation(e) THEN "CONCURRENT_TRANSACTIONS"
         ELSE "NONE"
    ELSE IF ~MovesEpoch(e) \/ e.providedEpoch # e.lastEpoch \/ e.status \in {"Empty", "Ongoing"} THEN Fencing(e)
    ELSE IF EndsAlike(e) THEN "NONE"
    ELSE "INVALID_TXN_STATE"

\* The epoch before the current one, also where the producer id was replaced in between.
SaysTheEpochBefore(e) ==
    \/ e.providedId = e.producerId /\ e.providedEpoch + 1 = e.producerEpoch
    \/ e.providedId = e.previousIdHeld /\ e.providedEpoch = MaxEpoch - 1 /\ e.producerEpoch = 0

\* The coordinator compares epochs by the status: under transaction version 2 the one before may ask again how a
\* transaction ends, whoever ended it.
PassesEpochCheck(e) ==
    \/ SaysCurrent(e) /\ ~(MovesEpoch(e) /\ Preparation(e))
    \/ MovesEpoch(e) /\ SaysTheEpochBefore(e) /\ (Preparation(e) \/ Completion(e))

\* As shipped: EndTxn is for the current epoch of an open transaction, strictly before transaction version 2. There the
\* epoch before the current one is let through as a retry when the transaction is ending or has ended: the same end is
\* answered with the current epoch. A producer with the current epoch may abort when nothing is open; that takes an epoch.
\*
\* Where it does not hold: the coordinator may answer CONCURRENT_TRANSACTIONS instead, at any time: it does so while an
\* earlier change of the same id is being written, and the log does not show when that began. Before 4.3 a new
\* coordinator forgets the producer id before the last rotation. KAFKA-20785 (merged in August 2026) answers a commit
\* that comes after the coordinator's own abort PRODUCER_FENCED, where releases up to 4.3 say INVALID_TXN_STATE.
\*
\* On call: INVALID_TXN_STATE is fatal in every client, and after a timeout it says no more than PRODUCER_FENCED: the
\* transaction was aborted. Start the producer again, and compare transaction.timeout.ms with how long its transactions
\* are. INVALID_TXN_STATE at the current epoch is a client that ends what it never began.
\* @decision("shipped_end_txn", "endTxns")
ShippedEndTxn(e) ==
    IF ~e.known \/ ~(e.providedId = e.producerId \/ (MovesEpoch(e) /\ SaysTheEpochBefore(e)))
    THEN "INVALID_PRODUCER_ID_MAPPING"
    ELSE IF ~PassesEpochCheck(e) THEN Fencing(e)
    ELSE IF e.status = "Ongoing" THEN "NONE"
    ELSE IF MovesEpoch(e) /\ SaysCurrent(e) THEN IF e.commit THEN "INVALID_TXN_STATE" ELSE "NONE"
    ELSE IF ~EndsAlike(e) THEN "INVALID_TXN_STATE"
    ELSE IF Preparation(e) THEN "CONCURRENT_TRANSACTIONS"
    ELSE "NONE"

\* As shipped, and as proposed: a partition is added by the current producer, unless its transaction is ending. A
\* verification (KIP-890) adds nothing: it asks whether the transaction has the partition already.
\*
\* Where it does not hold: CONCURRENT_TRANSACTIONS may come at any time, as for shipped_end_txn. 3.6 and 3.7 answer
\* INVALID_TXN_STATE where later releases say TRANSACTION_ABORTABLE. Topics that do not exist and missing rights are
\* answered before the coordinator is asked, and the request's other partitions OPERATION_NOT_ATTEMPTED. No decision of a
\* proposal stands beside this one, because none has another rule: KIP-360 moves epochs by InitProducerId alone and leaves
\* this request as it was, and what KIP-890 proposes for it, the verification, is what brokers do.
\*
\* On call: PRODUCER_FENCED to a broker (AddPartitionsManager-client) is a fenced producer that still writes.
\* TRANSACTION_ABORTABLE is a batch that came after its transaction, or a client that did not add the partition: refused,
\* as it should be.
\* @decision("shipped_add_partitions_to_txn", "addPartitionsToTxns")
ShippedAddPartitionsToTxn(a) ==
    IF ~a.known \/ a.providedId # a.producerId THEN "INVALID_PRODUCER_ID_MAPPING"
    ELSE IF a.providedEpoch # a.producerEpoch THEN Fencing(a)
    ELSE IF Preparation(a) THEN "CONCURRENT_TRANSACTIONS"
    ELSE IF a.verifyOnly /\ ~a.listed THEN "TRANSACTION_ABORTABLE"
    ELSE "NONE"

(***************************************************************************)
(* EndTxn and AddPartitionsToTxn: what was answered.                       *)
(***************************************************************************)

\* The producer id and epoch in the answer are those that the shipped rule gives: the next epoch, at the last one another
\* producer id at 0; of a retry the current ones.
GivesTheRightEpoch(e) ==
    IF SaysTheEpochBefore(e) THEN e.returnedId = e.producerId /\ e.returnedEpoch = e.producerEpoch
    ELSE IF Exhausted(e.producerEpoch) THEN e.returnedId # e.producerId /\ e.returnedEpoch = 0
    ELSE e.returnedId = e.producerId /\ e.returnedEpoch = e.producerEpoch + 1

\* Wherever the coordinator accepted or refused an EndTxn, it did what the shipped rule says about the state that the
\* request met, and gave the epoch that follows. It checks the broker, and equally this specification and the state that
\* was rebuilt.
\*
\* Where it does not hold: CONCURRENT_TRANSACTIONS is right at any time. Errors of other kinds (coordinator loading,
\* authorization) are not judged. If its record is not found, or the one before was not replicated in time, a request may
\* have met several states: it is violated only if it is in each. A commit that comes after the coordinator's own abort
\* may be answered as up to 4.3 or as after KAFKA-20785. 4.0.0 gives a fenced producer's epoch twice (KAFKA-19367).
\*
\* On call: first doubt the evidence: clocks (request log against records), a coordinator move in that second, a
\* request line without its record. `fencepost explain VERDICT_ID` shows the request, the answer and the state. If it
\* stands, a transaction was ended for the wrong producer, or refused to the right one: keep segments and request log,
\* look at the markers of that transaction in fct_transactions, and report it with both.
\* @violated("a coordinator decided an EndTxn against its own rule")
\* @invariant("broker_keeps_its_end_txn_rule", "critical", "request")
BrokerKeepsItsEndTxnRule ==
    \A e \in endTxns :
        e.error \in {"NONE", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING",
                    "INVALID_TXN_STATE"} =>
            /\ \/ e.error = ShippedEndTxn(e)
               \/ /\ e.error = "PRODUCER_FENCED"
                  /\ e.commit /\ e.status = "CompleteAbort"
                  /\ MovesEpoch(e) /\ SaysTheEpochBefore(e)
            /\ e.error = "NONE" /\ MovesEpoch(e) => GivesTheRightEpoch(e)

\* A producer whose transaction somebody else has ended is fenced, and its EndTxn is given no epoch.
\*
\* Where it does not hold: under transaction version 2 the coordinator takes the epoch before the current one for a retry,
\* also where it has aborted the transaction on its own: after a timeout, or for a new instance. The old one's abort is
\* answered with the current epoch (MCProducerEpoch_4_3_version_2_end_granted). That epoch was nobody's, as in
\* no_stale_epoch_granted. Where it is not known who ended the transaction it is unknown.
\*
\* On call: after a timeout nothing is lost: the producer wanted to abort, and goes on. If a new instance was under way,
\* the one before may begin another transaction and even commit it, until the new one asks again: look in
\* fct_transactions for one at that epoch. Give each instance a transactional.id of its own.
\* @violated("a producer whose transaction somebody else ended was given an epoch")
\* @invariant("no_stale_end_granted", "info", "request")
NoStaleEndGranted ==
    \A e \in endTxns : Kip890EndTxn(e) \in {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"} => e.error # "NONE"

\* An EndTxn that ended an open transaction was sent by the client that was given the producer id and epoch in it. Another
\* client has them from elsewhere: Flink and others store both in their checkpoints, and a recovered job ends with them what
\* its predecessor left open. The coordinator compares id and epoch only, and accepts it. It breaks no rule of Kafka's.
\*
\* Where it does not hold: wherever recovery is made so, on purpose. A client is told by its client.id, connection and
\* correlation ids: it is unknown (client_unknown) if the line of the request that was given the epoch is missing, and if
\* one client.id used two connections, which two processes do that share the name, unless the numbers tell. If one counter
\* numbers the requests of both and no number is missing in between, one process has reconnected. If both are of Java
\* clients, which use a number once, and have one in common, another process began to count anew. What the coordinator
\* aborts on its own, and what an operator ends with kafka-transactions.sh, has no EndTxn and is not judged.
\*
\* On call: look whether the writer was still at work. The verdict has the client that ended the transaction (client_id,
\* connection) and the one that was given the epoch (given_client_id, given_connection). fct_transactions shows the
\* transaction with is_ended_by_another; fct_fencing_events, and the lines of the writer's connection after this request,
\* show whether it went on. If it did, half of its records may have been committed, and the rest refused or in the next
\* transaction: compare them with what the application was to write. See that a job is stopped before its successor
\* recovers, and that two jobs never share a transactional id prefix. If the writer was gone, nothing is wrong.
\* @violated("a transaction was ended by another client than its own")
\* @invariant("transaction_ended_by_its_producer", "info", "request")
TransactionEndedByItsProducer == \A e \in endTxns : e.error = "NONE" /\ e.status = "Ongoing" => ~e.byAnother

\* Wherever the coordinator let a producer add a partition, verified one, or refused to, it did what the shipped rule says
\* about the state that the request met. What is let through here is a write of the current transaction.
\*
\* Where it does not hold: CONCURRENT_TRANSACTIONS is right at any time. Errors of other kinds are not judged. A request
\* whose record is not found met one of several states: it is violated only if it is in every one of them. It is unknown
\* (several_states) where other requests moved the id within clock.tolerance_ms before it, on other connections: as when a
\* client adds partitions on one connection and writes on another, or is refused within milliseconds of the one that fenced
\* it. A lower tolerance settles that, if brokers write their request logs without delay. Where compaction has been over the
\* coordinator's log (cleaned_away) only that log as it was before settles it: capture more often than the log cleaner comes.
\* The producer id before an exhausted one, and the epoch before a bump, are only in the coordinator's memory: nothing settles
\* these.
\*
\* On call: first doubt the evidence, as for broker_keeps_its_end_txn_rule. If it stands, a partition may have taken a
\* batch of a fenced producer, or of a transaction that is over: look for the partition among dangling transactions
\* (no_dangling_transaction) and batches outside of theirs (no_write_outside_transaction), and report it.
\* @violated("a coordinator decided about a partition of a transaction against its own rule")
\* @invariant("broker_keeps_its_add_partitions_rule", "critical", "request")
BrokerKeepsItsAddPartitionsRule ==
    \A a \in addPartitionsToTxns :
        a.error \in {"NONE", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING",
                    "TRANSACTION_ABORTABLE"} =>
            a.error = ShippedAddPartitionsToTxn(a)

=============================================================================

------------------------ MODULE ProducerEpochProps ------------------------
(***************************************************************************)
(* What must hold of producer epochs, and how InitProducerId and the end   *)
(* of a transaction are decided as KIP-360 and KIP-890 proposed and as     *)
(* brokers do it.                                                          *)
(*                                                                         *)
(* TLC checks these definitions on the behaviours of ProducerEpoch;        *)
(* tlasql compiles the same text to SQL and runs it over the history that  *)
(* was rebuilt from a cluster's logs. A comment before a marked definition *)
(* says what it means, where it does not hold, and what the person on call *)
(* should do when it is violated.                                          *)
(*                                                                         *)
(* An epoch moves when somebody takes the transactional id over: a new     *)
(* instance of the producer, the coordinator at a timeout, the producer    *)
(* itself after an error or, under transaction version 2, at the end of    *)
(* every transaction. Whoever still writes at the old epoch is fenced. A   *)
(* producer id that has used up its epochs is replaced by another.         *)
(***************************************************************************)
EXTENDS ProducerEpochObserved

(***************************************************************************)
(* InitProducerId. A request r carries the state it met at the             *)
(* coordinator. By each rule it gets a new epoch (of the same producer id  *)
(* or of a new one), the current epoch once more, or an error.             *)
(***************************************************************************)

\* The request presents the producer id and epoch of its producer. A new instance presents none.
Provided(r) == r.providedId # -1

\* KIP-360: it presents the current producer id, or the one before with its last epoch.
NamesTheProducer(r) ==
    \/ r.providedId = r.producerId
    \/ r.providedId = r.previousId /\ Exhausted(r.providedEpoch)

\* KIP-360 as proposed: a new epoch is given to a new instance, which presents none, to a transactional id that the
\* coordinator does not know (any more), and to a producer that presents the current epoch. An exhausted producer id is
\* replaced by a new one at epoch 0; that is a new epoch, too.
\*
\* Where it does not hold: no broker decides by it. The proposal does not say what becomes of an open transaction; here
\* it decides who may ask for a new epoch, whatever the status. Taken by its words it compares an exhausted epoch of
\* the producer id before with that of the current one, and grants it when that is exhausted, too
\* (MCProducerEpoch_kip_360_exhausted_again). Where the log begins in the middle it is unknown whether the id was known.
\*
\* On call: nothing to do. Beside shipped_fenced it shows that the proposal would have let this producer go on.
\* @decision("kip_360_new_epoch", "initProducerIds")
Kip360NewEpoch(r) ==
    \/ ~r.known
    \/ ~Provided(r)
    \/ NamesTheProducer(r) /\ r.providedEpoch = r.producerEpoch

\* KIP-360 as proposed: a producer that presents the epoch from before its own last bump asks again for what it was
\* given already. It gets the current epoch, and nothing moves: the retry is safe. The proposal keeps that last epoch,
\* and the producer id before the last exhausted one, in the log, so that a new coordinator knows them.
\*
\* Where it does not hold: no broker has the last epoch in its log (up to 4.4.0); the state judged here follows from
\* the records and from who asked for each bump. It is unknown where no request line tells who asked. A producer that
\* comes back after its transactional id expired is new, and its retry is none (MCProducerEpoch_kip_360_expired_retry).
\*
\* On call: nothing to do by itself. Beside shipped_fenced it is a producer that was fenced by its own retry
\* (no_retry_fenced).
\* @decision("kip_360_same_epoch", "initProducerIds")
Kip360SameEpoch(r) ==
    /\ r.known
    /\ Provided(r)
    /\ NamesTheProducer(r)
    /\ r.providedEpoch # r.producerEpoch
    /\ r.providedEpoch = r.lastEpoch

\* KIP-360 as proposed: every other epoch is refused (INVALID_PRODUCER_EPOCH). Somebody else has had the transactional
\* id since, and this producer is a zombie; so it is when another producer id has taken its place.
\*
\* Where it does not hold: brokers answer PRODUCER_FENCED where the proposal says INVALID_PRODUCER_EPOCH. Where the last
\* epoch is not known an epoch that has passed is neither refused nor accepted: unknown.
\*
\* On call: a producer that is refused here has to end. `kafka-transactions.sh --bootstrap-server ... describe
\* --transactional-id T` shows who has the id now; the epoch timeline of the report shows who took it. Two live
\* instances with one transactional.id fence each other for ever: give each its own.
\* @decision("kip_360_fenced", "initProducerIds")
Kip360Fenced(r) ==
    /\ r.known
    /\ Provided(r)
    /\ \/ ~NamesTheProducer(r)
       \/ r.providedEpoch # r.producerEpoch /\ r.providedEpoch # r.lastEpoch

\* What the coordinator has in memory lets the request through to the decision by status. It compares producer ids; of
\* epochs only that one of the producer id before must be exhausted.
PassesIdCheck(r) ==
    \/ ~Provided(r)
    \/ r.producerEpoch = -1
    \/ r.providedId = r.producerId
    \/ r.providedId = r.previousIdHeld /\ Exhausted(r.providedEpoch)

\* No transaction is open or about to end.
Settled(r) == r.status \in {"Empty", "CompleteCommit", "CompleteAbort"}

\* As shipped: between transactions a new epoch is given to a new instance, to an unknown transactional id and to a
\* producer that presents the current epoch. An exhausted producer id (epoch 32766 or 32767) is replaced by a new one.
\*
\* Where it does not hold: the coordinator may answer CONCURRENT_TRANSACTIONS instead, at any time: it does so while
\* an earlier change of the same id is being written, and the log does not show when that began. Before 4.3 a new
\* coordinator forgets the producer id before the last rotation. Two-phase commit (KIP-939) is not modelled.
\*
\* On call: nothing to do. Who is given new epochs, and how often, is in the epoch timeline of the report.
\* @decision("shipped_new_epoch", "initProducerIds")
ShippedNewEpoch(r) ==
    /\ PassesIdCheck(r)
    /\ Settled(r)
    /\ ~Provided(r) \/ r.producerEpoch = -1 \/ r.providedEpoch = r.producerEpoch

\* As shipped: between transactions the epoch before the last bump gets the current epoch once more, as long as the
\* coordinator that made the bump is still the coordinator: it has the last epoch in memory only. Under transaction
\* version 2 the coordinator's own abort of a transaction (a timeout, a new instance) counts as such a bump, too.
\*
\* Where it does not hold: a coordinator that loads the log knows no last epoch (KAFKA-20357; up to 4.4.0), and no
\* retry is accepted as one after a failover, nor at the last epoch (shipped_fails). The coordinator may answer
\* CONCURRENT_TRANSACTIONS instead.
\*
\* On call: nothing to do: a retry that ended well, or a producer that was timed out and goes on.
\* @decision("shipped_same_epoch", "initProducerIds")
ShippedSameEpoch(r) ==
    /\ PassesIdCheck(r)
    /\ Settled(r)
    /\ Provided(r)
    /\ r.producerEpoch # -1
    /\ ~Exhausted(r.producerEpoch)
    /\ r.providedEpoch # r.producerEpoch
    /\ r.providedEpoch = r.lastEpochHeld

\* As shipped: refused (PRODUCER_FENCED) are another producer id, whatever the status, and between transactions an
\* epoch that is neither the current one nor the last one that the coordinator remembers.
\*
\* Where it does not hold: while a transaction is open or ending no epoch is compared at all (no_stale_abort). After a
\* failover it refuses retries that are safe (no_retry_fenced).
\*
\* On call: the producer has to be started again; Kafka Streams and Kafka Connect do that by themselves. If
\* kip_360_same_epoch is true of the same request it fenced itself, by a retry across a move of the coordinator; look
\* for "Elected as the txn coordinator" just before. Otherwise another instance or a timeout took its id.
\* @decision("shipped_fenced", "initProducerIds")
ShippedFenced(r) ==
    \/ ~PassesIdCheck(r)
    \/ /\ Settled(r)
       /\ Provided(r)
       /\ r.producerEpoch # -1
       /\ ~Exhausted(r.producerEpoch)
       /\ r.providedEpoch # r.producerEpoch
       /\ r.providedEpoch # r.lastEpochHeld

\* As shipped: at the last epoch of a producer id (32766) only two producers get on: one that presents this epoch, and a
\* new instance, which presents none. Every other epoch meets an exception before it is compared, and is answered
\* UNKNOWN_SERVER_ERROR: a zombie's as well as the retry of the bump from 32765.
\*
\* Where it does not hold: the same answer has other causes as well, which no log tells. The coordinator may answer
\* CONCURRENT_TRANSACTIONS instead.
\*
\* On call: the producer has failed for good and has to be started again: a new instance is given a new producer id. If
\* kip_360_same_epoch is true of the same request nobody else had the id (no_retry_fenced).
\* @decision("shipped_fails", "initProducerIds")
ShippedFails(r) ==
    /\ PassesIdCheck(r)
    /\ Settled(r)
    /\ Provided(r)
    /\ r.producerEpoch # -1
    /\ Exhausted(r.producerEpoch)
    /\ r.providedEpoch # r.producerEpoch

\* As shipped: while a transaction is open the coordinator aborts it, at an epoch of its own, and answers
\* CONCURRENT_TRANSACTIONS; while one is ending it only answers so. The producer asks again until it is over.
\*
\* Where it does not hold: the same answer may come at any other time, from a change that is being written. The epoch
\* that the request presents is not looked at: a zombie aborts the transaction of its successor (no_stale_abort).
\*
\* On call: some of these at the start of an instance are how a predecessor's transaction is ended. If they go on for
\* longer than a minute, the markers do not get through: every_marker_is_written names the partitions that lack one.
\* @decision("shipped_waits", "initProducerIds")
ShippedWaits(r) == PassesIdCheck(r) /\ r.status \in {"Ongoing", "PrepareCommit", "PrepareAbort"}

(***************************************************************************)
(* EndTxn and AddPartitionsToTxn. A request carries the state it met; each *)
(* rule gives the error that it is answered, NONE when it is accepted.     *)
(***************************************************************************)

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
(* The coordinator's log: what may follow what.                            *)
(***************************************************************************)

\* The status of a transactional id moves as the table of TransactionState allows: Empty, Ongoing, PrepareCommit or
\* PrepareAbort, then CompleteCommit or CompleteAbort, and on to the next. A transaction that was prepared to commit
\* never ends aborted, nor the other way round.
\*
\* Where it does not hold: within one life of the transactional id only: when it expires
\* (transactional.id.expiration.ms) a tombstone ends it. Two records with one status are no step. Kafka has two more
\* words, Dead and PrepareEpochFence, which it never writes: a record with one would be a violation. A step across a
\* hole in the log is unknown.
\*
\* On call: the coordinator wrote what its own rules forbid, or records were lost between. Look for an unclean leader
\* election of that partition of __transaction_state; keep its segments. If a commit turned into an abort, readers
\* with read_committed lose records that the producer believes written: compare the markers of the partitions
\* (marker_of_the_right_type).
\* @step("status_transitions", "critical", "transactional_id")
StatusTransitions ==
    \A t \in DOMAIN status \cap DOMAIN status' :
        status'[t] # status[t] =>
            \/ status[t] \in {"CompleteCommit", "CompleteAbort"} /\ status'[t] = "Empty"
            \/ status[t] \in {"Empty", "CompleteCommit", "CompleteAbort"} /\ status'[t] = "Ongoing"
            \/ status[t] = "Ongoing" /\ status'[t] = "PrepareCommit"
            \/ status[t] \in {"Ongoing", "Empty", "CompleteCommit", "CompleteAbort"} /\ status'[t] = "PrepareAbort"
            \/ status[t] = "PrepareCommit" /\ status'[t] = "CompleteCommit"
            \/ status[t] = "PrepareAbort" /\ status'[t] = "CompleteAbort"

\* From one record of a transactional id to the next the epoch stays or grows by one; with another producer id it
\* starts at 0. So each epoch is issued once, and an older one can be told from a newer one.
\*
\* Where it does not hold: within one life of the transactional id only. A bump that failed to be written (KAFKA-9666)
\* leaves no record and no gap: the same epoch is issued again. 4.0.0 takes two epochs when it fences a producer
\* (KAFKA-19367), and skips one. A step across a hole in the log is unknown.
\*
\* On call: if the epoch fell, records of the coordinator were lost and two instances may have been given the same
\* epoch: neither is fenced, and both can write to one transaction. Stop both, check __transaction_state for an unclean
\* leader election, and start one. If it jumped, a record between is missing: see the evidence of that partition.
\* @step("producer_epoch_steps", "critical", "transactional_id")
ProducerEpochSteps ==
    \A t \in DOMAIN producerEpoch \cap DOMAIN producerEpoch' :
        /\ producerId'[t] = producerId[t] =>
               producerEpoch'[t] = producerEpoch[t] \/ producerEpoch'[t] = producerEpoch[t] + 1
        /\ producerId'[t] # producerId[t] => producerEpoch'[t] = 0

\* Under transaction version 2 (KIP-890) every transaction ends at an epoch of its own: Prepare is written one above
\* the epoch of the transaction, and Complete leaves it there or, where that was the last, goes on with the next
\* producer id at 0. A batch that was delayed past the end of its transaction is refused by its epoch.
\*
\* Where it does not hold: transactions of clients and brokers without transaction version 2 keep their epoch, and are
\* not judged. Brokers before 4.3 do not write the next producer id (KAFKA-20310); a rotation to any other id is
\* accepted where none is recorded. 4.0.0 takes two epochs for the end of a transaction whose producer it fences
\* (KAFKA-19367): each timeout violates this there, and does no harm.
\*
\* On call: late batches of the ended transaction can join the next one, and a committed transaction may then hold
\* records of an aborted one. Compare first_offset of the following transaction in these partitions with the marker
\* before it; keep the coordinator's segments, and report with the broker's version.
\* @step("end_txn_bumps_epoch", "critical", "transactional_id")
EndTxnBumpsEpoch ==
    \A t \in DOMAIN status \cap DOMAIN status' :
        /\ status'[t] # status[t]
        /\ transactionVersion'[t] = 2
        /\ status'[t] \in {"PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"}
        =>
            \/ /\ status'[t] \in {"PrepareCommit", "PrepareAbort"}
               /\ producerId'[t] = producerId[t]
               /\ producerEpoch'[t] = producerEpoch[t] + 1
            \/ /\ status'[t] \in {"CompleteCommit", "CompleteAbort"}
               /\ producerId'[t] = producerId[t]
               /\ producerEpoch'[t] = producerEpoch[t]
            \/ /\ status'[t] \in {"CompleteCommit", "CompleteAbort"}
               /\ producerId'[t] # producerId[t]
               /\ producerEpoch'[t] = 0
               /\ nextProducerId[t] = -1 \/ producerId'[t] = nextProducerId[t]

\* Under transaction version 2 a transaction that ends at the last epoch names the producer id that follows, and no
\* other does. A coordinator that takes over between Prepare and Complete then knows where to go on.
\*
\* Where it does not hold: 4.0 to 4.2 never write the next producer id (KAFKA-20310): each transaction that ends at
\* epoch 32767 violates this there. Transaction versions 0 and 1 rotate in InitProducerId and are not judged.
\*
\* On call: if the coordinator moves before this transaction is complete, or has ended it on its own (a timeout, a new
\* instance), the producer stays at epoch 32767 and can neither commit nor abort again. `kafka-transactions.sh
\* --bootstrap-server ... describe --transactional-id T`: if it shows epoch 32767 in CompleteCommit or CompleteAbort,
\* start the producer again; it is given a new producer id. Brokers of 4.3 or later do not need that.
\* @invariant("next_producer_id_at_exhaustion", "critical", "transactional_id")
NextProducerIdAtExhaustion ==
    \A t \in DOMAIN status :
        status[t] \in {"PrepareCommit", "PrepareAbort"} /\ transactionVersion[t] = 2 =>
            (nextProducerId[t] # -1 <=> producerEpoch[t] = MaxEpoch)

\* The coordinator epoch, the leader epoch of the partition of __transaction_state, never falls from one record of a
\* transactional id to the next. Models check it. It is no check of logs: a batch of an older leader that stands after
\* one of a newer counts as truncated, so no file could break it.
CoordinatorEpochNeverFalls ==
    \A t \in DOMAIN coordinatorEpoch \cap DOMAIN coordinatorEpoch' :
        coordinatorEpoch'[t] >= coordinatorEpoch[t]
CoordinatorEpochNeverFallsProp == [][CoordinatorEpochNeverFalls]_vars

\* At least a thousand epochs are left before the producer id is exhausted (at 32766). Exhaustion is no error: the
\* coordinator gives out a new producer id. But it is a path that is seldom taken, and brokers have failed on it.
\*
\* Where it does not hold: under transaction version 2 each transaction takes an epoch, so a producer of one
\* transaction a second comes here every nine hours, and passes. The thousand is this specification's choice.
\*
\* On call: on brokers of 4.3 or later nothing to do. Before, a coordinator that moves during the rotation forgets the
\* next producer id (KAFKA-20310): avoid restarting brokers while this lasts, or start the producer again at a quiet
\* moment until it has a new producer id. If the epoch grows without transactions, an instance is starting over and
\* over: see who bumped it in the epoch timeline.
\* @invariant("epoch_headroom", "warning", "transactional_id")
EpochHeadroom ==
    \A t \in DOMAIN producerEpoch : producerEpoch[t] + EpochReserve < MaxEpoch

(***************************************************************************)
(* InitProducerId: what was answered.                                      *)
(***************************************************************************)

\* Wherever the coordinator gave an epoch, or refused one as fenced, it did what the shipped rule says about the state
\* that the request met. It checks the broker, and equally this specification and the state that was rebuilt.
\*
\* Where it does not hold: CONCURRENT_TRANSACTIONS is right at any time, since the log does not show when a change of
\* the id began. A refused request met one of several states: it is violated only if it is in every one of them.
\* Errors of other kinds (coordinator loading, authorization) are not judged. Whether the coordinator still had the
\* last epoch and the previous producer id in memory follows from its own elections, and is unknown where they are.
\*
\* On call: first doubt the evidence: clocks (request log against records), a coordinator move in that second, a
\* request line without its record. `fencepost explain VERDICT_ID` shows the request, the answer and the state. If it
\* stands, the broker has a defect: keep segments and request log, report it with both.
\* @invariant("broker_keeps_its_init_rule", "critical", "request")
BrokerKeepsItsInitRule ==
    \A r \in initProducerIds : r.granted \/ r.fenced \/ r.busy =>
        /\ r.granted => ShippedNewEpoch(r) \/ ShippedSameEpoch(r)
        /\ r.fenced => ShippedFenced(r)

\* A producer whose epoch is neither the current one nor the one before its own last bump never moves the
\* epoch: it is given none, or the current one as it is. This is what the epoch in the request is for: a zombie that
\* asks for a new one must not fence its successor.
\*
\* Where it does not hold: a request without an epoch is a new instance's and always gets one; two instances with one
\* transactional id fence each other, and no rule can tell which should live. Where it is not known who asked for the
\* last bump, an epoch that has passed is unknown. That the current epoch is given at all is no_stale_epoch_granted.
\*
\* On call: the zombie has the transactional id, and the rightful producer is fenced by now (producer fencings in the
\* report name it). Stop the instance whose client_id and connection the verdict names; start the other again, and check
\* what the zombie committed since: transactions of that epoch in the report.
\* @invariant("stale_epoch_never_bumped", "critical", "request")
StaleEpochNeverBumped ==
    \A r \in initProducerIds : Kip360Fenced(r) /\ r.granted =>
        r.returnedId = r.producerId /\ r.returnedEpoch = r.producerEpoch

\* A producer whose epoch is neither the current one nor the one before its own last bump is given no
\* epoch: it was fenced, and stays so.
\*
\* Where it does not hold: under transaction version 2 the coordinator remembers the epoch of whoever it fences as if he
\* had asked for the bump. Who was timed out, or whose transaction a new instance has ended, is given the current epoch
\* when he presents his old one (MCProducerEpoch_4_3_version_2_stale_epoch_granted). That epoch was nobody's: a new instance
\* is given the one after it. Where it is not known who asked for the last bump it is unknown.
\*
\* On call: nothing is lost. After a timeout the producer goes on, and there is no successor. If a new instance was
\* under way, the one before may begin another transaction and even commit it, until the new one asks again: look in
\* fct_transactions for one between the two answers that it got. Give each instance a transactional.id of its own.
\* @invariant("no_stale_epoch_granted", "info", "request")
NoStaleEpochGranted == \A r \in initProducerIds : Kip360Fenced(r) => ~r.granted

\* A producer that asks again because it never got the answer is given the epoch that it was given before, and no
\* other. A further bump would fence whatever else the first answer reached.
\*
\* Where it does not hold: a new instance presents no epoch, and cannot be told from its own retry: each such request is a
\* new bump, and the client takes the newest. A retry that is refused is no_retry_fenced.
\*
\* On call: nothing is lost if the client took this answer. Find both requests of the client (same client_id, same
\* provided epoch) in the request log; if it used the epoch of the first, it is fenced by now and has to be started
\* again. Keep the lines, and report with the broker's version.
\* @invariant("retry_returns_the_same_epoch", "critical", "request")
RetryReturnsTheSameEpoch ==
    \A r \in initProducerIds : Kip360SameEpoch(r) /\ r.granted =>
        r.returnedId = r.producerId /\ r.returnedEpoch = r.producerEpoch

\* A producer that asks again for the epoch it was given already is not refused: nobody else has had the transactional
\* id since its own bump. KIP-360 keeps the last epoch in the log for this, "in the worst case, a retry may span
\* coordinator failover".
\*
\* Where it does not hold: brokers up to 4.4.0 keep the last epoch in memory only, and refuse the retry after the
\* coordinator moved (KAFKA-20357; MCProducerEpoch_4_3_version_1_retry_fenced). Before 4.3 they forget the exhausted producer
\* id, too (KAFKA-20310). Where epochs run out no move of the coordinator is needed: at 32766 the retry of the bump from
\* 32765 is answered UNKNOWN_SERVER_ERROR, and of a retry that reaches over to the next producer id only the first
\* succeeds (MCProducerEpoch_4_3_version_1_retry_at_the_last_epoch).
\*
\* On call: nobody took the id over: the producer fenced itself. Start it again (a fatal ProducerFencedException, or
\* KafkaException, in the client); Kafka Streams and Connect do that alone. Look for the coordinator's move before it
\* (partition of __transaction_state); frequent moves under load are what to avoid. At epoch 32766 it is over with that.
\* @invariant("no_retry_fenced", "warning", "request")
NoRetryFenced == \A r \in initProducerIds : Kip360SameEpoch(r) => ~r.fenced /\ ~r.failed

\* A producer that presents a stale epoch is refused at once, also while a transaction is open. If it were not, a zombie
\* would end the transaction of the producer that has replaced it.
\*
\* Where it does not hold: shipped brokers look at the epoch only between transactions. In Ongoing they abort the
\* current producer's transaction, whatever epoch of its producer id the request presents, and answer
\* CONCURRENT_TRANSACTIONS (MCProducerEpoch_4_3_version_1_stale_abort). The same answer without an abort comes while an
\* earlier change is being written: the status after the request tells.
\*
\* On call: the current producer's transaction was aborted and its epoch passed; it fails with a fatal fencing error
\* or, as Streams does, starts again and repeats its work: no record is lost or doubled for read_committed readers.
\* Stop the zombie named by client_id and connection, or it happens again with its next retry.
\* @invariant("no_stale_abort", "warning", "request")
NoStaleAbort == \A r \in initProducerIds : Kip360Fenced(r) /\ r.status = "Ongoing" => ~r.busy

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
\* @invariant("no_stale_end_granted", "info", "request")
NoStaleEndGranted ==
    \A e \in endTxns : Kip890EndTxn(e) \in {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"} => e.error # "NONE"

\* An EndTxn that ended an open transaction was sent by the client that was given the producer id and epoch in it. Another
\* client has them from elsewhere: Flink and others store both in their checkpoints, and a recovered job ends with them what
\* its predecessor left open. The coordinator compares id and epoch only, and accepts it. It breaks no rule of Kafka's.
\*
\* Where it does not hold: wherever recovery is made so, on purpose. A client is told by its client.id and connection: it is
\* unknown (client_unknown) if the line of the request that was given the epoch is missing, and if one client.id used two
\* connections, which one process does after a reconnect, and two processes do that share the name. A verdict that holds
\* says that the same connection did both. What the coordinator aborts on its own, and what an operator ends with
\* kafka-transactions.sh, has no EndTxn and is not judged.
\*
\* On call: look whether the writer was still at work. The verdict has the client that ended the transaction (client_id,
\* connection) and the one that was given the epoch (given_client_id, given_connection). fct_transactions shows the
\* transaction with is_ended_by_another; fct_fencing_events, and the lines of the writer's connection after this request,
\* show whether it went on. If it did, half of its records may have been committed, and the rest refused or in the next
\* transaction: compare them with what the application was to write. See that a job is stopped before its successor
\* recovers, and that two jobs never share a transactional id prefix. If the writer was gone, nothing is wrong.
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
\* @invariant("broker_keeps_its_add_partitions_rule", "critical", "request")
BrokerKeepsItsAddPartitionsRule ==
    \A a \in addPartitionsToTxns :
        a.error \in {"NONE", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING",
                    "TRANSACTION_ABORTABLE"} =>
            a.error = ShippedAddPartitionsToTxn(a)

(***************************************************************************)
(* Markers: how a transaction ends in its partitions. One record for each  *)
(* prepared transaction and partition that it lists.                       *)
(***************************************************************************)

\* When the coordinator has completed a transaction, each partition that it lists has a marker of it. A partition
\* without one holds the transaction open: its last stable offset stays, and readers with read_committed wait.
\*
\* Where it does not hold: a partition whose topic was deleted needs no marker; it has no log any more and is unknown.
\* So is a partition whose log is not captured at that place, or may have been captured before the marker was written.
\* 4.3.1 skips the marker of a partition that has no leader at that moment, and writes it never (KAFKA-20734). An unclean
\* election may remove one that was written.
\*
\* On call: read_committed consumers of this partition may stand still. `kafka-transactions.sh --bootstrap-server ...
\* describe-producers --topic T --partition P` shows CurrentTransactionStartOffset. If due_type in the verdict is COMMIT,
\* do not abort: readers would lose the records. Copy them first (fct_dangling_transactions has the command), and write
\* them again. If it is ABORT, end it with `kafka-transactions.sh abort --topic T --partition P --start-offset N`, but
\* only if fct_dangling_transactions has it: else the topic is gone, or the producer's next transaction has the
\* partition, and an abort would end that too. The marker of that one ends these records as well, as
\* no_write_outside_transaction then says: if due_type is COMMIT and that marker is an ABORT, write them again. Look in the
\* coordinator's server.log for "Couldn't find leader endpoint for partitions", and for an unclean election of the
\* partition at that time.
\* @invariant("every_marker_is_written", "critical", "marker")
EveryMarkerIsWritten == \A m \in transactionMarkers : m.completed => m.found >= 1

\* A prepared transaction ends in each partition as it was prepared: committed or aborted, alike in all of them. This
\* is what makes it a transaction.
\*
\* Where it does not hold: an operator who takes a live transaction for a hanging one and ends it by hand
\* (kafka-transactions.sh abort) writes a marker of its own; if the producer then ends it otherwise, this is violated and
\* true. So it is where a repeated marker of the transaction before ends this one (KAFKA-19446). Before transaction
\* version 2 all these markers have one epoch. It is unknown which of them was the operator's unless its coordinator
\* epoch is negative or the request log has its WriteTxnMarkers; a partition whose log is not captured there is unknown.
\*
\* On call: read_committed readers see a part of the transaction only. The verdict names the marker that was due
\* (marker_position) and the one of the other type (wrong_position, wrong_at), with the client that sent it if that is no
\* broker (wrong_client_id, and its address in wrong_connection). The records in question are the wrong_records from
\* wrong_first_offset to wrong_last_offset in this partition: after a wrong ABORT replay them, after a wrong COMMIT
\* compensate them. If no operator is the reason, keep the segments of the partition and of __transaction_state.
\* @invariant("marker_of_the_right_type", "critical", "marker")
MarkerOfTheRightType == \A m \in transactionMarkers : m.found >= 1 \/ m.wrong >= 1 => m.wrong = 0

\* A partition has one marker for a transaction. A second one comes from a coordinator that did not hear that the first
\* was written, or from an operator. It does no harm as long as no other transaction has begun.
\*
\* Where it does not hold: a new coordinator writes the markers of prepared transactions again
\* (MCProducerEpoch_kip_360_marker_twice), and so does one whose request ran into a timeout. A repeated marker has the epoch of
\* the next transaction and can end it (KAFKA-19446): without transaction version 2 (MCProducerEpoch_4_3_version_1_repeated_marker),
\* and with it on brokers before 4.2, whose partitions take an equal epoch (MCProducerEpoch_4_1_version_2_equal_epochs).
\*
\* On call: look whether the coordinator moved between the two markers, or whether the request log has a
\* WriteTxnMarkers of another client than broker-N-txn-marker-sender: then nothing is wrong. If a transaction of the
\* same producer began between them, it was cut short: its later records are outside of any transaction
\* (no_write_outside_transaction). Brokers of 4.2 or later with transaction version 2 end that risk; the version alone
\* (`kafka-features.sh ... upgrade`) does not.
\* @invariant("one_marker_each", "warning", "marker")
OneMarkerEach == \A m \in transactionMarkers : m.found >= 1 => m.found <= 1

\* The coordinator that ended a transaction is the one that prepared it, or a later one: the coordinator epoch of its
\* marker is at least that of the Prepare record.
\*
\* Where it does not hold: an operator's marker carries no coordinator epoch of use. It is left out, and a transaction with
\* no other marker is not judged. An operator may write any epoch, so a marker that is out of order is unknown unless the
\* request log has the coordinator's WriteTxnMarkers.
\*
\* On call: a coordinator that had been replaced ended the transaction. If the type is right nothing was lost, but the
\* partition did not refuse it: look at coordinator_epoch of the producer there before the marker
\* (marker_coordinator_epoch_never_falls), and at elections of that partition of __transaction_state.
\* @invariant("marker_coordinator_epoch_in_order", "critical", "marker")
MarkerCoordinatorEpochInOrder ==
    \A m \in transactionMarkers :
        m.found >= 1 /\ m.markerCoordinatorEpoch # -1 => m.markerCoordinatorEpoch >= m.coordinatorEpoch

(***************************************************************************)
(* A producer in a partition: p is the partition, k the producer id.       *)
(***************************************************************************)

\* A batch was appended in this step: a marker leaves the sequences of its producer alone.
Appends(p, k) == lastOffset'[p][k] > lastOffset[p][k] /\ ~newestIsMarker'[p][k]

\* It follows a batch of the same epoch.
FollowsABatch(p, k) ==
    /\ Appends(p, k)
    /\ appendedEpoch'[p][k] = appendedEpoch[p][k]
    /\ lastSequence[p][k] # -1

\* The sequence number after n: after the largest comes 0.
SequenceAfter(n) == IF n = MaxSequence THEN 0 ELSE n + 1

\* f lies ahead of n, or behind it, by the shorter way round.
Ahead(f, n) ==
    \/ n < f /\ f - n <= MaxSequence \div 2
    \/ f - n < -(MaxSequence \div 2) - 1
Behind(f, n) == f # n /\ ~Ahead(f, n)

\* In a partition the epoch of a producer never falls. Once a batch or a marker of an epoch is written there, nothing
\* of an older epoch is appended: that is fencing, where it counts.
\*
\* Where it does not hold: a leader that has lost the producer's state (retention and DeleteRecords before KIP-360,
\* expiration after producer.id.expiration.ms, a new replica) takes what comes first
\* (MCProducerEpoch_kip_360_state_lost). Followers append what the leader did without a check. A step across a hole in the log
\* is unknown.
\*
\* On call: a zombie wrote after it was fenced. The verdict names partition, producer id and offset: look whether a
\* marker ended the older epoch's batches; if not, they hold the last stable offset (no_dangling_transaction). Find the
\* zombie's client by producer id in the report and stop it; check why the state was gone: producer_state_is_kept, the
\* partition's log start offset, producer.id.expiration.ms.
\* Check silent_ms first: for so long this producer wrote nothing here before that. If it is longer than
\* producer.id.expiration.ms (a day by default; `kafka-configs.sh --describe --all --entity-type brokers --entity-name B`),
\* the leader had forgotten the producer and no broker is at fault: its client did this, after a pause.
\* @step("no_write_after_fence", "critical", "producer") @transitive
NoWriteAfterFence ==
    \A p \in DOMAIN appendedEpoch : \A k \in DOMAIN appendedEpoch[p] \cap DOMAIN appendedEpoch'[p] :
        appendedEpoch'[p][k] >= appendedEpoch[p][k]

\* The first batch of an epoch in a partition starts at sequence 0. So the leader can tell a lost first batch from none.
\*
\* Where it does not hold: a producer without any state in the partition may start anywhere; such a first row is no
\* step. Across a hole in the log it is unknown. The group coordinator writes a transaction's offsets at sequence 0,
\* always.
\*
\* On call: the batches before it never arrived, or arrived under the older epoch: records of this producer may be
\* missing in the partition. Compare with what the application sent; the client's log says "ProducerId set to" and
\* counts its failed batches. A client other than the Java one may number wrongly: software_name of its requests.
\* Check silent_ms first: for so long this producer wrote nothing here before that. If it is longer than
\* producer.id.expiration.ms (a day by default; `kafka-configs.sh --describe --all --entity-type brokers --entity-name B`),
\* the leader had forgotten the producer and no broker is at fault: its client did this, after a pause.
\* @step("new_epoch_starts_at_sequence_zero", "critical", "producer")
NewEpochStartsAtSequenceZero ==
    \A p \in DOMAIN appendedEpoch : \A k \in DOMAIN appendedEpoch[p] \cap DOMAIN appendedEpoch'[p] :
        /\ Appends(p, k)
        /\ appendedEpoch'[p][k] > appendedEpoch[p][k] \/ lastSequence[p][k] = -1
        => firstSequence'[p][k] = 0

\* Within an epoch no sequence number is left out: each batch begins with the one after the last of the batch before,
\* and 2147483647 is followed by 0. A gap is a batch that never arrived.
\*
\* Where it does not hold: a leader that has lost the producer's state takes any sequence, also one that has forgotten a
\* silent producer (producer.id.expiration.ms); the records are missing all the same. Batches that retention or the
\* log cleaner removed are a hole in the log: unknown. A marker of the same epoch (without transaction version 2) leaves
\* the chain as it was. Offsets that the group coordinator writes have no chain, and are not judged.
\*
\* On call: records of this producer are missing before the offset that the verdict names: the number of missing ones is
\* the difference of the sequences. The client had an OutOfOrderSequence error or was told nothing; look at its log.
\* Check whether the partition had an unclean election, which loses the end of the log.
\* Check silent_ms first: for so long this producer wrote nothing here before that. If it is longer than
\* producer.id.expiration.ms (a day by default; `kafka-configs.sh --describe --all --entity-type brokers --entity-name B`),
\* the leader had forgotten the producer and no broker is at fault: its client did this, after a pause.
\* @step("no_sequence_gap", "critical", "producer")
NoSequenceGap ==
    \A p \in DOMAIN appendedEpoch : \A k \in DOMAIN appendedEpoch[p] \cap DOMAIN appendedEpoch'[p] :
        FollowsABatch(p, k) => ~Ahead(firstSequence'[p][k], SequenceAfter(lastSequence[p][k]))

\* Within an epoch sequence numbers never start again and never repeat: producer id, epoch and sequence name one record
\* for ever. Numbering anew inside an epoch breaks that, and nobody can tell a duplicate from a new record any more.
\*
\* Where it does not hold: clients before KIP-360 (2.5) reset their sequences inside the epoch after
\* UNKNOWN_PRODUCER_ID (MCProducerEpoch_kip_360_sequences_reset). A leader that has lost the producer's state appends a batch
\* that it has already. Batches removed by retention are a hole: unknown. Offsets that the group coordinator
\* writes have no chain, and are not judged.
\*
\* On call: the partition holds records twice, or will be unable to refuse duplicates. Compare the batches at both
\* offsets (`kafka-dump-log.sh --print-data-log`): equal payload is a duplicate that readers have seen. Upgrade clients
\* before 2.5; otherwise see why the leader had no state: producer_state_is_kept.
\* Check silent_ms first: for so long this producer wrote nothing here before that. If it is longer than
\* producer.id.expiration.ms (a day by default; `kafka-configs.sh --describe --all --entity-type brokers --entity-name B`),
\* the leader had forgotten the producer and no broker is at fault: its client did this, after a pause.
\* @step("no_sequence_reset", "critical", "producer")
NoSequenceReset ==
    \A p \in DOMAIN appendedEpoch : \A k \in DOMAIN appendedEpoch[p] \cap DOMAIN appendedEpoch'[p] :
        FollowsABatch(p, k) => ~Behind(firstSequence'[p][k], SequenceAfter(lastSequence[p][k]))

\* In a partition the coordinator epoch of a producer's markers never falls. A coordinator that was replaced, and does
\* not know it yet, is refused by it.
\*
\* Where it does not hold: an operator's marker leaves it as it is. A leader that has lost the producer's state takes
\* the first marker that comes. A __transaction_state that was deleted and created again starts at 0: every producer's
\* markers fall once.
\*
\* On call: a deposed coordinator wrote a marker. Look at the transaction that it ended: if a newer one was open it was
\* cut short (no_write_outside_transaction, marker_of_the_right_type for the same producer). Compare the leader epochs
\* of that partition of __transaction_state on all replicas.
\* @step("marker_coordinator_epoch_never_falls", "critical", "producer") @transitive
MarkerCoordinatorEpochNeverFalls ==
    \A p \in DOMAIN appendedEpoch : \A k \in DOMAIN appendedEpoch[p] \cap DOMAIN appendedEpoch'[p] :
        markerCoordinatorEpoch'[p][k] >= markerCoordinatorEpoch[p][k]

(***************************************************************************)
(* Epochs that producers without a transactional id give to themselves: an *)
(* element for each one that a partition has batches of, after another.    *)
(***************************************************************************)

\* What a producer writes under an epoch that it gave to itself is new: none of its batches holds the records of a batch
\* that the partition has under an earlier epoch of the same producer. No partition can refuse that: sequences are
\* compared within an epoch. KIP-360 has a batch keep its epoch and sequence; then it cannot happen.
\*
\* Where it does not hold: as shipped. At a local bump the Java client numbers the batches in flight to the failed
\* partition again (MCIdempotentProducer_client_java_twice), and librdkafka does so in all partitions
\* (MCIdempotentProducer_client_librdkafka_twice): one that was written, and whose answer was lost, is written again. Two
\* batches are the same if their size, timestamps and the checksum of their records are: an application that sends the
\* same records with the same timestamps again counts, too. A batch that is not found among those before, but is as old as
\* they are, may have been put together anew: unknown, as behind a hole in the log. Producers with a transactional id are
\* not judged, nor what is sent again under another producer id.
\*
\* On call: readers saw these records twice, under offsets that the verdict names. Idempotence does not promise more once
\* a batch has failed for good: look in the client's log for "Going to bump epoch and reset sequence numbers", and why a
\* batch failed (delivery.timeout.ms, an election, INVALID_RECORD). Where twice is too often use transactions, or have
\* readers drop what they have seen; fct_local_bumps counts them for each bump.
\* @invariant("no_records_written_twice", "warning", "local_bump")
NoRecordsWrittenTwice == \A b \in localBumps : b.batches >= 1 => ~b.writtenTwice

(***************************************************************************)
(* Transactions as the partitions' logs have them: from a producer's first *)
(* batch to the marker.                                                    *)
(***************************************************************************)

\* A transaction is dangling: it is open in a partition, and the coordinator does not list it there as one whose marker
\* has yet to come, nor a later one of its producer with that partition, which would end it too.
\*
\* Where it does not hold: where the coordinator's log is not known past the transaction's begin it is unknown. So it is
\* where the partition's log may have been captured before the marker of a completed transaction was written.
\*
\* On call: see no_dangling_transaction; fct_dangling_transactions has the command that ends it.
\* @decision("dangling", "partitionTransactions")
Dangling(x) == x.open /\ ~x.listed

\* A transaction that is open in a partition is one that the coordinator knows: it lists the partition and has not
\* completed it. Otherwise nobody will ever write the marker. The last stable offset stays where it is, and readers
\* with read_committed wait for ever.
\*
\* Where it does not hold: brokers without verification (before KIP-890, 3.6, or
\* transaction.partition.verification.enable=false) append what reaches them late (MCProducerEpoch_kip_360_late_batch) or after
\* the state was lost (MCProducerEpoch_kip_360_dangling). A marker may be lost after its transaction was completed: 4.3.1
\* skips partitions that have no leader at that moment (KAFKA-20734), and an unclean election may remove it. The state is also
\* lost if someone deletes __transaction_state: fct_topic_incarnations says who did. Where the coordinator's log is not known
\* past that moment it is unknown, and so it is where the partition's log may have been captured before the marker was
\* written. In a topic that was deleted it dangled until then. What was left open ends with the next transaction of its
\* producer that adds the partition: while the coordinator has that, nothing dangles.
\*
\* On call: if fct_dangling_transactions has no row for it, the topic was deleted since, and there is nothing to do. Else
\* read_committed consumers of this partition stand still. `kafka-transactions.sh --bootstrap-server ...
\* find-hanging --topic T` confirms it on the live cluster: look right before you abort, since an abort ends whatever the
\* producer has open there by then. If coordinator_outcome in fct_dangling_transactions is
\* committed, do not abort it: readers would lose its records. Copy them first (remedy), and write them again. Else end it
\* with `kafka-transactions.sh abort --topic T --partition P --start-offset N` (the verdict's first_offset). If the
\* coordinator never had it, turn verification on, or upgrade to transaction version 2.
\* @invariant("no_dangling_transaction", "critical", "transaction")
NoDanglingTransaction == \A x \in partitionTransactions : x.open => ~Dangling(x)

\* A transaction that has ended in a partition was listed there by the coordinator, and ended as that had prepared it.
\* If not, its batches came outside of any transaction of their producer, or a marker ended them that was meant for
\* another one or written by an operator.
\*
\* Where it does not hold: as for no_dangling_transaction. A hanging transaction that an operator has ended stays a
\* violation. Before 4.2 a marker that comes twice ends the next transaction (MCProducerEpoch_4_1_version_2_equal_epochs);
\* without transaction version 2 both have one epoch, and it is unknown which of them was ended too early. Where a marker
\* was lost (every_marker_is_written), that of the producer's next transaction ends both: no harm if both ended alike. A
\* coordinator's log that does not reach so far back makes it unknown.
\*
\* On call: whether its records are visible was decided by accident. Compare them with what the producer meant: if the
\* marker was a COMMIT, readers saw records that the application believes aborted; if an ABORT, none were seen. Find out
\* how it came: a late batch (its timestamp is older than the marker before it), a zombie, a marker that came twice
\* (one_marker_each names the transaction that it belongs to), or one that never came (every_marker_is_written).
\* @invariant("no_write_outside_transaction", "critical", "transaction")
NoWriteOutsideTransaction == \A x \in partitionTransactions : ~x.open => x.listed

\* Each aborted transaction of a partition is in the transaction index of its segments, from which brokers tell readers
\* what to leave out. A transaction that is missing there is read as if it had committed.
\*
\* Where it does not hold: the index is the leader's own and is rebuilt when a broker starts after a crash. A segment
\* without a captured index is unknown, and so are transactions that are open or end in a hole of the log.
\*
\* On call: read_committed consumers of this partition receive aborted records. Each replica has an index of its own:
\* move the leadership to one whose .txnindex has the transaction (first_offset in the verdict), then delete the
\* partition's folder on the other broker while it is stopped, so that it is fetched again. Tell the readers of the
\* offsets from first_offset to last_offset.
\* @invariant("aborted_transactions_are_indexed", "critical", "transaction")
AbortedTransactionsAreIndexed == \A x \in partitionTransactions : ~x.open /\ x.aborted => x.indexed

\* A snapshot of producer state holds every producer that wrote to the partition and has not expired, with the epoch,
\* sequence and open transaction that the log has. A leader that starts from it can fence, and refuse duplicates.
\*
\* Where it does not hold: a producer idle for longer than producer.id.expiration.ms is not due, nor is one whose batches a
\* follower has never seen. Who is absent is due if another producer is there that wrote before it and was idle for as long.
\* Where the metadata log has that configuration (`kafka-configs.sh --alter --entity-type brokers`), it tells who has expired.
\* A server.properties may have any value (24 h by default): who is absent without such a witness, or after a day, is
\* unknown then. Snapshots are written when a segment is rolled and at a clean shutdown: between two of them nothing is judged.
\* A broker that reads a compacted log again after a crash makes an entry without an epoch (-1) of a marker that the log
\* cleaner has emptied: so it forgets a producer of which only such markers are left, until it writes again.
\*
\* On call: a leader that starts from this snapshot does not know the producer: a fenced one may write again
\* (no_write_after_fence), sequences may start anew. Move the leadership to a replica whose snapshot agrees, then
\* delete the partition's folder on the other broker while it is stopped, so that it is fetched again. Deleting the
\* snapshot alone makes it worse: after a clean shutdown the log is not read again.
\* @invariant("producer_state_is_kept", "critical", "snapshot")
ProducerStateIsKept == \A s \in producerSnapshots : s.due => s.present /\ s.agrees

=============================================================================

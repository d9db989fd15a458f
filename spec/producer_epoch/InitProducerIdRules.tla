------------------------ MODULE InitProducerIdRules -------------------------
(***************************************************************************)
(* How InitProducerId is decided: as KIP-360 proposed, and as brokers do   *)
(* it; and what must hold of what was answered. A request r carries the    *)
(* state it met at the coordinator. By each rule it gets a new epoch (of   *)
(* the same producer id or of a new one), the current epoch once more, or  *)
(* an error.                                                               *)
(***************************************************************************)
EXTENDS ProducerEpochObserved

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
\* On call: a producer that is refused here has to end. `kafka-transactions.sh --bootstrap-server BROKER:9092 describe
\* --transactional-id ID` shows who has the id now; the epoch timeline of the report shows who took it. Two live
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
\* On call: nothing to do. The epoch timeline of the report shows which producers are given new epochs, and how often.
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
\* @violated("a coordinator decided an InitProducerId against its own rule")
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
\* @violated("a producer with a stale epoch moved the epoch")
\* @invariant("stale_epoch_never_bumped", "critical", "request")
StaleEpochNeverBumped ==
    \A r \in initProducerIds : Kip360Fenced(r) /\ r.granted =>
        r.returnedId = r.producerId /\ r.returnedEpoch = r.producerEpoch

\* A producer whose epoch is neither the current one nor the one before its own last bump is given no
\* epoch: it was fenced, and stays so.
\*
\* Where it does not hold: under transaction version 2 the coordinator remembers the epoch of a producer that it
\* fences as if that had asked for the bump. A producer that was timed out, or whose transaction a new instance has ended,
\* presents its old epoch and is given the current one (MCProducerEpoch_4_3_version_2_stale_epoch_granted). The current one
\* was nobody's: a new instance is given the next. Where it is not known who asked for the last bump it is unknown.
\*
\* On call: nothing is lost. After a timeout the producer goes on, and there is no successor. If a new instance was
\* under way, the one before may begin another transaction and even commit it, until the new one asks again: look in
\* fct_transactions for one between the two answers that it got. Give each instance a transactional.id of its own.
\* @violated("a producer with a stale epoch was given an epoch")
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
\* @violated("a producer that asked again was given another epoch")
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
\* @violated("a producer that asked again was fenced")
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
\* @violated("a producer with a stale epoch aborted its successor's transaction")
\* @invariant("no_stale_abort", "warning", "request")
NoStaleAbort == \A r \in initProducerIds : Kip360Fenced(r) /\ r.status = "Ongoing" => ~r.busy

=============================================================================

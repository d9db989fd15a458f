------------------------ MODULE TransactionLogRules -------------------------
(***************************************************************************)
(* The coordinator's log: what may follow what.                            *)
(***************************************************************************)
EXTENDS ProducerEpochObserved

\* How many epochs should be left before a producer id is exhausted.
\* @type: Int;
CONSTANT EpochReserve

ASSUME EpochReserve \in Nat

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
\* @violated("a transaction's status moved as it must not")
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
\* @violated("a producer epoch did not grow by one")
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
\* @violated("a transaction did not end at an epoch of its own")
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
\* --bootstrap-server BROKER:9092 describe --transactional-id ID`: if it shows epoch 32767 in CompleteCommit or
\* CompleteAbort, start the producer again; it is given a new producer id. Brokers of 4.3 or later do not need that.
\* @violated("the producer id that follows was not named where it must be")
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
\* @violated("a producer id has fewer than a thousand epochs left")
\* @invariant("epoch_headroom", "warning", "transactional_id")
EpochHeadroom ==
    \A t \in DOMAIN producerEpoch : producerEpoch[t] + EpochReserve < MaxEpoch

=============================================================================

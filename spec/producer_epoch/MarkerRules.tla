---------------------------- MODULE MarkerRules -----------------------------
(***************************************************************************)
(* Markers: how a transaction ends in its partitions. One record for each  *)
(* prepared transaction and partition that it lists.                       *)
(***************************************************************************)
EXTENDS ProducerEpochObserved

\* When the coordinator has completed a transaction, each partition that it lists has a marker of it. A partition that
\* has records of it and no marker holds it open: its last stable offset stays, and readers with read_committed wait.
\*
\* Where it does not hold: a partition whose topic was deleted needs no marker; it has no log any more and is unknown.
\* So is a partition whose log is not captured at that place, or may have been captured before the marker was written. A
\* coordinator skips the marker of a partition that its broker does not know yet, as the first one of __consumer_offsets
\* at the moment of its creation: nothing waits there, unless records of the transaction came later. 4.3.1 also skips
\* the marker of a partition that has no leader at that moment, and writes it never (KAFKA-20734). An unclean election
\* may remove one that was written.
\*
\* On call: read_committed consumers of this partition may stand still. `kafka-transactions.sh --bootstrap-server
\* BROKER:9092 describe-producers --topic T --partition P` shows CurrentTransactionStartOffset; None: nothing waits.
\* If due_type in the verdict is COMMIT, an abort would hide the records for ever: copy them first
\* (fct_dangling_transactions has the command), write them again, and abort only then, since readers wait until
\* somebody does. If it is ABORT, nothing is lost by an abort: `kafka-transactions.sh --bootstrap-server BROKER:9092
\* abort --topic T --partition P --start-offset N`. Either only if fct_dangling_transactions has it: else the topic is
\* gone, or the logs do not reach far enough yet to tell (fct_last_stable_offsets says unknown: run again when the
\* partition was written to), or the producer's next transaction has the partition, and an abort would end that too.
\* The marker of that one ends these records as well, as no_write_outside_transaction then says: if due_type is COMMIT
\* and that marker is an ABORT, write them again. Look in the coordinator's server.log for "Couldn't find leader
\* endpoint for partitions", and for an unclean election of the partition at that time.
\* @violated("a completed transaction has a partition without a marker")
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
\* @violated("a transaction ended otherwise than it was prepared")
\* @invariant("marker_of_the_right_type", "critical", "marker")
MarkerOfTheRightType == \A m \in transactionMarkers : m.found >= 1 \/ m.wrong >= 1 => m.wrong = 0

\* A partition has one marker for a transaction from each coordinator that wrote one, and from each of the partition's
\* leaders that it asked: these are the writers. A new coordinator writes the markers of prepared transactions again, since
\* it does not know what its predecessor had written. A coordinator asks the next leader if the last one did not answer. (A
\* partition has one leader in ProducerEpoch.) Nobody else writes a marker twice, and no operator writes one beside it.
\*
\* Where it does not hold: a coordinator sends its marker again to the same leader if it did not hear that it was written,
\* since its request ran into a timeout, or too few replicas had it. So does an operator who takes a live transaction for a
\* hanging one (kafka-transactions.sh abort). It does no harm as long as no other transaction has begun. A repeated marker
\* has the epoch of the next transaction and can end it (KAFKA-19446): without transaction version 2
\* (MCProducerEpoch_4_3_version_1_repeated_marker), and with it on brokers before 4.2, whose partitions take an equal epoch
\* (MCProducerEpoch_4_1_version_2_equal_epochs).
\*
\* On call: look whether the request log has a WriteTxnMarkers of another client than broker-N-txn-marker-sender, or
\* replicas of the partition left its ISR then: nothing else is wrong. If a transaction of the same producer began between
\* the two markers, it was cut short: its later records are outside of any transaction (no_write_outside_transaction).
\* Brokers of 4.2 or later with transaction version 2 end that risk; the version alone (`kafka-features.sh
\* --bootstrap-server BROKER:9092 upgrade --feature transaction.version=2`) does not.
\* @violated("a coordinator wrote a transaction's marker twice in a partition")
\* @invariant("one_marker_each", "warning", "marker")
OneMarkerEach == \A m \in transactionMarkers : m.found >= 1 => m.found <= m.writers

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
\* @violated("an older coordinator than the one that prepared a transaction ended it")
\* @invariant("marker_coordinator_epoch_in_order", "critical", "marker")
MarkerCoordinatorEpochInOrder ==
    \A m \in transactionMarkers :
        m.found >= 1 /\ m.markerCoordinatorEpoch # -1 => m.markerCoordinatorEpoch >= m.coordinatorEpoch

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
\* @violated("a marker of a replaced coordinator was appended")
\* @step("marker_coordinator_epoch_never_falls", "critical", "producer") @transitive
MarkerCoordinatorEpochNeverFalls ==
    \A p \in DOMAIN appendedEpoch : \A k \in DOMAIN appendedEpoch[p] \cap DOMAIN appendedEpoch'[p] :
        markerCoordinatorEpoch'[p][k] >= markerCoordinatorEpoch[p][k]

=============================================================================

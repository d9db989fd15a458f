----------------------------- MODULE BatchRules -----------------------------
(***************************************************************************)
(* What must hold of the batches of a producer in a partition, whatever    *)
(* kind of producer it is: p is the partition, k the producer id.          *)
(***************************************************************************)
EXTENDS ProducerState

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
\* marker ended the older epoch's batches; if not, they hold the last stable offset (no_dangling_transaction). Find
\* the zombie's client by producer id in the report and stop it; check why the state was gone: producer_state_is_kept,
\* the partition's log start offset, producer.id.expiration.ms. Check silent_ms first: for so long this producer wrote
\* nothing here before that. If it is longer than producer.id.expiration.ms (a day by default; `kafka-configs.sh
\* --bootstrap-server BROKER:9092 --describe --all --entity-type brokers --entity-name ID`), the leader had forgotten
\* the producer and no broker is at fault: its client did this, after a pause.
\* @violated("a fenced producer's write was appended")
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
\* producer.id.expiration.ms (a day by default; `kafka-configs.sh --bootstrap-server BROKER:9092 --describe --all
\* --entity-type brokers --entity-name ID`), the leader had forgotten the producer and no broker is at fault: its
\* client did this, after a pause.
\* @violated("the first batch of a producer epoch does not start at sequence 0")
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
\* On call: records of this producer are missing before the offset that the verdict names: the number of missing ones
\* is the difference of the sequences. The client had an OutOfOrderSequence error or was told nothing; look at its
\* log. Check whether the partition had an unclean election, which loses the end of the log. Check silent_ms first:
\* for so long this producer wrote nothing here before that. If it is longer than producer.id.expiration.ms (a day by
\* default; `kafka-configs.sh --bootstrap-server BROKER:9092 --describe --all --entity-type brokers --entity-name
\* ID`), the leader had forgotten the producer and no broker is at fault: its client did this, after a pause.
\* @violated("batches of a producer are missing")
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
\* offsets (`kafka-dump-log.sh --print-data-log --files SEGMENT`): equal payload is a duplicate that readers have
\* seen. Upgrade clients before 2.5; otherwise see why the leader had no state: producer_state_is_kept. Check
\* silent_ms first: for so long this producer wrote nothing here before that. If it is longer than
\* producer.id.expiration.ms (a day by default; `kafka-configs.sh --bootstrap-server BROKER:9092 --describe --all
\* --entity-type brokers --entity-name ID`), the leader had forgotten the producer and no broker is at fault: its
\* client did this, after a pause.
\* @violated("a producer's sequence numbers started again within an epoch")
\* @step("no_sequence_reset", "critical", "producer")
NoSequenceReset ==
    \A p \in DOMAIN appendedEpoch : \A k \in DOMAIN appendedEpoch[p] \cap DOMAIN appendedEpoch'[p] :
        FollowsABatch(p, k) => ~Behind(firstSequence'[p][k], SequenceAfter(lastSequence[p][k]))

=============================================================================

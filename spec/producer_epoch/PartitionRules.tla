--------------------------- MODULE PartitionRules ---------------------------
(***************************************************************************)
(* What must hold of a partition's log and its snapshots. Transactions as  *)
(* the log has them: from a producer's first batch to the marker.          *)
(***************************************************************************)
EXTENDS ProducerEpochObserved

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
\* On call: if fct_dangling_transactions has no row for it, the topic was deleted since, and there is nothing to do.
\* Else read_committed consumers of this partition stand still. `kafka-transactions.sh --bootstrap-server BROKER:9092
\* find-hanging --topic T --max-transaction-timeout 0` confirms it on the live cluster (without the last option only
\* if it is older than 15 minutes): look right before you abort, since an abort ends whatever the producer has open
\* there by then. If coordinator_outcome in fct_dangling_transactions is committed, an abort would hide its records
\* for ever: copy them first (remedy), write them again, and abort only then. In any case it ends with
\* `kafka-transactions.sh --bootstrap-server BROKER:9092 abort --topic T --partition P --start-offset N` (the
\* verdict's first_offset). If the coordinator never had it, turn verification on, or upgrade to transaction version
\* 2.
\* @violated("a transaction hangs, and no coordinator will end it")
\* @invariant("no_dangling_transaction", "critical", "transaction")
NoDanglingTransaction == \A x \in partitionTransactions : x.open => ~Dangling(x)

\* A transaction that has ended in a partition was listed there by the coordinator, and ended as that had prepared it.
\* If not, its batches came outside of any transaction of their producer, or a marker ended them that was meant for
\* another one or written by an operator.
\*
\* Where it does not hold: as for no_dangling_transaction. A hanging transaction that an operator has ended stays a
\* violation. Before 4.2 a marker that comes twice ends the next transaction (MCProducerEpoch_4_1_version_2_equal_epochs);
\* without transaction version 2 both have one epoch, and it is unknown which of them was ended too early. Where a marker
\* was lost (every_marker_is_written), that of the producer's next transaction ends both: no harm if both ended alike. Nor
\* is it violated by an operator's or repeated marker that ends a part of a transaction as its coordinator ends the rest.
\* A batch that its header calls not transactional is in none, and is not judged, whoever wrote it.
\* A coordinator's log that does not reach so far back makes it unknown.
\*
\* On call: if an operator ended a hanging transaction (no_dangling_transaction) with an ABORT, nothing is left to do
\* but to find out how it came. Else whether its records are visible was decided by accident. Compare them with what
\* the producer meant: if the marker was a COMMIT, readers saw records that the application believes aborted; if an
\* ABORT, none were seen. Find out how it came: a late batch (its timestamp is older than the marker before it), a
\* zombie, a marker that came twice (from one coordinator: one_marker_each names the transaction that it belongs to), or
\* one that never came (every_marker_is_written).
\* @violated("records were written outside of their producer's transactions")
\* @invariant("no_write_outside_transaction", "critical", "transaction")
NoWriteOutsideTransaction == \A x \in partitionTransactions : ~x.open => x.listed

\* Each aborted transaction of a partition is in the transaction index of its segments, from which brokers tell readers
\* what to leave out. A transaction that is missing there is read as if it had committed.
\*
\* Where it does not hold: each replica has an index of its own, which a broker rebuilds when it starts after a crash;
\* one that lacks the transaction and has a later one of the same segment is enough. A segment without a captured index is
\* unknown, and so are one that the log cleaner was in and transactions that are open or end in a hole of the log.
\*
\* On call: read_committed consumers receive aborted records from the replica whose index lacks them
\* (unindexed_broker_id in silver.partition_transactions). If it leads the partition, move the leadership to one whose
\* .txnindex has the transaction, then delete the partition's folder on that broker while it is stopped, so that it is
\* fetched again. Tell the readers of the offsets from first_offset to last_offset.
\* @violated("an aborted transaction is missing in the transaction index")
\* @invariant("aborted_transactions_are_indexed", "critical", "transaction")
AbortedTransactionsAreIndexed == \A x \in partitionTransactions : ~x.open /\ x.aborted => x.indexed

\* A snapshot of producer state holds every producer that wrote to the partition and has not expired, with the epoch,
\* sequence and open transaction that the log has. A leader that starts from it can fence, and refuse duplicates.
\*
\* Where it does not hold: a producer idle for longer than producer.id.expiration.ms is not due, nor is one whose batches a
\* follower has never seen. An absent one is due if another producer is there that wrote before it and was idle for as long.
\* Where the metadata log (`kafka-configs.sh --alter --entity-type brokers`) or the broker's server.log has that configuration, it
\* tells which have expired. Where neither has it (24 h by default), one that is absent without such a witness, or after a
\* day, is unknown. Snapshots are written when a segment is rolled and at a clean shutdown: between two of them nothing is judged.
\* A broker that reads a compacted log again after a crash makes an entry without an epoch (-1) of a marker that the log
\* cleaner has emptied: so it forgets a producer of which only such markers are left, until it writes again.
\*
\* On call: a leader that starts from this snapshot does not know the producer: a fenced one may write again
\* (no_write_after_fence), sequences may start anew. Move the leadership to a replica whose snapshot agrees, then
\* delete the partition's folder on the other broker while it is stopped, so that it is fetched again. Deleting the
\* snapshot alone makes it worse: after a clean shutdown the log is not read again.
\* @violated("a snapshot of producer state lost a producer")
\* @invariant("producer_state_is_kept", "critical", "snapshot")
ProducerStateIsKept == \A s \in producerSnapshots : s.due => s.present /\ s.agrees

=============================================================================

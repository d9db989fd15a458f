---------------------- MODULE IdempotentProducerRules -----------------------
(***************************************************************************)
(* Epochs that producers without a transactional id give to themselves: an *)
(* element for each one that a partition has batches of, after another.    *)
(***************************************************************************)
EXTENDS Integers

\* @typeAlias: localBump = {partition: PARTITION, producerId: Int, producerEpoch: Int, previousEpoch: Int, firstOffset: Int, batches: Int, writtenTwice: Bool};

\* The newest epoch of each producer in each partition, if the producer gave it to itself after another one there.
\* @type: Set($localBump);
VARIABLE localBumps

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
\* @violated("a producer wrote the same records twice, under two epochs")
\* @invariant("no_records_written_twice", "warning", "local_bump")
NoRecordsWrittenTwice == \A b \in localBumps : b.batches >= 1 => ~b.writtenTwice

=============================================================================

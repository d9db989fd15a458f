------------------------ MODULE ProducerEpochProps ------------------------
(***************************************************************************)
(* What must hold of producer epochs, and how InitProducerId and the end   *)
(* of a transaction are decided as KIP-360 and KIP-890 proposed and as     *)
(* brokers do it: a module for each subject, and this one for all.         *)
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
EXTENDS InitProducerIdRules, EndTxnRules, TransactionLogRules, MarkerRules, PartitionRules, BatchRules,
        IdempotentProducerRules

=============================================================================

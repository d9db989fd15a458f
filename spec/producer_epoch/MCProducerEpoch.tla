--------------------------- MODULE MCProducerEpoch ---------------------------
(***************************************************************************)
(* Bounds under which TLC explores every behaviour of ProducerEpoch. The   *)
(* marked steps as TLC's properties come from ProducerEpochPropsMarked.    *)
(* Below them what only a model can be asked: who caused a bump, and what  *)
(* an instance believes, is in no log.                                     *)
(***************************************************************************)
EXTENDS ProducerEpochPropsMarked, TLC

\* Behaviours are followed up to this epoch of the first producer id and this one of later ones, this producer id, this
\* coordinator, and this many batches and markers in a partition.
\* @type: Int;
CONSTANT EpochBound
\* @type: Int;
CONSTANT LaterEpochBound
\* @type: Int;
CONSTANT IdBound
\* @type: Int;
CONSTANT TermBound
\* @type: Int;
CONSTANT OffsetBound

Bounded ==
    /\ Epoch <= (IF Id <= 1 THEN EpochBound ELSE LaterEpochBound)
    /\ issuedIds <= IdBound
    /\ term <= TermBound
    /\ \A p \in Partitions : logEnd[p] <= OffsetBound

\* No instance or partition is special.
Symmetry == Permutations(Instances) \cup Permutations(Partitions)

-----------------------------------------------------------------------------
\* Each rule has one answer to a request, and no second.
EachRuleGivesOneAnswer ==
    \A r \in initProducerIds :
        /\ Cardinality({n \in 1..3 : CASE n = 1 -> Kip360NewEpoch(r)
                                      [] n = 2 -> Kip360SameEpoch(r)
                                      [] n = 3 -> Kip360Fenced(r)}) = 1
        /\ Cardinality({n \in 1..5 : CASE n = 1 -> ShippedNewEpoch(r)
                                      [] n = 2 -> ShippedSameEpoch(r)
                                      [] n = 3 -> ShippedFenced(r)
                                      [] n = 4 -> ShippedWaits(r)
                                      [] n = 5 -> ShippedFails(r)}) = 1

\* A coordinator with the proposal's rule answers as the definitions of the proposal say. (No broker has it.)
KeepsTheProposal ==
    /\ \A r \in initProducerIds :
        /\ r.granted => Kip360NewEpoch(r) \/ Kip360SameEpoch(r)
        /\ r.fenced <=> Kip360Fenced(r)
    /\ \A e \in endTxns : e.error = Kip890EndTxn(e)

\* An instance is refused only when somebody else has had the transactional id since: another instance, or the
\* coordinator for a fence. NoRetryFenced judges by the epochs in the log, this by who was given them.
NobodyFencesItself == \A r \in initProducerIds : r.fenced \/ r.failed => bumpedBy # {r.request}

\* The epoch that the coordinator takes to fence somebody is nobody's: no transaction begins in it.
NoTransactionAtAFence == Status = "Ongoing" => bumpedBy # {}

\* Of two instances with the current producer id and epoch there is never a second. (A lost answer leaves an epoch with
\* nobody.)
NoEpochWithTwoInstances ==
    \A i, j \in Instances : i # j /\ Current(i) => ~Current(j)

\* No transactional id rests at the last epoch, where it can neither end a transaction nor be fenced. (Under version 1
\* it may: the next InitProducerId replaces the producer id.)
NobodyIsStuck == Closed => Epoch < MaxEpoch \/ TransactionVersion < 2

-----------------------------------------------------------------------------
(***************************************************************************)
(* What happens in the end. The coordinator does what it is to do: it      *)
(* aborts what is open for too long, goes on sending a marker that the     *)
(* partition would take, and completes. Nothing is asked of producers and  *)
(* the network. Bounds stop what begins something, never what ends it: a   *)
(* state at which they cut off what is due would hide it, or be mistaken   *)
(* for a fault.                                                            *)
(***************************************************************************)
EndsSomething == ObservedTimeOut \/ ObservedComplete \/ \E p \in Partitions : ObservedWriteMarker(p)

FairSpec ==
    /\ ObservedInit
    /\ [][EndsSomething \/ (ObservedNext /\ Bounded')]_observedVars
    /\ WF_vars(TimeOut)
    /\ WF_vars(Complete)
    /\ \A p \in Partitions : WF_vars(WriteMarker(p))

\* Every transaction is prepared, and what is prepared is completed.
EveryTransactionEnds  == Status = "Ongoing" ~> Status # "Ongoing"
EveryPrepareCompletes == Preparing ~> Closed

\* No partition holds a transaction open for ever: its last stable offset moves on.
NothingStaysOpen ==
    \A p \in Partitions : \A id \in 1..(IdBound + 1) :
        Before(currentTxnFirstOffset, p, id) # -1 ~> Before(currentTxnFirstOffset, p, id) = -1

=============================================================================

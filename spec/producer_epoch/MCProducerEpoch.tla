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
        /\ Cardinality({n \in 1..4 : CASE n = 1 -> ShippedNewEpoch(r)
                                      [] n = 2 -> ShippedSameEpoch(r)
                                      [] n = 3 -> ShippedFenced(r)
                                      [] n = 4 -> ShippedWaits(r)}) = 1

\* A coordinator with the proposal's rule answers as the definitions of the proposal say. (No broker has it.)
KeepsTheProposal ==
    \A r \in initProducerIds :
        /\ r.granted => Kip360NewEpoch(r) \/ Kip360SameEpoch(r)
        /\ r.fenced <=> Kip360Fenced(r)

\* An instance is refused only when somebody else has had the transactional id since: another instance, or the
\* coordinator for a fence. NoRetryFenced says it by the epochs in the log, this by who asked.
NobodyFencesItself == \A r \in initProducerIds : r.fenced => bumpedBy # {r.request}

\* Of two instances with the current producer id and epoch there is never a second. (A lost answer leaves an epoch with
\* nobody.)
NoEpochWithTwoInstances ==
    \A i, j \in Instances : i # j /\ Current(i) => ~Current(j)

\* No transactional id rests at the last epoch, where it can neither end a transaction nor be fenced. (Under version 1
\* it may: the next InitProducerId replaces the producer id.)
NobodyIsStuck == Closed => Epoch < MaxEpoch \/ TransactionVersion = 1

=============================================================================

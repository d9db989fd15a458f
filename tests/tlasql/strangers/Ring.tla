-------------------------------- MODULE Ring --------------------------------
(***************************************************************************)
(* A token ring, with nothing in it for tlasql: theorems say what is       *)
(* claimed, types and constants are in the mapping.                        *)
(*                                                                         *)
(* @author somebody@example.org                                            *)
(* @modelParameterConstants:0 is a word of another tool                    *)
(***************************************************************************)
EXTENDS Folding, FiniteSets, TLC
CONSTANTS Node, None, Weight, Next(_), Bound
ASSUME NodesAreFinite == IsFiniteSet(Node)
VARIABLES token,   \* who has it
          sent, pending, alive

vars == <<token, sent, pending, alive>>
Live == {n \in Node : alive[n]}
Queue == INSTANCE Line WITH items <- pending, Room <- Bound

TypeOK ==
  /\ token \in Node \cup {None}
  /\ sent \in [Node -> Nat]
  /\ pending \in Seq(Node)
  /\ alive \in [Node -> BOOLEAN]

\* --------------------------- what is claimed ---------------------------
Heavy == SumOver([n \in Node |-> Weight[n] * sent[n]]) <= Bound
Most == FoldOver(LAMBDA x, y : IF x > y THEN x ELSE y, 0, LAMBDA n : sent[n], Live) < Bound - 1
Unsent == FoldOver(LAMBDA x, y : x /\ y, TRUE, LAMBDA n : sent[n] >= Weight[n], Live)
Others == Len(Without(pending, token)) + 1 >= Len(pending)
Served == \A n \in Elements(pending) : Next(n) # token
Majority == \E Q \in SUBSET Live : 2 * Cardinality(Q) > Cardinality(Node) /\ \A n \in Q : sent[n] > 0
Smaller == \A Q \in SUBSET (Node \ {token}) : Cardinality(Q) = 2 => \E n \in Q : alive[n]
Always == [](Live # {} => Largest({sent[n] : n \in Live}) <= Len(SelectSeq(pending, LAMBDA n : n \in Live)))
Short == Queue!Fits
Pass ==
  \/ /\ token # None
     /\ token' = Next(token)
     /\ UNCHANGED <<sent, pending>>
  \/ token' = Head(pending) /\ pending' = Tail(pending)
Received == \/ pending' = Without(pending, token)
            \/ \E n \in Node : Queue!Added(n)
Eventually == <>(token # None)

Spec == TypeOK /\ [][Pass]_vars
THEOREM Spec => []TypeOK
THEOREM Spec => [](Heavy /\ Most /\ Unsent /\ Others) /\ []Served
THEOREM Spec => Always /\ [](Majority /\ Smaller /\ Short)
THEOREM Spec => [][Pass]_vars /\ [][Received]_vars
THEOREM Spec => []Eventually
=============================================================================

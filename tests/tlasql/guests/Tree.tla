---- MODULE Tree ----
(* Folders and what may be done in them: recursion with a bound of its own, and theorems of all kinds. *)
EXTENDS Integers, Sequences, FiniteSets
CONSTANT Root
VARIABLES parent, perms
RECURSIVE PathTo(_, _)
PathTo(n, k) == IF n = Root \/ k = 0 THEN <<n>> ELSE Append(PathTo(parent[n], k - 1), n)
RECURSIVE Depth(_, _)
Depth(n, k) == IF n # Root /\ k > 0 THEN 1 + Depth(parent[n], k - 1) ELSE 0
RECURSIVE Has(_, _, _)
Has(n, p, k) == CASE k = 0 -> FALSE
                  [] k > 0 /\ n \notin DOMAIN parent -> FALSE
                  [] p \in perms[n] -> TRUE
                  [] OTHER -> Has(parent[n], p, k - 1)
RECURSIVE Odd(_, _)
Odd(n, k) == IF parent[n] = Root \/ k = 0 THEN k ELSE Odd(parent[n], k - 1)
Nodes == DOMAIN parent
Step(S) == S \cup {parent[n] : n \in S \cap Nodes}
Rooted == \A n \in Nodes : PathTo(n, 3)[1] = Root
Deep == \A n \in Nodes : Depth(n, 3) < 2
Reads == \A n \in Nodes : Has(n, "r", 2)
Odds == \A n \in Nodes : Odd(n, 2) > 0
Reach3 == \A n \in Nodes : Root \in Step(Step(Step({n})))
Inherit == \A n \in Nodes : parent[n] \in Nodes => perms[n] \subseteq perms[parent[n]]
Single == Cardinality({n \in Nodes : parent[n] = n}) = 0
Spec == Single /\ [][UNCHANGED parent]_parent
Other == INSTANCE Moves WITH x <- parent
Sometimes == <>Single
THEOREM [](Rooted /\ Deep /\ Reads /\ Odds /\ Reach3 /\ Inherit /\ Single /\ Cardinality(Nodes) < 5)
THEOREM Spec => Sometimes
THEOREM Correct == Spec => Other!Spec
THEOREM Spec => <>[]Single /\ WF_parent(UNCHANGED parent)
THEOREM \A a \in Nodes : a \in Nodes
THEOREM Single => Single'
====

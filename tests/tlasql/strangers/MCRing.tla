------------------------------- MODULE MCRing -------------------------------
(* What a configuration names: Weight <- WeightOf, Next <- After, Bound <- Most3. *)
EXTENDS Ring
WeightOf == [n \in Node |-> IF n = "a" THEN 2 ELSE 1]
After(n) == CASE n = "a" -> "b" [] n = "b" -> "c" [] OTHER -> "a"
Most3 == Cardinality(Node) + 1
=============================================================================

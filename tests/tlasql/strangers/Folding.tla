------------------------------ MODULE Folding ------------------------------
(* Folds as libraries write them: a function over all subsets that applies itself. *)
EXTENDS Integers, Sequences

FoldOver(op(_, _), base, image(_), S) ==
  LET rest[T \in SUBSET S] ==
        IF T = {} THEN base
        ELSE LET t == CHOOSE t \in T : TRUE IN op(image(t), rest[T \ {t}])
  IN  rest[S]
SumOver(f) == FoldOver(LAMBDA x, y : x + y, 0, LAMBDA k : f[k], DOMAIN f)
Elements(s) == {s[i] : i \in DOMAIN s}
Without(s, e) == SelectSeq(s, LAMBDA x : x # e)
Largest(S) == CHOOSE x \in S : \A y \in S : y \leq x
=============================================================================

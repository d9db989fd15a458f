------------------------------- MODULE Shelf -------------------------------
(***************************************************************************)
(* A module to be instantiated: with a variable, a constant and an         *)
(* operator for its parameters.                                            *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS Size, Fits(_)
VARIABLE books

Within == Cardinality(books) <= Size
AllFit == \A x \in books : Fits(x)
Holds(x) == x \in books
Grown == books \subseteq books'

=============================================================================

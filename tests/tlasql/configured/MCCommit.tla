---- MODULE MCCommit ----
EXTENDS Commit
MCAdvance == round < 5 /\ round' = round + 2 /\ UNCHANGED state
====

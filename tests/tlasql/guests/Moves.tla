---- MODULE Moves ----
VARIABLE x
Spec == [][TRUE]_x
====

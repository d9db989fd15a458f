-------------------------------- MODULE Line --------------------------------
LOCAL INSTANCE Naturals
LOCAL INSTANCE Sequences
CONSTANT Room
VARIABLE items
LOCAL Twice(n) == n * 2
Fits == Twice(Len(items)) <= Room
Added(e) == Fits /\ items' = Append(items, e)
=============================================================================

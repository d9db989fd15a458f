------------------------ MODULE GenerationStartsAgain ------------------------
\* The generation starts again when the last member goes.
EXTENDS MCOwnershipClaim

BrokenEmptiedGeneration == 1

=============================================================================

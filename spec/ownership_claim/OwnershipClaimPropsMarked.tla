---- MODULE OwnershipClaimPropsMarked ----
\* generated from spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
EXTENDS OwnershipClaimProps

GenerationGrowsByOneProp ==
    [][GenerationGrowsByOne]_<<abandoned, generation>>

====

-- generated from GenerationGrowsByOne in spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
{{ config(severity='error', tags=['generated', 'step']) }}

select
  verdict_id,
  cluster,
  scope,
  witness,
  from_position,
  from_time,
  failed_conjunct,
  observed
from {{ ref('fct_invariant_verdicts') }}
where
  invariant = 'generation_grows_by_one' and verdict = 'violated'

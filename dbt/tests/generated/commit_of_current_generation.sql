-- generated from CommitOfCurrentGeneration in spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
{{ config(severity='error', tags=['generated', 'invariant']) }}

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
  invariant = 'commit_of_current_generation' and verdict = 'violated'

-- generated from NoHandoverBeforeRevocation in spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
--
-- NoHandoverBeforeRevocation == \A c \in claims : c.held /\ Valid(c) => ~c.assignedToAnother
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    claim_id,
    from_position,
    to_position,
    from_time,
    to_time,
    is_held AS `c.held`,
    claimed_generation AS `c.claimedGeneration`,
    greatest_claim_of_others AS `c.greatestClaimOfOthers`,
    assigned_to_another AS `c.assignedToAnother`
  FROM silver.ownership_claims
), judged AS (
  SELECT
    *,
    `c.held` AND `c.claimedGeneration` > `c.greatestClaimOfOthers` AS antecedent,
    NOT `c.assignedToAnother` AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    group_id,
    life,
    claim_id,
    from_position,
    to_position,
    from_time,
    to_time,
    `c.held`,
    `c.claimedGeneration`,
    `c.greatestClaimOfOthers`,
    `c.assignedToAnother`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN '~c.assignedToAnother' END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    claim_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      NAMED_STRUCT(
        'group_id',
        group_id,
        'life',
        life,
        'failed_conjunct',
        failed_conjunct,
        'c.held',
        `c.held`,
        'c.claimedGeneration',
        `c.claimedGeneration`,
        'c.greatestClaimOfOthers',
        `c.greatestClaimOfOthers`,
        'c.assignedToAnother',
        `c.assignedToAnother`
      )
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised,
    MIN(
      CASE
        WHEN verdict IS NULL
        THEN CASE WHEN `c.greatestClaimOfOthers` IS NULL OR `c.assignedToAnother` IS NULL THEN 'unread' END
      END
    ) AS reason
  FROM weighed
  GROUP BY
    cluster,
    claim_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(
      COALESCE(agreed.first_state.`group_id`, ownership_claims.group_id) AS group_id,
      COALESCE(agreed.first_state.`life`, ownership_claims.life) AS life
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN TO_JSON(STRUCT(claim_id AS c), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, ownership_claims.from_time) AS from_time,
  COALESCE(agreed.to_time, ownership_claims.to_time) AS to_time,
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END AS failed_conjunct,
  CASE
    WHEN agreed.verdict IS NULL
    THEN COALESCE(agreed.reason, ownership_claims.was_assigned_unknown, 'unread')
  END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict, FALSE)
    THEN TO_JSON(
      STRUCT(
        agreed.first_state.`c.held` AS `c.held`,
        agreed.first_state.`c.claimedGeneration` AS `c.claimedGeneration`,
        agreed.first_state.`c.greatestClaimOfOthers` AS `c.greatestClaimOfOthers`,
        agreed.first_state.`c.assignedToAnother` AS `c.assignedToAnother`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN TO_JSON(
      STRUCT(
        ownership_claims.coordinator_partition,
        ownership_claims.generation,
        ownership_claims.member_id,
        ownership_claims.client_id,
        ownership_claims.instance_id,
        ownership_claims.topic,
        ownership_claims.`partition`,
        ownership_claims.claim_source,
        ownership_claims.contradicted_by,
        ownership_claims.assigned_to,
        ownership_claims.record_offset,
        ownership_claims.unread_reason
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS evidence
FROM silver.ownership_claims AS ownership_claims
FULL OUTER JOIN agreed
  USING (cluster, claim_id)

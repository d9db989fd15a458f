-- generated from spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
-- one pass for claim_by_generation, claim_by_newest_generation
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
    claimed_generation AS "c.claimedGeneration",
    greatest_claim_of_others AS "c.greatestClaimOfOthers",
    greatest_claimed_generation AS "c.greatestClaimedGeneration"
  FROM silver.ownership_claims
), judged AS (
  SELECT
    *,
    CASE (
        "c.claimedGeneration" < "c.greatestClaimOfOthers"
      )
      WHEN TRUE
      THEN 'stale'
      WHEN FALSE
      THEN CASE (
          "c.claimedGeneration" = "c.greatestClaimOfOthers"
        )
        WHEN TRUE
        THEN 'contradicted'
        WHEN FALSE
        THEN 'valid'
        ELSE CASE WHEN 'contradicted' = 'valid' THEN 'contradicted' END
      END
      ELSE CASE
        WHEN 'stale' = CASE (
            "c.claimedGeneration" = "c.greatestClaimOfOthers"
          )
          WHEN TRUE
          THEN 'contradicted'
          WHEN FALSE
          THEN 'valid'
          ELSE CASE WHEN 'contradicted' = 'valid' THEN 'contradicted' END
        END
        THEN 'stale'
      END
    END AS c1_1,
    CASE (
        "c.claimedGeneration" < "c.greatestClaimedGeneration"
      )
      WHEN TRUE
      THEN 'stale'
      WHEN FALSE
      THEN CASE (
          "c.claimedGeneration" = "c.greatestClaimOfOthers"
        )
        WHEN TRUE
        THEN 'contradicted'
        WHEN FALSE
        THEN 'valid'
        ELSE CASE WHEN 'contradicted' = 'valid' THEN 'contradicted' END
      END
      ELSE CASE
        WHEN 'stale' = CASE (
            "c.claimedGeneration" = "c.greatestClaimOfOthers"
          )
          WHEN TRUE
          THEN 'contradicted'
          WHEN FALSE
          THEN 'valid'
          ELSE CASE WHEN 'contradicted' = 'valid' THEN 'contradicted' END
        END
        THEN 'stale'
      END
    END AS c1_2
  FROM frame
), agreed AS (
  SELECT
    cluster,
    claim_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1_1) AND MIN(c1_1) = MAX(c1_1) THEN MIN(c1_1) END AS verdict_1,
    CASE WHEN COUNT(*) = COUNT(c1_2) AND MIN(c1_2) = MAX(c1_2) THEN MIN(c1_2) END AS verdict_2,
    MIN(CASE WHEN c1_1 IS NULL THEN CASE WHEN "c.greatestClaimOfOthers" IS NULL THEN 'unread' END END) AS reason_1,
    MIN(
      CASE
        WHEN c1_2 IS NULL
        THEN CASE WHEN "c.greatestClaimedGeneration" IS NULL OR "c.greatestClaimOfOthers" IS NULL THEN 'unread' END
      END
    ) AS reason_2
  FROM judged
  GROUP BY
    cluster,
    claim_id
)
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  subject,
  STRUCT_EXTRACT(each, 'outcome') AS outcome,
  STRUCT_EXTRACT(each, 'reason') AS reason
FROM (
  SELECT
    cluster,
    subject,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      claim_id AS subject,
      [
        {'definition': 'claim_by_generation', 'outcome': agreed.verdict_1, 'reason': CASE
          WHEN agreed.verdict_1 IS NULL
          THEN COALESCE(agreed.reason_1, ownership_claims.was_assigned_unknown, 'unread')
        END},
        {'definition': 'claim_by_newest_generation', 'outcome': agreed.verdict_2, 'reason': CASE
          WHEN agreed.verdict_2 IS NULL
          THEN COALESCE(agreed.reason_2, ownership_claims.was_assigned_unknown, 'unread')
        END}
      ] AS rows_
    FROM silver.ownership_claims AS ownership_claims
    FULL OUTER JOIN agreed
      USING (cluster, claim_id)
  ) AS judged_together
) AS fanned

-- generated from ClaimByGeneration in spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
--
-- ClaimByGeneration(c) ==
--     IF Stale(c) THEN "stale" ELSE IF Contradicted(c) THEN "contradicted" ELSE "valid"
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
    claimed_generation AS `c.claimedGeneration`,
    greatest_claim_of_others AS `c.greatestClaimOfOthers`
  FROM silver.ownership_claims
), judged AS (
  SELECT
    *,
    CASE (
        `c.claimedGeneration` < `c.greatestClaimOfOthers`
      )
      WHEN TRUE
      THEN 'stale'
      WHEN FALSE
      THEN CASE (
          `c.claimedGeneration` = `c.greatestClaimOfOthers`
        )
        WHEN TRUE
        THEN 'contradicted'
        WHEN FALSE
        THEN 'valid'
        ELSE CASE WHEN 'contradicted' = 'valid' THEN 'contradicted' END
      END
      ELSE CASE
        WHEN 'stale' = CASE (
            `c.claimedGeneration` = `c.greatestClaimOfOthers`
          )
          WHEN TRUE
          THEN 'contradicted'
          WHEN FALSE
          THEN 'valid'
          ELSE CASE WHEN 'contradicted' = 'valid' THEN 'contradicted' END
        END
        THEN 'stale'
      END
    END AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    claim_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1) AND MIN(c1) = MAX(c1) THEN MIN(c1) END AS verdict,
    MIN(CASE WHEN c1 IS NULL THEN CASE WHEN `c.greatestClaimOfOthers` IS NULL THEN 'unread' END END) AS reason
  FROM judged
  GROUP BY
    cluster,
    claim_id
)
SELECT
  cluster,
  claim_id AS subject,
  agreed.verdict AS outcome,
  CASE
    WHEN agreed.verdict IS NULL
    THEN COALESCE(agreed.reason, ownership_claims.was_assigned_unknown, 'unread')
  END AS reason
FROM silver.ownership_claims AS ownership_claims
FULL OUTER JOIN agreed
  USING (cluster, claim_id)

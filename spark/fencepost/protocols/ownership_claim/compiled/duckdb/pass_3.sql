-- generated from spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
-- one pass for shipped_join, proposed_join
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    request_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    has_member_id AS "j.hasMemberId",
    protocols_supported AS "j.protocolsSupported",
    is_static AS "j.static",
    api_version AS "j.apiVersion",
    instance_known AS "j.instanceKnown",
    instance_fenced AS "j.instanceFenced",
    member_known AS "j.memberKnown",
    presented_generation AS "j.presentedGeneration",
    current_generation AS "j.currentGeneration"
  FROM silver.group_join_states
), given_1 AS (
  SELECT
    *,
    CASE (
        NOT "j.protocolsSupported"
      )
      WHEN TRUE
      THEN 'INCONSISTENT_GROUP_PROTOCOL'
      WHEN FALSE
      THEN CASE (
          NOT "j.static" AND "j.apiVersion" >= 4
        )
        WHEN TRUE
        THEN 'MEMBER_ID_REQUIRED'
        WHEN FALSE
        THEN 'NONE'
        ELSE CASE WHEN 'MEMBER_ID_REQUIRED' = 'NONE' THEN 'MEMBER_ID_REQUIRED' END
      END
      ELSE CASE
        WHEN 'INCONSISTENT_GROUP_PROTOCOL' = CASE (
            NOT "j.static" AND "j.apiVersion" >= 4
          )
          WHEN TRUE
          THEN 'MEMBER_ID_REQUIRED'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'MEMBER_ID_REQUIRED' = 'NONE' THEN 'MEMBER_ID_REQUIRED' END
        END
        THEN 'INCONSISTENT_GROUP_PROTOCOL'
      END
    END AS "given.1",
    CASE (
        NOT "j.protocolsSupported"
      )
      WHEN TRUE
      THEN 'INCONSISTENT_GROUP_PROTOCOL'
      WHEN FALSE
      THEN CASE (
          (
            "j.static" AND "j.instanceKnown"
          ) AND "j.instanceFenced"
        )
        WHEN TRUE
        THEN 'FENCED_INSTANCE_ID'
        WHEN FALSE
        THEN CASE (
            (
              "j.static" AND NOT "j.instanceKnown"
            ) OR NOT "j.memberKnown"
          )
          WHEN TRUE
          THEN 'UNKNOWN_MEMBER_ID'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'UNKNOWN_MEMBER_ID' = 'NONE' THEN 'UNKNOWN_MEMBER_ID' END
        END
        ELSE CASE
          WHEN 'FENCED_INSTANCE_ID' = CASE (
              (
                "j.static" AND NOT "j.instanceKnown"
              ) OR NOT "j.memberKnown"
            )
            WHEN TRUE
            THEN 'UNKNOWN_MEMBER_ID'
            WHEN FALSE
            THEN 'NONE'
            ELSE CASE WHEN 'UNKNOWN_MEMBER_ID' = 'NONE' THEN 'UNKNOWN_MEMBER_ID' END
          END
          THEN 'FENCED_INSTANCE_ID'
        END
      END
      ELSE CASE
        WHEN 'INCONSISTENT_GROUP_PROTOCOL' = CASE (
            (
              "j.static" AND "j.instanceKnown"
            ) AND "j.instanceFenced"
          )
          WHEN TRUE
          THEN 'FENCED_INSTANCE_ID'
          WHEN FALSE
          THEN CASE (
              (
                "j.static" AND NOT "j.instanceKnown"
              ) OR NOT "j.memberKnown"
            )
            WHEN TRUE
            THEN 'UNKNOWN_MEMBER_ID'
            WHEN FALSE
            THEN 'NONE'
            ELSE CASE WHEN 'UNKNOWN_MEMBER_ID' = 'NONE' THEN 'UNKNOWN_MEMBER_ID' END
          END
          ELSE CASE
            WHEN 'FENCED_INSTANCE_ID' = CASE (
                (
                  "j.static" AND NOT "j.instanceKnown"
                ) OR NOT "j.memberKnown"
              )
              WHEN TRUE
              THEN 'UNKNOWN_MEMBER_ID'
              WHEN FALSE
              THEN 'NONE'
              ELSE CASE WHEN 'UNKNOWN_MEMBER_ID' = 'NONE' THEN 'UNKNOWN_MEMBER_ID' END
            END
            THEN 'FENCED_INSTANCE_ID'
          END
        END
        THEN 'INCONSISTENT_GROUP_PROTOCOL'
      END
    END AS "given.2",
    CASE (
        "j.presentedGeneration" > 0 AND "j.presentedGeneration" < "j.currentGeneration"
      )
      WHEN TRUE
      THEN 'ILLEGAL_GENERATION'
      WHEN FALSE
      THEN 'NONE'
      ELSE CASE WHEN 'ILLEGAL_GENERATION' = 'NONE' THEN 'ILLEGAL_GENERATION' END
    END AS "given.4"
  FROM frame
), given_2 AS (
  SELECT
    *,
    CASE (
        NOT "j.hasMemberId"
      )
      WHEN TRUE
      THEN "given.1"
      WHEN FALSE
      THEN "given.2"
      ELSE CASE WHEN "given.1" = "given.2" THEN "given.1" END
    END AS "given.3"
  FROM given_1
), judged AS (
  SELECT
    *,
    CASE (
        NOT "j.hasMemberId"
      )
      WHEN TRUE
      THEN "given.1"
      WHEN FALSE
      THEN "given.2"
      ELSE CASE WHEN "given.1" = "given.2" THEN "given.1" END
    END AS c1_1,
    CASE (
        NOT CASE (
            NOT "j.hasMemberId"
          )
          WHEN TRUE
          THEN "given.1"
          WHEN FALSE
          THEN "given.2"
          ELSE CASE WHEN "given.1" = "given.2" THEN "given.1" END
        END = 'NONE'
      )
      WHEN TRUE
      THEN "given.3"
      WHEN FALSE
      THEN "given.4"
      ELSE CASE WHEN "given.3" = "given.4" THEN "given.3" END
    END AS c1_2
  FROM given_2
), agreed AS (
  SELECT
    cluster,
    request_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1_1) AND MIN(c1_1) = MAX(c1_1) THEN MIN(c1_1) END AS verdict_1,
    CASE WHEN COUNT(*) = COUNT(c1_2) AND MIN(c1_2) = MAX(c1_2) THEN MIN(c1_2) END AS verdict_2,
    CASE WHEN MIN(c1_1) < MAX(c1_1) THEN 'several_states' END AS reason_1,
    CASE
      WHEN MIN(c1_2) < MAX(c1_2)
      THEN 'several_states'
      ELSE MIN(CASE WHEN c1_2 IS NULL THEN CASE WHEN "j.presentedGeneration" IS NULL THEN 'unread' END END)
    END AS reason_2
  FROM judged
  GROUP BY
    cluster,
    request_id
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
      request_id AS subject,
      [
        {'definition': 'shipped_join', 'outcome': CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict_1 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict_1 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = group_joins.candidates THEN agreed.reason_1 END,
            group_joins.unknown_reason,
            'not_captured'
          )
        END},
        {'definition': 'proposed_join', 'outcome': CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict_2 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict_2 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = group_joins.candidates THEN agreed.reason_2 END,
            group_joins.unknown_reason,
            'not_captured'
          )
        END}
      ] AS rows_
    FROM silver.group_joins AS group_joins
    FULL OUTER JOIN agreed
      USING (cluster, request_id)
  ) AS judged_together
) AS fanned

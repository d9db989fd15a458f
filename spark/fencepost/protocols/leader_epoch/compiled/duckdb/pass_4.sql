-- generated from spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
-- one pass for fetch_incarnation, shipped_fetch_rule
WITH frame AS (
  SELECT
    cluster,
    log,
    fetch_position_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    last_fetched_epoch AS "f.lastFetchedEpoch",
    fetch_offset AS "f.fetchOffset",
    origin_partition_epoch AS "f.offsetPartitionEpoch",
    by_id AS "f.byId",
    asked_partition_epoch AS "f.askedPartitionEpoch",
    live_partition_epoch AS "f.livePartitionEpoch",
    asked_topic_id AS "f.topicId",
    live_topic_id AS "f.liveTopicId",
    live_leader_epoch AS "f.liveLeaderEpoch",
    current_leader_epoch AS "f.currentLeaderEpoch"
  FROM silver.fetch_position_states
), given_1 AS (
  SELECT
    *,
    CASE (
        "f.liveLeaderEpoch" = -1
      )
      WHEN TRUE
      THEN 'UNKNOWN_TOPIC_OR_PARTITION'
      WHEN FALSE
      THEN CASE (
          "f.currentLeaderEpoch" = -1
        )
        WHEN TRUE
        THEN 'NONE'
        WHEN FALSE
        THEN CASE (
            "f.currentLeaderEpoch" < "f.liveLeaderEpoch"
          )
          WHEN TRUE
          THEN 'FENCED_LEADER_EPOCH'
          WHEN FALSE
          THEN CASE (
              "f.currentLeaderEpoch" > "f.liveLeaderEpoch"
            )
            WHEN TRUE
            THEN 'UNKNOWN_LEADER_EPOCH'
            WHEN FALSE
            THEN 'NONE'
            ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
          END
          ELSE CASE
            WHEN 'FENCED_LEADER_EPOCH' = CASE (
                "f.currentLeaderEpoch" > "f.liveLeaderEpoch"
              )
              WHEN TRUE
              THEN 'UNKNOWN_LEADER_EPOCH'
              WHEN FALSE
              THEN 'NONE'
              ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
            END
            THEN 'FENCED_LEADER_EPOCH'
          END
        END
        ELSE CASE
          WHEN 'NONE' = CASE (
              "f.currentLeaderEpoch" < "f.liveLeaderEpoch"
            )
            WHEN TRUE
            THEN 'FENCED_LEADER_EPOCH'
            WHEN FALSE
            THEN CASE (
                "f.currentLeaderEpoch" > "f.liveLeaderEpoch"
              )
              WHEN TRUE
              THEN 'UNKNOWN_LEADER_EPOCH'
              WHEN FALSE
              THEN 'NONE'
              ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
            END
            ELSE CASE
              WHEN 'FENCED_LEADER_EPOCH' = CASE (
                  "f.currentLeaderEpoch" > "f.liveLeaderEpoch"
                )
                WHEN TRUE
                THEN 'UNKNOWN_LEADER_EPOCH'
                WHEN FALSE
                THEN 'NONE'
                ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
              END
              THEN 'FENCED_LEADER_EPOCH'
            END
          END
          THEN 'NONE'
        END
      END
      ELSE CASE
        WHEN 'UNKNOWN_TOPIC_OR_PARTITION' = CASE (
            "f.currentLeaderEpoch" = -1
          )
          WHEN TRUE
          THEN 'NONE'
          WHEN FALSE
          THEN CASE (
              "f.currentLeaderEpoch" < "f.liveLeaderEpoch"
            )
            WHEN TRUE
            THEN 'FENCED_LEADER_EPOCH'
            WHEN FALSE
            THEN CASE (
                "f.currentLeaderEpoch" > "f.liveLeaderEpoch"
              )
              WHEN TRUE
              THEN 'UNKNOWN_LEADER_EPOCH'
              WHEN FALSE
              THEN 'NONE'
              ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
            END
            ELSE CASE
              WHEN 'FENCED_LEADER_EPOCH' = CASE (
                  "f.currentLeaderEpoch" > "f.liveLeaderEpoch"
                )
                WHEN TRUE
                THEN 'UNKNOWN_LEADER_EPOCH'
                WHEN FALSE
                THEN 'NONE'
                ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
              END
              THEN 'FENCED_LEADER_EPOCH'
            END
          END
          ELSE CASE
            WHEN 'NONE' = CASE (
                "f.currentLeaderEpoch" < "f.liveLeaderEpoch"
              )
              WHEN TRUE
              THEN 'FENCED_LEADER_EPOCH'
              WHEN FALSE
              THEN CASE (
                  "f.currentLeaderEpoch" > "f.liveLeaderEpoch"
                )
                WHEN TRUE
                THEN 'UNKNOWN_LEADER_EPOCH'
                WHEN FALSE
                THEN 'NONE'
                ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
              END
              ELSE CASE
                WHEN 'FENCED_LEADER_EPOCH' = CASE (
                    "f.currentLeaderEpoch" > "f.liveLeaderEpoch"
                  )
                  WHEN TRUE
                  THEN 'UNKNOWN_LEADER_EPOCH'
                  WHEN FALSE
                  THEN 'NONE'
                  ELSE CASE WHEN 'UNKNOWN_LEADER_EPOCH' = 'NONE' THEN 'UNKNOWN_LEADER_EPOCH' END
                END
                THEN 'FENCED_LEADER_EPOCH'
              END
            END
            THEN 'NONE'
          END
        END
        THEN 'UNKNOWN_TOPIC_OR_PARTITION'
      END
    END AS "given.1"
  FROM frame
), judged AS (
  SELECT
    *,
    CASE (
        "f.lastFetchedEpoch" = -1 OR NOT (
          "f.fetchOffset" > 0 AND NOT "f.offsetPartitionEpoch" = -1
        )
      )
      WHEN TRUE
      THEN 'NONE'
      WHEN FALSE
      THEN CASE (
          NOT "f.offsetPartitionEpoch" = CASE "f.byId"
            WHEN TRUE
            THEN "f.askedPartitionEpoch"
            WHEN FALSE
            THEN "f.livePartitionEpoch"
            ELSE CASE WHEN "f.askedPartitionEpoch" = "f.livePartitionEpoch" THEN "f.askedPartitionEpoch" END
          END
        )
        WHEN TRUE
        THEN 'INVALID_PARTITION_EPOCH'
        WHEN FALSE
        THEN 'NONE'
        ELSE CASE WHEN 'INVALID_PARTITION_EPOCH' = 'NONE' THEN 'INVALID_PARTITION_EPOCH' END
      END
      ELSE CASE
        WHEN 'NONE' = CASE (
            NOT "f.offsetPartitionEpoch" = CASE "f.byId"
              WHEN TRUE
              THEN "f.askedPartitionEpoch"
              WHEN FALSE
              THEN "f.livePartitionEpoch"
              ELSE CASE WHEN "f.askedPartitionEpoch" = "f.livePartitionEpoch" THEN "f.askedPartitionEpoch" END
            END
          )
          WHEN TRUE
          THEN 'INVALID_PARTITION_EPOCH'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'INVALID_PARTITION_EPOCH' = 'NONE' THEN 'INVALID_PARTITION_EPOCH' END
        END
        THEN 'NONE'
      END
    END AS c1_1,
    CASE (
        "f.byId" AND NOT "f.topicId" = "f.liveTopicId"
      )
      WHEN TRUE
      THEN 'UNKNOWN_TOPIC_ID'
      WHEN FALSE
      THEN "given.1"
      ELSE CASE WHEN 'UNKNOWN_TOPIC_ID' = "given.1" THEN 'UNKNOWN_TOPIC_ID' END
    END AS c1_2
  FROM given_1
), agreed AS (
  SELECT
    cluster,
    fetch_position_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1_1) AND MIN(c1_1) = MAX(c1_1) THEN MIN(c1_1) END AS verdict_1,
    CASE WHEN COUNT(*) = COUNT(c1_2) AND MIN(c1_2) = MAX(c1_2) THEN MIN(c1_2) END AS verdict_2,
    CASE
      WHEN MIN(c1_1) < MAX(c1_1)
      THEN 'several_states'
      ELSE MIN(
        CASE
          WHEN c1_1 IS NULL
          THEN CASE
            WHEN "f.lastFetchedEpoch" IS NULL OR "f.fetchOffset" IS NULL OR "f.offsetPartitionEpoch" IS NULL
            THEN 'client_unknown'
          END
        END
      )
    END AS reason_1,
    CASE
      WHEN MIN(c1_2) < MAX(c1_2)
      THEN 'several_states'
      ELSE MIN(CASE WHEN c1_2 IS NULL THEN CASE WHEN "f.currentLeaderEpoch" IS NULL THEN 'client_unknown' END END)
    END AS reason_2
  FROM judged
  GROUP BY
    cluster,
    fetch_position_id
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
      fetch_position_id AS subject,
      [
        {'definition': 'fetch_incarnation', 'outcome': CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict_1 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict_1 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.reason_1 END,
            fetch_positions.live_unknown,
            'topic_unknown'
          )
        END},
        {'definition': 'shipped_fetch_rule', 'outcome': CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict_2 END, 'reason': CASE
          WHEN CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict_2 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.reason_2 END,
            fetch_positions.live_unknown,
            'topic_unknown'
          )
        END}
      ] AS rows_
    FROM silver.fetch_positions AS fetch_positions
    FULL OUTER JOIN agreed
      USING (cluster, fetch_position_id)
  ) AS judged_together
) AS fanned

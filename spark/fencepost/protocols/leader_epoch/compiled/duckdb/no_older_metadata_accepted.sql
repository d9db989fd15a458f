-- generated from NoOlderMetadataAccepted in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
--
-- NoOlderMetadataAccepted == \A a \in metadataAnswers : OlderThanCached(a) => ~a.accepted
WITH frame AS (
  SELECT
    cluster,
    log,
    answer_partition_id,
    from_position,
    to_position,
    from_time,
    to_time,
    cached AS "a.cached",
    told AS "a.told",
    told_partition_epoch AS "a.partitionEpoch",
    cached_partition_epoch AS "a.cachedPartitionEpoch",
    told_leader_epoch AS "a.leaderEpoch",
    cached_leader_epoch AS "a.cachedLeaderEpoch",
    cached_gone AS "a.cachedGone",
    told_max_partition_epoch AS "a.maxPartitionEpoch",
    cached_max_partition_epoch AS "a.cachedMaxPartitionEpoch",
    accepted AS "a.accepted"
  FROM silver.metadata_answer_partitions
), judged AS (
  SELECT
    *,
    "a.cached"
    AND CASE "a.told"
      WHEN TRUE
      THEN "a.partitionEpoch" < "a.cachedPartitionEpoch"
      OR (
        "a.partitionEpoch" = "a.cachedPartitionEpoch"
        AND (
          "a.leaderEpoch" < "a.cachedLeaderEpoch"
          OR (
            "a.cachedGone" AND "a.maxPartitionEpoch" < "a.cachedMaxPartitionEpoch"
          )
        )
      )
      WHEN FALSE
      THEN NOT "a.cachedGone" AND "a.maxPartitionEpoch" < "a.cachedPartitionEpoch"
      ELSE CASE
        WHEN (
          "a.partitionEpoch" < "a.cachedPartitionEpoch"
          OR (
            "a.partitionEpoch" = "a.cachedPartitionEpoch"
            AND (
              "a.leaderEpoch" < "a.cachedLeaderEpoch"
              OR (
                "a.cachedGone" AND "a.maxPartitionEpoch" < "a.cachedMaxPartitionEpoch"
              )
            )
          )
        ) = (
          NOT "a.cachedGone" AND "a.maxPartitionEpoch" < "a.cachedPartitionEpoch"
        )
        THEN "a.partitionEpoch" < "a.cachedPartitionEpoch"
        OR (
          "a.partitionEpoch" = "a.cachedPartitionEpoch"
          AND (
            "a.leaderEpoch" < "a.cachedLeaderEpoch"
            OR (
              "a.cachedGone" AND "a.maxPartitionEpoch" < "a.cachedMaxPartitionEpoch"
            )
          )
        )
      END
    END AS antecedent,
    NOT "a.accepted" AS c1
  FROM frame
), weighed AS (
  SELECT
    cluster,
    log,
    answer_partition_id,
    from_position,
    to_position,
    from_time,
    to_time,
    "a.cached",
    "a.told",
    "a.partitionEpoch",
    "a.cachedPartitionEpoch",
    "a.leaderEpoch",
    "a.cachedLeaderEpoch",
    "a.cachedGone",
    "a.maxPartitionEpoch",
    "a.cachedMaxPartitionEpoch",
    "a.accepted",
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN '~a.accepted' END AS failed_conjunct
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    answer_partition_id
  FROM silver.metadata_answer_partitions
  GROUP BY
    cluster,
    answer_partition_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    answer_partition_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'log': log, 'failed_conjunct': failed_conjunct, 'a.cached': "a.cached", 'a.told': "a.told", 'a.partitionEpoch': "a.partitionEpoch", 'a.cachedPartitionEpoch': "a.cachedPartitionEpoch", 'a.leaderEpoch': "a.leaderEpoch", 'a.cachedLeaderEpoch': "a.cachedLeaderEpoch", 'a.cachedGone': "a.cachedGone", 'a.maxPartitionEpoch': "a.maxPartitionEpoch", 'a.cachedMaxPartitionEpoch': "a.cachedMaxPartitionEpoch", 'a.accepted': "a.accepted"} AS first_state,
    CASE WHEN COALESCE(verdict, FALSE) THEN TRUE WHEN COALESCE(NOT verdict, FALSE) THEN FALSE END AS verdict,
    exercised AS exercised,
    CASE
      WHEN verdict IS NULL
      THEN CASE
        WHEN "a.cached" IS NULL OR "a.cachedMaxPartitionEpoch" IS NULL OR "a.accepted" IS NULL
        THEN 'client_unknown'
      END
    END AS reason
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.answer_partition_id IS NOT DISTINCT FROM weighed.answer_partition_id
    )
  UNION ALL
  SELECT
    cluster,
    answer_partition_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      {'log': log, 'failed_conjunct': failed_conjunct, 'a.cached': "a.cached", 'a.told': "a.told", 'a.partitionEpoch': "a.partitionEpoch", 'a.cachedPartitionEpoch': "a.cachedPartitionEpoch", 'a.leaderEpoch': "a.leaderEpoch", 'a.cachedLeaderEpoch': "a.cachedLeaderEpoch", 'a.cachedGone': "a.cachedGone", 'a.maxPartitionEpoch': "a.maxPartitionEpoch", 'a.cachedMaxPartitionEpoch': "a.cachedMaxPartitionEpoch", 'a.accepted': "a.accepted"}
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
        THEN CASE
          WHEN "a.cached" IS NULL OR "a.cachedMaxPartitionEpoch" IS NULL OR "a.accepted" IS NULL
          THEN 'client_unknown'
        END
      END
    ) AS reason
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.answer_partition_id IS NOT DISTINCT FROM weighed.answer_partition_id
    )
  GROUP BY
    cluster,
    answer_partition_id
)
SELECT
  cluster,
  CAST(JSON_OBJECT('log', COALESCE(STRUCT_EXTRACT(agreed.first_state, 'log'), metadata_answer_partitions.log)) AS TEXT) AS scope,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN CAST(JSON_OBJECT('a', answer_partition_id) AS TEXT)
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, metadata_answer_partitions.requested_at) AS from_time,
  COALESCE(agreed.to_time, metadata_answer_partitions.responded_at) AS to_time,
  agreed.verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE WHEN NOT agreed.verdict THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct') END AS failed_conjunct,
  CASE WHEN agreed.verdict IS NULL THEN COALESCE(agreed.reason, 'topic_unknown') END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict, FALSE)
    THEN CAST(JSON_OBJECT(
      'a.cached',
      STRUCT_EXTRACT(agreed.first_state, 'a.cached'),
      'a.told',
      STRUCT_EXTRACT(agreed.first_state, 'a.told'),
      'a.partitionEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'a.partitionEpoch'),
      'a.cachedPartitionEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'a.cachedPartitionEpoch'),
      'a.leaderEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'a.leaderEpoch'),
      'a.cachedLeaderEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'a.cachedLeaderEpoch'),
      'a.cachedGone',
      STRUCT_EXTRACT(agreed.first_state, 'a.cachedGone'),
      'a.maxPartitionEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'a.maxPartitionEpoch'),
      'a.cachedMaxPartitionEpoch',
      STRUCT_EXTRACT(agreed.first_state, 'a.cachedMaxPartitionEpoch'),
      'a.accepted',
      STRUCT_EXTRACT(agreed.first_state, 'a.accepted')
    ) AS TEXT)
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(agreed.verdict, FALSE)
    )
    THEN CAST(JSON_OBJECT(
      'request_id',
      metadata_answer_partitions.request_id,
      'broker_id',
      metadata_answer_partitions.broker_id,
      'client_id',
      metadata_answer_partitions.client_id,
      'client_host',
      metadata_answer_partitions.client_host,
      'software_name',
      metadata_answer_partitions.software_name,
      'software_version',
      metadata_answer_partitions.software_version,
      'topic',
      metadata_answer_partitions.topic,
      'partition',
      metadata_answer_partitions."partition",
      'cached_topic_id',
      metadata_answer_partitions.cached_topic_id,
      'told_topic_id',
      metadata_answer_partitions.told_topic_id,
      'told_leader',
      metadata_answer_partitions.told_leader,
      'error',
      metadata_answer_partitions.error,
      'file',
      metadata_answer_partitions.file,
      'position',
      metadata_answer_partitions."position"
    ) AS TEXT)
  END AS evidence
FROM silver.metadata_answer_partitions AS metadata_answer_partitions
FULL OUTER JOIN agreed
  USING (cluster, answer_partition_id)

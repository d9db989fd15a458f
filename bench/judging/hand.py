"""The predicates of Epochs.tla as SQL written by hand, for comparison with the compiled SQL.

A part of history that is not covered is unknown here, too.
"""

HAND = {
    "members_within_group": """
        SELECT member_id, from_position, member_epoch, group_epoch, member_epoch <= group_epoch AS verdict
        FROM members
        UNION ALL
        SELECT NULL, from_position, NULL, NULL, NULL FROM coverage WHERE NOT covered""",
    "member_epoch_never_falls": """
        SELECT member_id, from_position, member_epoch, next_epoch, next_epoch >= member_epoch AS verdict
        FROM (
          SELECT member_id, member_epoch, to_position,
            lead(from_position) OVER w AS from_position, lead(member_epoch) OVER w AS next_epoch
          FROM members
          WINDOW w AS (PARTITION BY cluster, group_id, life, member_id ORDER BY from_position)
        ) WHERE from_position = to_position
        UNION ALL
        SELECT NULL, from_position, NULL, NULL, NULL FROM coverage WHERE NOT covered""",
    "group_epoch_never_falls": """
        SELECT from_position, group_epoch, next_epoch, next_epoch >= group_epoch AS verdict
        FROM (
          SELECT group_epoch, to_position,
            lead(from_position) OVER w AS from_position, lead(group_epoch) OVER w AS next_epoch
          FROM consumer_group
          WINDOW w AS (PARTITION BY cluster, group_id, life ORDER BY from_position)
        ) WHERE from_position = to_position
        UNION ALL
        SELECT from_position, NULL, NULL, NULL FROM coverage WHERE NOT covered""",
}
SHOWN = {
    "members_within_group": "struct(from_position, member_id, member_epoch, group_epoch)",
    "member_epoch_never_falls": "struct(from_position, member_id, member_epoch, next_epoch)",
    "group_epoch_never_falls": "struct(from_position, group_epoch, next_epoch)",
}

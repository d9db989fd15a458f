"""Why records of share groups are delivered again, or never again (KIP-932).

``lines`` reads what members fetched and acknowledged (request logs), ``state_log`` what became of
it (``__share_group_state``). ``share_partition`` replays both, named after Kafka's SharePartition, and
``causes`` decides what ended a delivery. ``rebuild`` gives each group to one task.
"""

"""Why stores are restored from the beginning, as the log of one instance shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
import pytest

from fencepost.protocols.lag_report.bronze import STREAMS_LINES
from fencepost.protocols.lag_report.tables import TASK_RESTORES
from fencepost.tables import RECORDS, REQUESTS

_INTERNALS = "org.apache.kafka.streams.processor.internals"
PROCESS_ID = "61616161-6161-6161-6161-616161616161"
FRESH = f"No process id found on disk, got fresh process id {PROCESS_ID} ({_INTERNALS}.StateDirectory)"
FOUND = f"Reading UUID from process file: {PROCESS_ID} ({_INTERNALS}.StateDirectory)"
VERSION = "stream-client [app] Kafka Streams version: 4.3.1 (org.apache.kafka.streams.KafkaStreams)"
JOINING = (
    "[Consumer clientId=app-StreamThread-1-consumer, groupId=orders] (Re-)joining group "
    "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
)
RESTORED = (
    "stream-thread [app-StreamThread-1] stream-task [0_0] State store store did not find checkpoint offset, "
    "hence would default to the starting offset at changelog orders-store-changelog-0 "
    f"({_INTERNALS}.ProcessorStateManager)"
)
CHECKPOINT = (
    "stream-thread [app-StreamThread-1] stream-task [0_0] State store store initialized from checkpoint with "
    f"offset 7 at changelog orders-store-changelog-0 ({_INTERNALS}.ProcessorStateManager)"
)
CLEANED = (
    "stream-thread [app-CleanupThread] Deleting obsolete state directory /tmp/0_0 for task 0_0 as 9000ms has "
    f"elapsed (cleanup delay is 1000ms). ({_INTERNALS}.StateDirectory)"
)
OTHERS = CLEANED.replace("0_0", "0_1")
WIPED = (
    "stream-thread [app-StreamThread-1] stream-task [0_0] Wiping state stores for ACTIVE task 0_0 "
    f"({_INTERNALS}.StateManagerUtil)"
)
CORRUPTED = (
    "stream-thread [app-StreamThread-1] Detected the states of tasks [0_1, 0_0] are corrupted. Will close "
    f"the task as dirty and re-create and bootstrap from scratch. ({_INTERNALS}.StreamThread)\n"
    "org.apache.kafka.streams.errors.TaskCorruptedException: Tasks [0_1, 0_0] are corrupted and hence need "
    "to be re-initialized"
)
BEGUN = (FRESH, VERSION, JOINING, RESTORED)


@pytest.mark.parametrize(
    ("log", "causes"),
    [
        (BEGUN, ["new_disk"]),
        ((*BEGUN, CLEANED, RESTORED), ["new_disk", "cleaner"]),
        ((*BEGUN, WIPED, RESTORED), ["new_disk", "wipe"]),
        ((*BEGUN, CORRUPTED, RESTORED), ["new_disk", "corrupted"]),
        # whether or not the log is detailed enough to say that the thread wiped it
        ((*BEGUN, CORRUPTED, WIPED, RESTORED), ["new_disk", "corrupted"]),
        ((*BEGUN, CORRUPTED, RESTORED, WIPED, RESTORED), ["new_disk", "corrupted", "wipe"]),
        ((*BEGUN, CORRUPTED.replace("0_1, 0_0", "0_1"), RESTORED), ["new_disk", "no_checkpoint"]),
        # of another task
        ((*BEGUN, OTHERS, RESTORED), ["new_disk", "no_checkpoint"]),
        # killed: the directory is there, the checkpoint is not
        ((*BEGUN, FOUND, VERSION, JOINING, RESTORED), ["new_disk", "no_checkpoint"]),
        ((*BEGUN, FRESH, VERSION, JOINING, RESTORED), ["new_disk", "new_disk"]),
        ((*BEGUN, CLEANED, CHECKPOINT, RESTORED), ["new_disk", None, "no_checkpoint"]),
        # the log begins when the instance has had its directory for long
        ((FOUND, VERSION, JOINING, RESTORED), [None]),
        # and tells nothing of directories
        ((VERSION, JOINING, RESTORED, RESTORED), [None, None]),
    ],
)
def test_the_newest_that_happened_is_the_cause(
    log: tuple[str, ...],
    causes: list[str | None],
    entries_of: Callable[[str, str], pa.Table],
    rebuild_streams: Callable[[Mapping[str, pa.Table]], Mapping[str, pa.Table]],
) -> None:
    lines = [f"[2026-01-05 10:00:{second:02},000] INFO {line}" for second, line in enumerate(log)]
    silver = rebuild_streams(
        {
            RECORDS.name: RECORDS.arrow_schema.empty_table(),
            REQUESTS.name: REQUESTS.arrow_schema.empty_table(),
            STREAMS_LINES.name: entries_of("c", "\n".join(lines) + "\n"),
        }
    )
    restores = silver[TASK_RESTORES.name].sort_by("started_at")
    assert restores["restore_cause"].to_pylist() == causes

"""What the engineer on call is told has the names of what it is about."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fencepost.definitions import Definition, definitions
from fencepost.report.on_call import names_of, what_to_do, with_names
from fencepost.report.wording import evidence_of, indented, values_of, without_digests

NAMED = {
    "group_id": "g",
    "transactional_id": "t",
    "topic": "orders",
    "partition": 0,
    "first_offset": 0,
}
TOOL = "kafka-consumer-groups.sh --bootstrap-server BROKER:9092"
STREAMS = TOOL.replace("consumer", "streams")
OFFSET, BROKER = "--to-offset N", "--entity-name ID"
"""Which only who is on call knows."""
RESET = "`--describe --group G`, then `--reset-offsets --topic T:P --to-offset N --execute`"


@pytest.mark.parametrize(
    ("text", "about", "told"),
    [
        (
            RESET,
            {"group_id": "checkout", "topic": "orders", "partition": 2},
            "`--describe --group checkout`, then `--reset-offsets --topic orders:2 --to-offset N --execute`",
        ),
        # an incident of several partitions names none
        (
            RESET,
            {"group_id": "g", "topic": "orders", "partition": None},
            RESET.replace(" G`", " g`").replace("T:P", "orders:P"),
        ),
        (RESET, {}, RESET),
        (
            "`abort --topic T --partition P`",
            {"topic": "a", "partition": 0},
            "`abort --topic a --partition 0`",
        ),
        ("`find-hanging --topic T`", {"topic": "t"}, "`find-hanging --topic t`"),
        ("`--start-offset N`", {"first_offset": 0}, "`--start-offset 0`"),
        # kafka-consumer-groups.sh does not find groups of Kafka Streams, nor share groups
        (
            f"`{TOOL} --describe --group G`, then `{TOOL} --group G --reset-offsets --topic T:P`; {TOOL[:8]}",
            {"group_id": "a", "topic": "t", "partition": 1, "group_type": "streams"},
            f"`{STREAMS} --describe --group a --offsets --verbose`, "
            f"then `{STREAMS} --group a --reset-offsets --input-topic t:1`; {TOOL[:8]}",
        ),
        (
            f"`{TOOL} --describe --group G --members`",
            {"group_id": "a", "group_type": "share"},
            f"`{TOOL.replace('consumer', 'share')} --describe --group a --members`",
        ),
        (f"`{TOOL} --group G`", {"group_id": "a", "group_type": "classic"}, f"`{TOOL} --group a`"),
        ("`--group G`", {"group_id": "x; rm -rf '"}, "`--group 'x; rm -rf '\"'\"''`"),
        ("`--group G`", {"group_id": "a\n\\1"}, "`--group $'a\\012\\\\1'`"),
    ],
)
def test_commands_have_the_names_that_are_known(text: str, about: dict[str, Any], told: str) -> None:
    assert with_names(text, about) == told


@pytest.mark.parametrize("found", definitions(), ids=lambda each: each.id)
def test_every_command_can_be_copied_as_it_is(found: Definition) -> None:
    """It reaches a cluster or a file, and no text has a part of a command."""
    told = what_to_do(found.id, {}) or ""
    for each in re.findall("`([^`]*)`", told):
        assert not each.startswith("-"), each
        if each.startswith("kafka-dump-log.sh"):
            assert each.endswith(" --files SEGMENT")
        elif each.startswith("kafka-") and " " in each:
            assert " --bootstrap-server BROKER:9092 " in each
            assert ("--reset-offsets" in each) == ("--execute" in each)
            # what is left open is one of the blanks, which are filled
            assert not set(re.findall(r"--\S+ [A-Z:]+(?= |$)", with_names(each, NAMED))) - {OFFSET, BROKER}


@pytest.mark.parametrize(
    "command",
    [
        "`kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --describe --group 'a b'`",
        """`fencepost sql "SELECT * FROM marts.fct_offset_commits WHERE truth = 'unfenced'"`""",
    ],
)
def test_a_command_is_not_broken_into_lines(command: str) -> None:
    lines = indented(f"On call: the verdict names the sender, and whoever else has it. {command} says who.")
    assert len(lines) > 1
    assert sum(command in line for line in lines) == 1


def test_the_text_of_a_definition_is_told_without_its_heading() -> None:
    told = what_to_do("no_zombie_accepted", {"group_id": "checkout"})
    assert told is not None
    assert told.startswith("the committed offset of this partition may have gone")
    assert "--describe --group checkout`" in told
    assert what_to_do("no such invariant", {}) is None


def test_a_command_names_the_partition_that_lacks_a_marker_and_not_the_coordinators_log() -> None:
    verdict = {
        "scope": '{"topic": "__transaction_state", "partition": 7}',
        "evidence": '{"transaction_partition": "orders:2", "due_type": "ABORT", "marker_position": null}',
        "topic": "orders",
        "partition": 2,
    }
    told = what_to_do("every_marker_is_written", names_of(verdict))
    assert told is not None
    assert "abort --topic orders --partition 2 --start-offset N`" in told
    assert "__transaction_state" not in told
    # of a definition that is judged over a coordinator's log, and about no partition
    assert "topic" not in names_of({**verdict, "topic": None, "partition": None})


def test_values_are_those_of_tla_and_evidence_is_that_of_columns() -> None:
    observed = '{"c.accepted": true, "c.error": "NONE", "c.epoch": -1, "c.owner": null}'
    assert values_of(observed) == {
        "c.accepted": "TRUE",
        "c.error": '"NONE"',
        "c.epoch": "-1",
        "c.owner": "?",
    }
    evidence = '{"commit": false, "client_id": "a", "host": null, "file": "request.log", "position": 7}'
    assert evidence_of(evidence) == {"commit": "false", "client_id": "a"}


def test_a_digest_says_nothing_to_a_reader() -> None:
    assert without_digests({"c": "0f" * 32, "p": "orders-2"}) == {"p": "orders-2"}

"""What is said of requests to transaction coordinators, from the marts' golden rows, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from golden_marts import open_golden_marts

from fencepost.protocols.producer_epoch import explanation
from fencepost.reading import Reader


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A lake with the golden rows of the marts of this protocol."""
    with open_golden_marts(tmp_path_factory.mktemp("lake"), "producer_epoch") as opened:
        yield opened


@pytest.mark.parametrize(
    ("element", "words"),
    [
        (
            "i10",
            "2026-02-01 10:01:31.000 UTC  client app-z (connection c) asked for an epoch of transactional id "
            "'pay'ments\\n$1' (InitProducerId) and presented producer id 1000, epoch 0; the coordinator had "
            "producer id 1000, epoch 1 in Ongoing; it answered CONCURRENT_TRANSACTIONS.\n"
            "KIP-360 says fenced, the shipped rule waits.",
        ),
        (
            "i1",
            "and presented no producer id; the coordinator had no producer id in Empty; it answered with ",
        ),
        (
            "i6",
            "the coordinator had producer id 1000, epoch (unknown); it answered PRODUCER_FENCED.\nKIP-360 ",
        ),
        ("i6", "KIP-360 says (unknown), the shipped rule fenced."),
        ("e3", " asked to abort the transaction of transactional id "),
        (
            "e3",
            "it answered with producer id 1000, epoch 5.\nKIP-890 says PRODUCER_FENCED, the shipped rule N",
        ),
        ("e6", "what the coordinator had is not known; its answer is not known."),
        ("a1", " asked to add orders:0 to the transaction of transactional id "),
        ("a1", "it granted that.\nThe shipped rule says NONE."),
        ("a2", " asked whether orders:1 is in the transaction of transactional id "),
    ],
)
def test_a_verdict_on_a_request_is_explained(reader: Reader, element: str, words: str) -> None:
    (told,) = explanation.explain(reader, [_verdict(element, "violated")]).values()
    assert words in told.sentence
    assert told.file == "kafka-request.log"
    assert told.position is not None


def test_only_what_is_violated_is_explained(reader: Reader) -> None:
    assert explanation.explain(reader, [_verdict("i10", "unknown")]) == {}


def _verdict(element: str, verdict: str) -> dict[str, Any]:
    return {
        "verdict_id": "v",
        "invariant": "no_stale_abort",
        "module": "ProducerEpochProps",
        "verdict": verdict,
        "witness": json.dumps({"r": element}),
    }

"""``offsetEpoch``: the layout, what is refused, and the same in SQL on both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from fencepost.opening import open_lake
from fencepost.protocols.leader_epoch.offset_epoch import OffsetEpochError, decode, encode
from fencepost.reading import QueryError, rows
from fencepost.reading.spark import SparkReader
from fencepost.settings import Settings

EPOCHS = st.integers(-1, 2**31 - 1)
GOLDEN = {
    (0, 0): "000000000000000000",
    (7, 260): "000000000700000104",
    (-1, -1): "00ffffffffffffffff",
    (2**31 - 1, 1): "007fffffff00000001",
}


@pytest.mark.parametrize(("epochs", "text"), GOLDEN.items())
def test_the_layout_never_changes(epochs: tuple[int, int], text: str) -> None:
    assert encode(*epochs).hex() == text
    assert decode(bytes.fromhex(text)) == epochs


@given(EPOCHS, EPOCHS)
def test_what_was_encoded_is_decoded(leader_epoch: int, partition_epoch: int) -> None:
    assert decode(encode(leader_epoch, partition_epoch)) == (leader_epoch, partition_epoch)


@given(st.binary(max_size=12))
def test_bytes_are_decoded_or_refused_in_words(data: bytes) -> None:
    try:
        assert encode(*decode(data)) == data
    except OffsetEpochError as error:
        assert len(str(error).split()) > 6


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not empty"),
        (b"\x01" + bytes(8), "version 1"),
        (bytes(8), "9 bytes, not 8"),
        (bytes(10), "9 bytes, not 10"),
        (bytes.fromhex("00fffffffe00000000"), "below -1"),
    ],
)
def test_what_cannot_be_decoded_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(OffsetEpochError, match=why):
        decode(data)


@pytest.mark.parametrize("epochs", [(-2, 0), (0, -2), (2**31, 0)])
def test_what_is_no_epoch_is_not_encoded(epochs: tuple[int, int]) -> None:
    with pytest.raises(OffsetEpochError, match=r"is no (leader|partition) epoch"):
        encode(*epochs)


def test_sql_has_the_same_functions_on_both_engines(
    new_lake: Callable[[], tuple[SparkSession, Settings]],
) -> None:
    session, settings = new_lake()
    query = """
        SELECT hex(offset_epoch(l, p)) AS told, leader_epoch_of(offset_epoch(l, p)) AS l,
          partition_epoch_of(offset_epoch(l, p)) AS p
        FROM VALUES (7, 260), (-1, 0), (CAST(NULL AS int), 1) AS t(l, p)
    """

    def answers(reader: Any) -> list[dict[str, Any]]:
        with pytest.raises(QueryError, match=r"version 1 .*only version 0 is known"):
            reader.query("SELECT leader_epoch_of(unhex('010000000000000000')) AS x")
        return rows(reader.query(query))

    with open_lake(settings, "duckdb") as reader:
        expected = answers(reader)
    assert expected == answers(SparkReader(session))
    assert expected == [
        {"told": "000000000700000104", "l": 7, "p": 260},
        {"told": "00FFFFFFFF00000000", "l": -1, "p": 0},
        {"told": None, "l": None, "p": None},
    ]

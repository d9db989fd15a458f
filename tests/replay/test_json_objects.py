"""Texts of JSON objects to columns, also where one of many is not as it should be."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from fencepost.replay.json_objects import objects_of

FIELDS = pa.struct({"name": pa.string(), "of": pa.list_(pa.struct({"number": pa.int32()}))})
GOOD = '{"name":"a","more":[{"x":1.5}],"of":[{"number":1},{"number":2}]}'
READ = {"name": "a", "of": [{"number": 1}, {"number": 2}]}


def read(*texts: str | None) -> list[object]:
    """What objects_of gives."""
    return list(objects_of(pa.array(texts, pa.string()), FIELDS).to_pylist())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", {"name": None, "of": None}),
        (None, None),
        ("", None),
        ("null", None),
        ("[]", None),
        ('{"name":', None),
        ('{"name":1}', None),
        ('{"of":{}}', None),
        ('{"of":[{"number":1.0}]}', None),
        ('{"of":[{"number":2147483648}]}', None),
        # what strict readers do not take, and Java writes
        ('{"more":NaN,"name":"a"}', {"name": "a", "of": None}),
        ('{"name":"a\\ud800"}', {"name": "a?", "of": None}),
        ('{"name":"a","name":"b"}', {"name": "b", "of": None}),
        ('{"name":"a"}{"name":"b"}', {"name": "a", "of": None}),
        ('{\n"name":"a"}', {"name": "a", "of": None}),
        ('{"name":"\\ud83d\\ude00"}', {"name": "\U0001f600", "of": None}),
    ],
)
def test_one_text_says_nothing_of_others(text: str | None, expected: object) -> None:
    for texts, found in (((text,), [expected]), ((GOOD, text, GOOD), [READ, expected, READ])):
        assert read(*texts) == found


def test_many_that_do_not_fit() -> None:
    chosen = random.Random(5).choices([(GOOD, READ), ('{"name":1}', None), (None, None)], k=200)
    assert read(*(text for text, _ in chosen)) == [found for _, found in chosen]


def test_nothing() -> None:
    assert read() == []

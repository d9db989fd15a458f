"""Texts of JSON objects to columns of Arrow, all at once."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from fencepost.replay.requests import parse_object


def objects_of(texts: pa.Array, fields: pa.StructType) -> pa.StructArray:
    """The members with these names and types of the JSON object in each text; null where the text is null, no
    object, or has a member of another type.
    """
    given = pc.fill_null(texts, "{}")
    found = _read(given, fields)
    if not texts.null_count:
        return found
    return pa.StructArray.from_arrays(
        found.flatten(), fields=list(fields), mask=pc.or_(pc.is_null(texts), pc.is_null(found))
    )


def _read(texts: pa.Array, fields: pa.StructType) -> pa.StructArray:
    """What does not fit is looked for in halves: nearly everything does."""
    found = _read_together(texts, fields)
    if found is not None:
        return found
    if len(texts) > 1:
        half = len(texts) // 2
        return pa.concat_arrays([_read(texts[:half], fields), _read(texts[half:], fields)])
    plain = _plain(texts[0].as_py())
    found = None if plain is None else _read_together(pa.array([plain], pa.string()), fields)
    return pa.nulls(1, fields) if found is None else found


def _read_together(texts: pa.Array, fields: pa.StructType) -> pa.StructArray | None:
    """What each text has; None where one of them does not fit."""
    if not len(texts):
        return pa.array([], fields)
    if not pc.all(pc.starts_with(texts, "{")).as_py():
        return None
    lines = pc.binary_join(pa.ListArray.from_arrays([0, len(texts)], texts), "\n")[0].as_buffer()
    try:
        rows = pj.read_json(
            pa.BufferReader(lines),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(lines) + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=pa.schema(list(fields)), unexpected_field_behavior="ignore"
            ),
        )
    except pa.ArrowInvalid:
        return None
    # a text with a break, or with two objects
    if rows.num_rows != len(texts):
        return None
    columns = [rows[field.name].combine_chunks() for field in fields]
    return pa.StructArray.from_arrays(columns, fields=list(fields))


def _plain(text: str) -> str | None:
    """The object in a text as strict readers take it: each member once, no half of a surrogate pair."""
    found = parse_object(text)
    try:
        # '?' for what is no text, as Java writes it
        return (
            None if found is None else json.dumps(found, ensure_ascii=False).encode(errors="replace").decode()
        )
    except RecursionError:
        return None

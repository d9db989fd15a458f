"""Reads texts of JSON objects into Arrow columns, all at once."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from fencepost.replay.requests import parse_object


def objects_of(texts: pa.Array, fields: pa.StructType) -> pa.StructArray:
    """The fields with these names and types of the JSON object in each text; null if the text is null or no
    object, or if a field has another type.
    """
    present = pc.fill_null(texts, "{}")
    objects = _read(present, fields)
    if not texts.null_count:
        return objects
    return pa.StructArray.from_arrays(
        objects.flatten(), fields=list(fields), mask=pc.or_(pc.is_null(texts), pc.is_null(objects))
    )


def _read(texts: pa.Array, fields: pa.StructType) -> pa.StructArray:
    """Read texts together; if one does not fit, each half of them separately, because nearly all
    texts fit.
    """
    objects = _read_together(texts, fields)
    if objects is not None:
        return objects
    if len(texts) > 1:
        half = len(texts) // 2
        return pa.concat_arrays([_read(texts[:half], fields), _read(texts[half:], fields)])
    plain = _plain(texts[0].as_py())
    objects = None if plain is None else _read_together(pa.array([plain], pa.string()), fields)
    return pa.nulls(1, fields) if objects is None else objects


def _read_together(texts: pa.Array, fields: pa.StructType) -> pa.StructArray | None:
    """The fields of each text; None if any text does not fit."""
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
    # a text has a line break, or two objects
    if rows.num_rows != len(texts):
        return None
    columns = [rows[field.name].combine_chunks() for field in fields]
    return pa.StructArray.from_arrays(columns, fields=list(fields))


def _plain(text: str) -> str | None:
    """The object in a text as strict readers accept it: each field once, no half of a surrogate pair."""
    parsed = parse_object(text)
    try:
        # '?' for what is not valid text, as Java writes it
        return (
            None
            if parsed is None
            else json.dumps(parsed, ensure_ascii=False).encode(errors="replace").decode()
        )
    except RecursionError:
        return None

"""Credentials and secret configurations of the metadata log are not stored; all other records are."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pyarrow as pa
from record_batches import encode_batch

from fencepost import tables
from fencepost.capture.secrets import without_secrets
from fencepost.formats.decode import decode
from fencepost.settings import Broker

if TYPE_CHECKING:
    from conftest import Site


def text(value: str | bytes) -> bytes:
    encoded = value.encode() if isinstance(value, str) else value
    assert len(encoded) < 127
    return bytes([len(encoded) + 1]) + encoded


def config(name: str, value: str) -> bytes:
    return bytes([1, 4, 0, 4]) + text("1") + text(name) + text(value) + b"\0"


# UserScramCredentialRecord.json: name, mechanism, salt, storedKey, serverKey, iterations, tags
SCRAM = bytes([1, 11, 0]) + text("u") + b"\1" + text("salt") + text("hunter2") + text("hunter2") + bytes(5)
PLAIN = config("log.retention.ms", "hunter-1")
SECRET = [
    config("listener.name.sasl_ssl.plain.sasl.jaas.config", "hunter2"),
    config("ssl.keystore.password", "hunter2"),
    config("listener.name.x.ssl.keystore.key", "hunter2"),
]
REMOVED = config("ssl.keystore.password", "")[:-2] + b"\0\0"


def test_a_secret_is_as_if_it_was_removed() -> None:
    values = pa.array([SCRAM, PLAIN, *SECRET, REMOVED, b"\1\4\0", None, b"x"], pa.binary())
    names = pa.array(["UserScramCredentialRecord", *["ConfigRecord"] * 7, None])
    kept = without_secrets(names, values).to_pylist()
    assert [kept[0], kept[1], *kept[5:]] == [None, PLAIN, REMOVED, None, None, b"x"]
    read = decode("ConfigRecord", "value", pa.array(kept[1:6], pa.binary()))
    assert read.status.to_pylist() == ["known"] * 5
    assert [row["value"] for row in read.values.to_pylist()] == ["hunter-1", None, None, None, None]
    assert [row["name"] for row in read.values.to_pylist()][2:4] == [
        "ssl.keystore.password",
        "listener.name.x.ssl.keystore.key",
    ]


def test_the_lake_has_no_secret_of_the_metadata_log(site: Site) -> None:
    folder = site.folder / "data" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    whole = encode_batch([(None, SCRAM), (None, PLAIN), *((None, each) for each in SECRET)], base_offset=0)
    damaged = bytearray(encode_batch([(None, SCRAM)], base_offset=5))
    struct.pack_into(">I", damaged, 17, 0)
    (folder / f"{0:020}.log").write_bytes(
        whole + bytes(damaged) + encode_batch([(None, PLAIN)], base_offset=6)
    )
    site.capture(Broker(1, log_dirs=site.glob("data")))
    records = site.rows(tables.RECORDS)
    assert len(records) == 6 and records[1]["value"] == PLAIN
    assert [row["reason"] for row in site.rows(tables.QUARANTINE)] == ["bad_crc"]
    assert "hunter2" not in str([records, site.rows(tables.QUARANTINE)])

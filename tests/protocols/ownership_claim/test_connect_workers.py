"""Subscriptions of workers of Kafka Connect, as its own classes write them (connect-runtime 4.3.1)."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from fencepost.protocols.ownership_claim.connect_workers import Worker, worker_of

# ConnectProtocol.serializeMetadata, and IncrementalCooperativeConnectProtocol's, with and without sessions
EAGER = "00000015687474703a2f2f31302e302e302e353a383038332f0000000000000029"
_ASSIGNMENT = (
    "000000086c65616465722d310015687474703a2f2f31302e302e302e353a383038332f0000000000000029"
    "0000000100066f726465727300000002ffffffff000000000000000000000000"
)
COMPATIBLE = "00010015687474703a2f2f31302e302e302e363a383038332f00000000000000270000004d0001" + _ASSIGNMENT
SESSIONED = "00020015687474703a2f2f31302e302e302e363a383038332f00000000000000270000004d0002" + _ASSIGNMENT
FIRST = "0002001868747470733a2f2f77c3a4727465722e6578616d706c652fffffffffffffffffffffffff"


def _sent(metadata: Any, **more: Any) -> dict[str, Any]:
    return {"protocolType": "connect", "protocols": [{"name": "sessioned", "metadata": metadata}], **more}


def _base64(text: str) -> str:
    return b64encode(bytes.fromhex(text)).decode()


@pytest.mark.parametrize(
    ("data", "worker"),
    [
        (EAGER, Worker("http://10.0.0.5:8083/", 41)),
        (COMPATIBLE, Worker("http://10.0.0.6:8083/", 39)),
        (SESSIONED, Worker("http://10.0.0.6:8083/", 39)),
        (FIRST, Worker("https://w\N{LATIN SMALL LETTER A WITH DIAERESIS}rter.example/", -1)),
        # a version that no release has, and bytes that end early
        ("0003" + EAGER[4:], Worker()),
        (EAGER[:-2], Worker()),
        ("00", Worker()),
        ("", Worker()),
    ],
)
def test_a_worker_tells_its_url_and_how_far_it_has_read(data: str, worker: Worker) -> None:
    assert worker_of(_sent(_base64(data))) == worker


def test_of_others_nothing_is_told() -> None:
    assert worker_of(_sent(_base64(EAGER), protocolType="consumer")) == Worker()
    assert worker_of(_sent("no base64!")) == Worker()
    assert worker_of({"protocolType": "connect", "protocols": []}) == Worker()

"""Which heartbeats show that a broker was shut down in good order."""

from __future__ import annotations

import pyarrow as pa

from fencepost.protocols.leader_epoch.shutdowns import granted

_ASKED = '{"brokerId":3,"brokerEpoch":13,"currentMetadataOffset":36,"wantFence":false,"wantShutDown":true}'
_GRANTED = '{"throttleTimeMs":0,"errorCode":0,"isCaughtUp":true,"isFenced":true,"shouldShutDown":true}'


def starts(request: str, response: str | None, api_key: int = 63) -> list[tuple[int, int]]:
    columns = {"cluster": ["c"], "api_key": [api_key], "request": [request], "response": [response]}
    found = granted(pa.table(columns).set_column(3, "response", pa.array([response], pa.string())))
    return list(zip(found["broker_id"].to_pylist(), found["broker_epoch"].to_pylist(), strict=True))


def test_a_shutdown_that_was_granted() -> None:
    assert starts(_ASKED, _GRANTED) == [(3, 13)]


def test_what_was_not_granted_is_none() -> None:
    refused = '{"throttleTimeMs":0,"errorCode":77,"isCaughtUp":false,"isFenced":true,"shouldShutDown":false}'
    assert starts(_ASKED, refused) == []
    assert starts(_ASKED, None) == []
    assert starts(_ASKED.replace("true", "false"), _GRANTED) == []
    assert starts(_ASKED, _GRANTED, api_key=62) == []

"""How often an object store is asked again that answers 500 or 503, or breaks the connection."""

from __future__ import annotations

from pyarrow.fs import AwsStandardS3RetryStrategy

ATTEMPTS = 12
"""Each pause is random, and up to twice as long as the one before, at most 20 seconds: hardly ever less than
a minute in all. PyArrow's three attempts last a second or two.
"""


class PatientStrategy(AwsStandardS3RetryStrategy):  # type: ignore[misc]
    """PyIceberg makes one by this name (``s3.retry-strategy-impl``), without arguments."""

    def __init__(self) -> None:
        super().__init__(max_attempts=ATTEMPTS)

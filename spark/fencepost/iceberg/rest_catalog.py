"""PyIceberg's catalog behind Iceberg's REST protocol, which asks a busy server again."""

from __future__ import annotations

from http import HTTPStatus

from pyiceberg.catalog.rest import RestCatalog
from requests import Session
from requests.adapters import HTTPAdapter
from urllib3 import Retry

_AGAIN = Retry(
    total=None,
    connect=0,
    read=0,
    status=6,
    status_forcelist=(HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE),
    # a commit, too: if it was made, the second one fails, and PyIceberg finds that its snapshot is there
    allowed_methods=None,
    backoff_factor=0.5,
    raise_on_status=False,
)
"""After 0, 1, 2, 4, 8 and 16 s, or when the server says."""


class PatientRestCatalog(RestCatalog):
    """A catalog that repeats what a server refused while it was busy or restarted, as Iceberg's Java library
    does.

    May go when PyIceberg does it.
    """

    def _create_session(self) -> Session:
        session = super()._create_session()
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=_AGAIN))
        return session

"""The same evidence in any order gives the same rows."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from conftest import CASES, bronze_of, replay_bronze  # type: ignore[import-not-found]

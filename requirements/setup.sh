#!/usr/bin/env bash
# Make .venv with the pinned Python packages. Called by make when requirements/python.txt is newer.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}

"$python" - <<'PY' || exit 1
import sys
if sys.version_info[:2] != (3, 11):
    sys.exit(f"Fencepost runs on Python 3.11; this is {sys.version.split()[0]}. Name another one: make PYTHON=/path/to/python3.11 ...")
PY
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  echo "Python's venv module is missing. On Debian: apt-get install python3-venv" >&2
  exit 1
fi

echo "Setting up .venv: Spark, dbt, Great Expectations, Airflow (about 180 packages, 700 MB, once; one to three minutes) ..."
[ -x .venv/bin/python ] || "$python" -m venv .venv
# setuptools first: pyspark and a few others come as sources, and are built with this pinned one.
.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
  -r <(awk '/^setuptools==/ {on = 1} /^[a-z]/ && !/^setuptools==/ {on = 0} on' requirements/python.txt)
.venv/bin/pip install --disable-pip-version-check --no-deps --no-build-isolation --use-pep517 --require-hashes \
  --progress-bar off -r requirements/python.txt |
  awk '/^Collecting/ {if (++n % 30 == 0) {print "  " n " packages ..."; fflush()}} /^Installing collected/ {print "  installing ..."; fflush()}'
.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
touch .venv/ready

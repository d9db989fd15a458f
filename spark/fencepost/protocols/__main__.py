"""``python -m fencepost.protocols``: every table and its columns, as JSON."""

import sys

from fencepost.protocols import schemas_json

sys.stdout.write(schemas_json() + "\n")

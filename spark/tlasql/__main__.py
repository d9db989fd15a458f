"""``python -m tlasql``: the same as the command ``tlasql``."""

from tlasql.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
